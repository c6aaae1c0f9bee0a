"""Names that Terraform and Kubernetes give to GPUs, and which machines have GPUs at all."""

from functools import cache

from inferfab.catalog.facts import DATA, FactFile, read_facts
from inferfab.catalog.instances import Cloud


class AcceleratorFile(FactFile):
    google: dict[str, str | None]
    karpenter: dict[str, str]
    families: dict[Cloud, tuple[str, ...]]


@cache
def accelerators() -> AcceleratorFile:
    return read_facts(DATA / "accelerators.yaml", AcceleratorFile)


def has_gpus(cloud: Cloud, machine: str) -> bool:
    """Whether a machine type is of a family with GPUs, by its name."""
    family = machine.split("." if cloud == "aws" else "-", 1)[0]
    return family in accelerators().families[cloud]
