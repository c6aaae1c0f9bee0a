"""Stated failure rates, from which the plan works out an availability per tier."""

from functools import cache
from typing import Literal

from pydantic import Field

from inferfab.catalog.facts import DATA, FactFile, read_facts
from inferfab.record import Record


class Rate(Record):
    """The share of time in which a thing is down, independent of the others."""

    unavailability: float = Field(ge=0, lt=1)
    basis: Literal["measured", "provider SLA", "assumption"]
    how: str
    """The arithmetic: mean time between failures, time to repair."""
    source: str


class ReliabilityFile(FactFile):
    node: Rate
    """A GPU node of 8 GPUs, repair included; smaller nodes scale by GPU count."""
    cell: Rate
    """A zone, its cluster or its fabric."""
    region: Rate


@cache
def reliability() -> ReliabilityFile:
    return read_facts(DATA / "reliability.yaml", ReliabilityFile)
