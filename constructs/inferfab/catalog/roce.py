"""Defaults of RoCE on switches and NICs, each with its source."""

from functools import cache

from pydantic import PositiveInt

from inferfab.catalog.facts import DATA, FactFile, read_facts
from inferfab.record import Record


class RoceFact(Record):
    value: PositiveInt
    source: str


class RoceFile(FactFile):
    roce: dict[str, RoceFact]


@cache
def _file() -> RoceFile:
    return read_facts(DATA / "roce.yaml", RoceFile)


def roce(name: str) -> int:
    """One value.

    :raises KeyError: if there is none of that name; that is a mistake in our code.
    """
    return _file().roce[name].value
