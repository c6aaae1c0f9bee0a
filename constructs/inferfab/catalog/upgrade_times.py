"""How long steps of an upgrade take."""

from functools import cache

from pydantic import PositiveFloat

from inferfab.catalog.facts import DATA, FactFile, read_facts
from inferfab.record import Record


class Duration(Record):
    """An estimate."""

    low_minutes: PositiveFloat
    high_minutes: PositiveFloat
    source: str


class UpgradeTimes(FactFile):
    rows: dict[str, Duration]


@cache
def upgrade_times() -> dict[str, Duration]:
    """By step: ``control_plane``, ``addons``, ``charts``, and ``cold_start`` of one node with its drain."""
    return read_facts(DATA / "upgrade_times.yaml", UpgradeTimes).rows
