"""Nodes without GPUs: how large they are, and what stands on them beside what the plan places there."""

import re
from functools import cache

from pydantic import PositiveInt

from inferfab.catalog.facts import DATA, FactFile, read_facts
from inferfab.catalog.instances import Cloud
from inferfab.record import Record


class Asks(Record):
    """What pods ask for."""

    cpu_millis: PositiveInt
    memory_mib: PositiveInt
    source: str


class SystemNodeFile(FactFile):
    gib_per_vcpu: dict[Cloud, dict[str, PositiveInt]]
    pods: dict[str, Asks]
    """Once in each cell."""
    gateway: Asks
    """Each proxy pod."""
    node: Asks
    """Each node: its reserve and its daemons."""


class Size(Record):
    """A machine."""

    cpu_millis: PositiveInt
    memory_mib: PositiveInt


@cache
def system_node_facts() -> SystemNodeFile:
    return read_facts(DATA / "system_nodes.yaml", SystemNodeFile)


def machine_size(cloud: Cloud, name: str) -> Size | None:
    """vCPUs by the name's own rule, and memory by the family's; None for a family that is not in the catalog."""
    if cloud == "aws":
        family, _, size = name.partition(".")
        steps = re.fullmatch(r"([1-9][0-9]*)?xlarge", size)
        vcpus = 4 * int(steps[1] or 1) if steps else 2 if size == "large" else 0
    else:
        family, _, size = name.rpartition("-")
        vcpus = int(size) if size.isdigit() else 0
    gib = system_node_facts().gib_per_vcpu.get(cloud, {}).get(family)
    return Size(cpu_millis=1000 * vcpus, memory_mib=1024 * gib * vcpus) if gib and vcpus else None
