"""From a node label in a manifest to a GPU or machine type of the catalog."""

import re
from collections.abc import Mapping
from functools import cache

from inferfab.catalog.facts import DATA, BadFactFile, FactFile, read_facts
from inferfab.catalog.gpus import gpus
from inferfab.catalog.instances import InstanceType, instances


class GpuLabelFile(FactFile):
    labels: dict[str, dict[str, str]]
    instance_labels: tuple[str, ...]


@cache
def _file() -> GpuLabelFile:
    path = DATA / "gpu_labels.yaml"
    found = read_facts(path, GpuLabelFile)
    unknown = [gpu for table in found.labels.values() for gpu in table.values() if gpu not in gpus()]
    if unknown:
        raise BadFactFile(path, [f"{gpu} is not in gpus.yaml" for gpu in unknown])
    return found


def machine_of(labels: Mapping[str, str]) -> InstanceType | None:
    """The machine type that the labels name."""
    for label in _file().instance_labels:
        name = labels.get(label, "")
        found = instances("aws").get(name) or instances("gcp").get(name)
        if found is not None:
            return found
    return None


def gpu_of(labels: Mapping[str, str]) -> str | None:
    """Id of the GPU that the labels name; None where they name none, or a slice of one."""
    for label, table in _file().labels.items():
        product = labels.get(label, "")
        if "-MIG-" in product:
            return None
        found = table.get(re.sub(r"-SHARED$", "", product))
        if found is not None:
            return found
    machine = machine_of(labels)
    return machine.gpu if machine is not None else None
