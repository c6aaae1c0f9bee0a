"""What losses cost beside capacity: names that move, and parts without a GPU."""

from functools import cache
from typing import Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt

from inferfab.catalog.facts import DATA, FactFile, read_facts
from inferfab.record import Record

Basis = Literal["measured", "provider SLA", "assumption"]


class DnsSeconds(Record):
    """How long clients are sent to a cell that is gone."""

    check_failures: PositiveInt
    check_interval_seconds: PositiveInt
    ttl_seconds: PositiveInt
    full_for_seconds: PositiveInt
    """So long a cell is without room before names lead elsewhere."""
    source: str

    @property
    def failover_seconds(self) -> float:
        """From the loss of a gateway to the last client that goes elsewhere."""
        return self.check_failures * self.check_interval_seconds + self.ttl_seconds

    @property
    def spill_seconds(self) -> float:
        """The same from the loss of a cell's room, its gateway being up."""
        return self.full_for_seconds + self.ttl_seconds


class PodRate(Record):
    """How much of the time one pod is down."""

    unavailability: float = Field(ge=0, lt=1)
    basis: Basis
    how: str
    source: str


class Outage(Record):
    """How long a loss lasts."""

    hours: PositiveFloat
    basis: Basis
    how: str


class Changes(Record):
    """Changes of what serves, and the bad ones among them."""

    a_month: PositiveFloat
    bad_share: float = Field(ge=0, le=1)
    seen_after_minutes: PositiveFloat
    """By a person, where no rollout judges."""
    back_out_minutes: PositiveFloat
    basis: Basis
    how: str


class Operations(Record):
    """What takes a fleet down that is neither node, nor cell, nor region."""

    node_repair_hours: PositiveFloat
    cell_outage: Outage
    gateway_pod: PodRate
    router_pod: PodRate
    changes: Changes


class LostPart(Record):
    """A part without a GPU, and what its loss does."""

    title: str
    at_once: str
    meanwhile: str
    exercised: str
    """Which scene of a rehearsal, or test, does it; ``none``."""


class FailuresFile(FactFile):
    node_silent_seconds: NonNegativeFloat
    pods_leave_after_seconds: NonNegativeFloat
    dns: DnsSeconds
    operations: Operations
    parts: dict[str, LostPart]


@cache
def failure_facts() -> FailuresFile:
    return read_facts(DATA / "failures.yaml", FailuresFile)
