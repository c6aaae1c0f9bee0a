"""Names that Terraform and Kubernetes give to GPUs, and which machines have GPUs at all."""

import re
from functools import cache

from inferfab.catalog.facts import DATA, FactFile, read_facts
from inferfab.catalog.instances import Cloud


class AcceleratorFile(FactFile):
    google: dict[str, str | None]
    karpenter: dict[str, str]
    families: dict[Cloud, tuple[str, ...]]
    newer_families: dict[str, str]
    other_accelerators: dict[str, str]


@cache
def accelerators() -> AcceleratorFile:
    return read_facts(DATA / "accelerators.yaml", AcceleratorFile)


def has_gpus(cloud: Cloud, machine: str) -> bool:
    """Whether a machine type is of a family with GPUs, by its name."""
    family = machine.split("." if cloud == "aws" else "-", 1)[0]
    known = accelerators()
    return family in known.families[cloud] or re.fullmatch(known.newer_families[cloud], family) is not None


def other_accelerators(cloud: Cloud, machine: str) -> bool:
    """Whether a machine type is of a family with TPUs, Trainium or the like."""
    family = machine.split("." if cloud == "aws" else "-", 1)[0]
    return re.fullmatch(accelerators().other_accelerators[cloud], family) is not None


def azure_gpus(machine: str) -> bool:
    """Whether a machine size of Azure has GPUs, by its name."""
    return re.fullmatch(accelerators().newer_families["azure"], machine) is not None
