"""Rules on following demand."""

from collections.abc import Iterator

from rule_examples import Example, Fails, Passes, examples

from environments import AGGREGATED, DISAGGREGATED, SHARED, base, cell
from inferfab.plan.fleet import CellPlan, FleetPlan

AGG, DIS, SMALL = base(AGGREGATED), base(DISAGGREGATED), base(SHARED)
REPLICAS = "pools.docs.worker.replicas"
SCALED = AGG.set(REPLICAS, {"min": 4, "desired": 4, "max": 12})
KEDA = SCALED.set("pools.docs.scaling", {"mode": "keda"})


def with_cells(fleet: FleetPlan, change) -> FleetPlan:  # type: ignore[no-untyped-def]
    return fleet.model_copy(update={"cells": tuple(change(c) for c in fleet.cells)})


@examples("IF-SCL-002")
def test_one_owner() -> Iterator[Example]:
    """No environment leads to a planner that acts beside KEDA: the plan leaves it out, or lets it advise."""

    def acts(one: CellPlan) -> CellPlan:
        graphs = []
        for graph in one.serving.graphs:
            planner = graph.planner.model_copy(update={"advisory": None}) if graph.planner else None
            graphs.append(graph.model_copy(update={"planner": planner}))
        return one.model_copy(update={"serving": one.serving.model_copy(update={"graphs": tuple(graphs)})})

    advised = KEDA.set("pools.docs.scaling.planner", "advisory")
    yield Passes(SCALED)
    yield Passes(KEDA)
    yield Passes(advised)
    yield Fails(advised, "pools.docs", ("has a planner that acts", "keda"), bend=lambda f: with_cells(f, acts))


@examples("IF-SCL-001")
def test_room_fits_into_the_node_group() -> Iterator[Example]:
    """12 workers of 1 GPU are three nodes of 4; 99 placeholders beside 4 workers are not."""

    def crowded(one: CellPlan) -> CellPlan:
        assert one.autoscaling is not None
        pools = tuple(
            p.model_copy(update={"placeholders": tuple(r.model_copy(update={"most": 99}) for r in p.placeholders)})
            for p in one.autoscaling.pools
        )
        return one.model_copy(update={"autoscaling": one.autoscaling.model_copy(update={"pools": pools})})

    yield Passes(SCALED)
    yield Fails(SCALED, "pools.docs", ("103 pods", "12 GPUs at most"), bend=lambda f: with_cells(f, crowded))


@examples("IF-SCL-005")
def test_keda_brings_none_back_either() -> Iterator[Example]:
    yield Passes(KEDA)
    yield Fails(KEDA.set(f"{REPLICAS}.min", 0), f"{REPLICAS}.min", ("KEDA starts none",), fix_says=("`min: 1`",))


@examples("IF-SCL-007")
def test_horizon() -> Iterator[Example]:
    """8B in FP8: 410 s for a node, 494 s to start, and ten seconds of weights."""
    at = "pools.docs.scaling"
    yield Fails(
        SCALED.set(at, {"horizon_seconds": 600}), f"{at}.horizon_seconds", ("410 s for a node", "600 s ahead"),
        fix_says=("at least 82",),
    )  # fmt: skip
    yield Passes(SCALED.set(at, {"horizon_seconds": 960}))
    # Measured to be faster.
    yield Passes(SCALED.set(at, {"horizon_seconds": 600, "provisioning_seconds": 500}))
    everywhere = SCALED.set("autoscaling", {"horizon_seconds": 300})
    yield Fails(everywhere, "autoscaling.horizon_seconds", ("300 s ahead",))
    yield Passes(AGG.set("autoscaling", {"horizon_seconds": 300}))


@examples("IF-SCL-008")
def test_one_may_fail() -> Iterator[Example]:
    one = AGG.set(REPLICAS, {"min": 1, "desired": 4, "max": 8})
    yield Fails(one, REPLICAS, ("docs worker in east-a", "one worker"), "warning", fix_says=("`min: 2`",))
    yield Passes(one.set(f"{REPLICAS}.min", 2))
    yield Passes(one.set("tiers.slow", {}).set("pools.docs.tier", "slow"))
    # A fixed pool of one is another matter.
    yield Passes(AGG.set(REPLICAS, {"desired": 1}))
    west = cell("aws", "us-west-2", "us-west-2a", "10.18.0.0/16", "docs")
    own = SCALED.set("cells.west", west).set(
        "cells.west.pools.docs", {"worker_replicas": {"min": 1, "desired": 4, "max": 8}}
    )
    yield Fails(own, "cells.west.pools.docs.worker_replicas", ("docs worker in west",), "warning")


@examples("IF-SCL-009")
def test_room() -> Iterator[Example]:
    at = "pools.docs.scaling"
    asked = SCALED.set(at, {"placeholders": True})
    yield Passes(asked)
    reserved = asked.set("pools.docs.capacity", {"kind": "reservation", "id": "cr-0a1b2c3d4e5f60001"})
    yield Fails(reserved, f"{at}.placeholders", ("reserved", "paid for anyway"), "warning")
    yield Fails(AGG.set(at, {"placeholders": True}), f"{at}.placeholders", ("fixed",), "warning")
    # For all pools it means those in which it helps.
    yield Passes(reserved.delete(at).set("autoscaling", {"placeholders": True}))


@examples("IF-SCL-010")
def test_what_nothing_reads() -> Iterator[Example]:
    at = "pools.docs.scaling"
    yield Passes(KEDA)
    yield Passes(AGG)
    yield Fails(AGG.set(at, {"mode": "keda"}), at, ("`docs`", "as many workers"), "warning", fix_says=("`max`",))
    small = "pools.small.scaling"
    yield Fails(SMALL.set(small, {"quantile": 0.9}), small, ("share GPUs",), "warning", fix_says=("remove `scaling`",))


@examples("IF-SCL-011")
def test_threshold() -> Iterator[Example]:
    at = "pools.docs.scaling.latency_share"
    yield Fails(KEDA.set(at, 1.0), at, ("TTFT p95 of 500 ms", "500 ms are promised"), "warning", fix_says=("0.8",))
    yield Passes(KEDA.set(at, 0.8))
    # The planner has targets of its own.
    yield Passes(SCALED.set("pools.docs.scaling", {"latency_share": 1.0}))
    everywhere = KEDA.set("autoscaling", {"latency_share": 0.99})
    yield Fails(everywhere, "autoscaling.latency_share", ("495 ms",), "warning")


@examples("IF-SCL-012")
def test_ceiling_at_the_maximum() -> Iterator[Example]:
    """Three nodes of g6e.12xlarge at $10.49264 an hour, 730 hours: $22,979 a month at the maximum, $7,660 at first."""
    assert round(10.49264 * 730 * 3) == 22979
    one = SCALED.set("budget", {"usd_per_month": 8000})
    yield Fails(one, "budget", ("`docs`", "$22,979", "$8,000"), "warning", fix_says=("usd_per_month_at_max",))
    yield Passes(one.set("budget.usd_per_month_at_max", 23000))
    yield Passes(one.set("budget.usd_per_month", 30000))
    yield Passes(SCALED)
    yield Passes(AGG.set("budget", {"usd_per_month": 8000}))
