"""Cloud regions, their zones, and round-trip times between them."""

from functools import cache

from pydantic import NonNegativeFloat

from inferfab.catalog.facts import DATA, FactFile, read_facts
from inferfab.catalog.instances import Cloud
from inferfab.record import Record


class Region(Record):
    """One cloud region."""

    cloud: Cloud
    place: str
    latitude: float
    longitude: float
    zones: tuple[str, ...]
    """Zone names that an account may see. On AWS the letter is per account; the zone id is not."""


class RoundTrip(Record):
    """A measured round trip between two regions."""

    a: str
    b: str
    """Region ids ``cloud:region``; the pair is unordered."""
    rtt_ms: NonNegativeFloat
    source: str


class RegionFile(FactFile):
    regions: dict[str, Region]
    """By ``cloud:region``."""
    round_trips: tuple[RoundTrip, ...]


@cache
def region_file() -> RegionFile:
    return read_facts(DATA / "regions.json", RegionFile)


@cache
def regions() -> dict[str, Region]:
    """All regions by ``cloud:region`` (``aws:us-east-1``)."""
    return region_file().regions


@cache
def round_trips_ms() -> dict[frozenset[str], float]:
    """Measured round trips by unordered pair of region ids."""
    return {frozenset((r.a, r.b)): r.rtt_ms for r in region_file().round_trips}
