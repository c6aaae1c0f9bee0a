"""Owned racks as rules walk them."""

from collections.abc import Iterator

from inferfab.checks.facts import Facts
from inferfab.environment.racks import Racks
from inferfab.findings import YamlPath


def inventories(facts: Facts) -> Iterator[tuple[str, Racks]]:
    """(cell, its racks)"""
    for name, cell in facts.environment.cells.items():
        if cell.racks is not None:
            yield name, cell.racks


def at(cell: str, *more: str | int) -> YamlPath:
    return ("cells", cell, "racks", *more)


def cables(racks: Racks) -> Iterator[tuple[str, str, int]]:
    """(rack, server, position of a cable entry)"""
    for rack, each in racks.racks.items():
        for server, wired in each.servers.items():
            for position in range(len(wired.cables)):
                yield rack, server, position
