"""Rules about generations of node groups."""

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from rule_examples import Example, Fails, Passes, examples

from environments import AGGREGATED, GCP, base
from inferfab.plan.fleet import FleetPlan

AGG, GOOGLE = base(AGGREGATED), base(GCP)
HERE = "cells.east-a.pools.docs"


RESERVED = {"kind": "reservation", "id": "cr-0a1b2c3d4e5f60718"}


def beside(
    generation: int, former: int, capacity: dict[str, str] | None = None, instance: str = "g6e.12xlarge"
) -> dict[str, object]:
    """A place in a cell whose groups stand beside those of an older generation."""
    made = {"generation": former, "instance": instance, "capacity": capacity or {"kind": "on_demand"}}
    return {"generation": generation, "former": made}


@examples("IF-UPG-001")
def test_generations_exist() -> Iterator[Example]:
    """They count up, and only EKS has them."""
    yield Passes(AGG)
    yield Passes(AGG.set(HERE, {"generation": 2}))
    yield Passes(AGG.set(HERE, beside(3, 2)))
    at = f"{HERE}.former.generation"
    yield Fails(AGG.set(HERE, beside(2, 2)), at, ("is not before",), fix_says=("below 2",))
    google = GOOGLE.set("cells.central-c.pools.far", {"generation": 2})
    yield Fails(google, "cells.central-c.pools.far.generation", ("EKS",), fix_says=("remove",))


@examples("IF-UPG-002")
def test_machines_for_both() -> Iterator[Example]:
    """On demand there may be more; reserved there are as many as there are, but in another reservation."""
    yield Passes(AGG.set(HERE, beside(2, 1)))
    yield Passes(AGG.set(HERE, {"generation": 2, "capacity": RESERVED}))
    # The old group stays where it was made: the new reservation's machines are free.
    other = {"kind": "reservation", "id": "cr-0fffffffffffffff0"}
    yield Passes(AGG.set(HERE, {**beside(2, 1), "capacity": RESERVED}))
    yield Passes(AGG.set(HERE, {**beside(2, 1, other), "capacity": RESERVED}))
    at = f"{HERE}.former"
    same = {**beside(2, 1, dict(RESERVED)), "capacity": RESERVED}
    yield Fails(AGG.set(HERE, same), at, ("docs-g2", "cr-0a1b"), "warning")


@examples("IF-UPG-003")
def test_both_are_paid() -> Iterator[Example]:
    """The plan's sums have the newest alone."""
    yield Passes(AGG.set(HERE, {"generation": 2}))
    yield Fails(AGG.set(HERE, beside(2, 1)), f"{HERE}.former", ("docs may still run", "docs-g2"), "warning")


@examples("IF-UPG-004")
def test_addons_are_ours() -> Iterator[Example]:
    """Where nobody installs them, a version is read by nobody."""
    pins = {"vpc-cni": "v1.22.4-eksbuild.1"}
    yield Passes(AGG.set("cells.east-a.cluster", {"addons": pins}))
    google = GOOGLE.set("cells.central-c.cluster", {"addons": pins})
    yield Fails(google, "cells.central-c.cluster.addons", ("Google's",), fix_says=("remove",))
    there = AGG.set("cells.east-a.cluster", {"existing": "shared", "addons": pins})
    yield Fails(there, "cells.east-a.cluster.addons", ("owner of `shared`",))


def test_a_former_machine_that_is_none() -> None:
    """It is found like any other, at its own place, before anything is planned."""
    found = AGG.set(HERE, beside(2, 1, instance="p9.huge")).check().findings
    (one,) = [f for f in found if f.rule == "IF-CLD-001"]
    assert one.dotted_path == f"{HERE}.former.instance" and "p9.huge" in one.what


BLOCK = {"kind": "capacity_block", "id": "cr-0a1b2c3d4e5f60718", "ends_at": "2027-01-31T11:30:00Z"}


def same(fleet: FleetPlan) -> FleetPlan:
    """A plan as it is: what marks an example that needs a day."""
    return fleet


@examples("IF-CLD-007")
def test_blocks_are_open() -> Iterator[Example]:
    """Over, not begun, about to end; a week is time enough to act."""
    env = AGG.set("pools.docs.capacity", {**BLOCK, "starts_at": "2027-01-10T11:30:00Z"})
    at = "pools.docs.capacity"
    yield Passes(env)
    yield Passes(env, same, date(2027, 1, 20))
    yield Fails(env, f"{at}.ends_at", ("ended on 2027-01-31",), bend=same, as_of=date(2027, 2, 1))
    soon = ("in 7 day(s)", "75 minutes before")
    yield Fails(env, f"{at}.ends_at", soon, "warning", bend=same, as_of=date(2027, 1, 24))
    yield Passes(env, same, date(2027, 1, 23))
    yield Fails(env, f"{at}.starts_at", ("begins on",), "warning", bend=same, as_of=date(2027, 1, 9))
    here = AGG.set("cells.east-a.pools.docs", {"capacity": BLOCK})
    at = "cells.east-a.pools.docs.capacity.ends_at"
    yield Fails(here, at, ("ended",), bend=same, as_of=date(2028, 1, 1))


@examples("IF-CLD-008")
def test_blocks_end_after_they_begin() -> Iterator[Example]:
    """By their times, not their days."""
    at = "pools.docs.capacity"
    yield Passes(AGG.set(at, BLOCK))
    yield Passes(AGG.set(at, {**BLOCK, "starts_at": "2027-01-31T11:29:59Z"}))
    yield Fails(AGG.set(at, {**BLOCK, "starts_at": BLOCK["ends_at"]}), f"{at}.starts_at", ("is not before",))


def test_the_day_of_the_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """`inferfab check --as-of` is what names it."""
    from inferfab.cli.main import main

    codes = []
    for day in ("2026-11-30", "2029-01-01"):
        file = Path(__file__).resolve().parents[2] / "environments" / "staging.yaml"
        monkeypatch.setattr("sys.argv", ["inferfab", "check", str(file), "--as-of", day])
        try:
            main()
            codes.append(0)
        except SystemExit as stop:
            codes.append(int(stop.code or 0))
    assert codes == [0, 1]
    assert "IF-CLD-007" in capsys.readouterr().out


def test_the_group_is_emptied_before_the_block_ends() -> None:
    """75 minutes before 11:30 is 10:15; a lead of one's own counts from the end too."""
    for lead, drains in (({}, "2027-01-31T10:15:00Z"), ({"drain_lead_minutes": 720}, "2027-01-30T23:30:00Z")):
        plan = AGG.set("pools.docs.capacity", {**BLOCK, **lead}).check().plan
        assert plan is not None
        assert [group.drains_at for group in plan.node_groups if group.pool == "docs"] == [drains]
