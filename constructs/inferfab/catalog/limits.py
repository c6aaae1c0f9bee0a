"""Limits of clouds and of Kubernetes that a plan runs into: lengths of names, and counts."""

from functools import cache

from pydantic import PositiveInt

from inferfab.catalog.facts import DATA, FactFile, read_facts
from inferfab.record import Record


class Limit(Record):
    """One limit. A default that the provider raises on request is a limit until it is raised."""

    value: PositiveInt
    unit: str
    applies_to: str
    """What may be at most so long, or so many of what in what."""
    adjustable: bool = False
    """The provider raises it on request."""
    source: str


class LimitFile(FactFile):
    limits: dict[str, Limit]


@cache
def limits() -> dict[str, Limit]:
    """All limits by name (``eks_node_groups_per_cluster``, ...)."""
    return read_facts(DATA / "limits.yaml", LimitFile).limits


def limit(name: str) -> int:
    """The value of one limit.

    :raises KeyError: if there is no limit of that name; that is a mistake in our code.
    """
    return limits()[name].value
