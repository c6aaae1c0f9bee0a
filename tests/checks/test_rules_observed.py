"""Rules that hold the plan against what preflight saw in the account."""

from collections.abc import Iterator
from datetime import date
from typing import Any

from rule_examples import Bend, Example, Fails, Passes, examples

from environments import AGGREGATED, DISAGGREGATED, base
from inferfab.plan.fleet import FleetPlan
from inferfab.plan.observed import Observed, ObservedReservation, with_observed

AGG, DIS = base(AGGREGATED), base(DISAGGREGATED)
RESERVED = "cr-0a1b2c3d4e5f60001"
DAY = date(2026, 11, 30)


def seen(**what: Any) -> Bend:
    def bend(fleet: FleetPlan) -> FleetPlan:
        return with_observed(fleet, Observed(as_of=DAY, **{"quotas": {}, "reservation_topology": {}, **what}))

    return bend


def granted(vcpus: float, others: float = 0) -> Bend:
    def bend(fleet: FleetPlan) -> FleetPlan:
        key = f"aws:{fleet.cells[0].region}:vcpu_on_demand_p"
        return seen(quotas={key: vcpus}, used={key: others})(fleet)

    return bend


@examples("IF-PRE-001")
def test_quotas_hold() -> Iterator[Example]:
    """p5en has 192 vCPUs: what is desired above the quota is an error, what only max asks for a warning."""
    yield Passes(DIS)
    at = "cells.east-b.pools.chat"
    yield Passes(DIS, bend=granted(100_000))
    yield Fails(DIS, at, ("Running On-Demand P instances", "at desired", "191 are granted"), bend=granted(191),
                fix_says=("L-417A185B",))  # fmt: skip
    yield Fails(DIS, at, ("others in the account use 100000",), bend=granted(100_000, 100_000))


def reservation(**what: Any) -> Bend:
    def bend(fleet: FleetPlan) -> FleetPlan:
        full = {"state": "active", "instance": "p5en.48xlarge", "zone": fleet.cells[0].zone, "count": 100, **what}
        return seen(reservations={RESERVED: ObservedReservation.model_validate(full)})(fleet)

    return bend


IN_RESERVATION = DIS.set("pools.chat.capacity", {"kind": "reservation", "id": RESERVED})


@examples("IF-PRE-002")
def test_reservations_hold() -> Iterator[Example]:
    """A reservation that nobody looked up says nothing."""
    at = "pools.chat.capacity"
    yield Passes(IN_RESERVATION, bend=seen())
    yield Passes(IN_RESERVATION, bend=reservation())
    yield Fails(IN_RESERVATION, at, (RESERVED, "holds 1 machines"), bend=reservation(count=1))
    yield Fails(IN_RESERVATION, at, ("there is no reservation",), bend=reservation(state="not found"))
    here = DIS.set("cells.east-b.pools.chat", {"capacity": {"kind": "reservation", "id": RESERVED}})
    yield Fails(here, "cells.east-b.pools.chat.capacity", ("it is expired",), bend=reservation(state="expired"))


def sold(there: bool) -> Bend:
    def bend(fleet: FleetPlan) -> FleetPlan:
        return seen(offered={f"{fleet.cells[0].zone}/{fleet.node_groups[0].instance}": there})(fleet)

    return bend


@examples("IF-PRE-003")
def test_zones_sell() -> Iterator[Example]:
    """Only what was looked up and not found is a fault."""
    yield Passes(DIS, bend=seen())
    yield Passes(DIS, bend=sold(True))
    yield Fails(DIS, "cells.east-b.zone", ("does not sell p5en.48xlarge", "`chat`"), bend=sold(False))


@examples("IF-PRE-004")
def test_reservations_are_near() -> Iterator[Example]:
    """p5en tells three layers: two that are shared leave the last open."""
    yield Passes(IN_RESERVATION, bend=seen())
    yield Passes(IN_RESERVATION, bend=seen(reservation_topology={RESERVED: ("a", "b", "c")}))
    yield Fails(
        IN_RESERVATION, "cells.east-b.pools.chat", ("layer 2 of 3",), "info",
        bend=seen(reservation_topology={RESERVED: ("a", "b")}),
    )  # fmt: skip


@examples("IF-SRV-003")
def test_locality_that_a_reservation_keeps() -> Iterator[Example]:
    """All nodes under one network node of the deepest layer: no place can lack a role, so `required` is kept."""
    required = IN_RESERVATION.set("pools.chat.locality", "required")
    yield Passes(required, bend=seen(reservation_topology={RESERVED: ("a", "b", "c")}))
    yield Fails(required, "pools.chat.locality", ("after its launch",), "warning",
                bend=seen(reservation_topology={RESERVED: ("a", "b")}))  # fmt: skip
