"""Who owns which number, how far ahead, within which bounds."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferfab.environment.autoscaling import Autoscaling, PoolScaling
from inferfab.environment.environment import Environment
from inferfab.plan.autoscaling.autoscaling import PoolAutoscaling
from inferfab.plan.difference import difference
from inferfab.plan.fleet import FleetPlan, UnreadablePlan, plan, read_plan
from inferfab.render.autoscaling.files import autoscaling_files
from inferfab.render.autoscaling.worker_rules import triggers
from inferfab.render.releases import cell_releases
from inferfab.render.text.autoscaling_tables import autoscaling_table
from render.autoscaling.fleets import AGGREGATED, cell, environment, fleet
from strategies import environments, quick


def only(kind: str) -> PoolAutoscaling:
    found = cell(kind).autoscaling
    assert found is not None
    return found.pools[0]


def test_one_owner() -> None:
    """Planner or KEDA, and the planner's process only where it owns or advises."""
    owners = {kind: cell(kind).pools[0].scaling.replicas_owner for kind in ("planner", "keda", "advised", "fixed")}
    assert owners == {"planner": "dynamo-planner", "keda": "keda", "advised": "keda", "fixed": "terraform"}
    for kind in ("planner", "keda", "advised", "fixed"):
        (graph,) = cell(kind).serving.graphs
        worker = graph.component("worker")
        assert worker.scaled == (kind != "fixed")
        assert (graph.planner is not None) == (kind in ("planner", "advised"))
        assert [c.kind for c in graph.components if c.kind == "planner"] == ["planner"] * (graph.planner is not None)
        if graph.planner is not None:
            assert graph.planner.advisory == (True if kind == "advised" else None)


def test_horizon_is_provisioning_and_what_it_takes_to_notice() -> None:
    """Llama 70B in FP8: its bytes at 54 GB in 62 s. Around them, of the measured run, 284 + 126 s for the node and
    101 + 74 + 195 + 32 s to start; not its benchmark.
    """
    found = only("planner").provisioning
    assert found is not None
    (model,) = fleet("planner").models
    weights = round(max(model.weights_bytes * 62 / 54e9, model.cold_load_seconds))
    assert 80 <= weights <= 86
    assert (found.node_seconds, found.start_seconds, found.weights_seconds) == (410, 402, weights)
    assert found.total_seconds == 410 + 402 + weights
    # Ten minutes of a rate, two to notice, in whole minutes.
    assert found.horizon_seconds == math.ceil((found.total_seconds + 600 + 120) / 60) * 60
    settings = only("planner").forecast
    assert settings is not None
    assert settings.horizon_s == found.horizon_seconds


def test_what_was_measured_counts() -> None:
    made = plan(environment({"p": AGGREGATED | {"scaling": {"provisioning_seconds": 300, "horizon_seconds": 900}}}))
    found = made.cells[0].autoscaling.pools[0].provisioning  # type: ignore[union-attr]
    assert found is not None
    assert (found.total_seconds, found.horizon_seconds, found.basis) == (300, 900, "environment")


def test_a_pool_over_the_environment() -> None:
    defaults = Autoscaling(mode="keda", planner="advisory", quantile=0.9)
    assert PoolScaling().over(defaults) == defaults
    assert PoolScaling(quantile=0.99).over(defaults).quantile == 0.99
    # What the environment asks for beside KEDA means nothing in a pool that the planner owns.
    other = PoolScaling(mode="planner").over(defaults)
    assert (other.mode, other.planner, other.quantile) == ("planner", "none", 0.9)


def test_no_placeholders_where_they_would_bring_nothing() -> None:
    """Reserved nodes are paid anyway; fixed pools expect nobody; batch may wait."""
    assert len(only("planner").placeholders) == 1
    for kind, word in (("reserved", "paid"), ("fixed", "fixed"), ("spot", "promises nothing"), ("off", "switched off")):
        assert only(kind).placeholders == ()
        assert any(word in remark for remark in only(kind).remarks), (kind, only(kind).remarks)
    assert any("spot" in remark for remark in only("spot").remarks)


def test_placeholders_hold_one_pod_of_a_worker() -> None:
    (one,) = only("planner").placeholders
    assert (one.most, one.gpus, one.claim) == (4, 4, None)
    # A worker over two nodes of 8 GPUs has two pods.
    (spanning,) = only("spanning").placeholders
    assert (spanning.most, spanning.gpus) == (8, 8)
    assert {p.claim for p in only("claims").placeholders} == {"p-prefill-devices", "p-decode-devices"}


def test_workers_for_a_demand() -> None:
    """Whole workers at the planned utilization, one beside them that may fail, within the bounds."""
    (role,) = only("planner").roles
    worker = cell("planner").pools[0].roles[0]
    assert role.requests_per_second == pytest.approx(worker.performance.requests_per_second.low * 0.7)
    assert role.spare == 1
    each = role.requests_per_second
    assert [role.needed(each * n) for n in (0.0, 0.5, 1.5, 3.0, 3.1, 50.0)] == [2, 2, 3, 4, 5, 6]
    assert only("spot").roles[0].spare == 0


def test_demand_is_read_where_the_pool_is_alone() -> None:
    own = only("planner").demand
    assert own is not None
    assert (own.source, own.metric, own.model) == ("frontend", "dynamo_frontend_requests_started_total", "llama")
    routed = cell("routed").autoscaling
    assert routed is not None
    for pool in routed.pools:
        assert pool.demand is not None
        assert pool.demand.source == "router"
        # Each request is read once, by the prefill workers.
        assert pool.demand.pods == f"{pool.pool}-prefill-[0-9a-f]{{6}}-.*"
        assert all(role.latency is None for role in pool.roles)
    assert any("no latency trigger" in remark for remark in routed.pools[1].remarks)


def test_latency_of_each_role() -> None:
    """Priority promises TTFT p95 500 ms: 80 % of it is 400 ms, and decode workers answer for none of it."""
    found = {role.role: role.latency for role in only("keda-disaggregated").roles}
    assert found["decode"] is None
    assert found["prefill"] is not None
    assert (found["prefill"].percentile, found["prefill"].at_ms) == (95.0, 400.0)


@quick
@given(environments(), st.sampled_from(["planner", "keda"]), st.sampled_from(["none", "advisory"]))
def test_bounds_agree_for_any_environment(any_one: Environment, mode: str, planner: str) -> None:
    asked = Autoscaling.model_validate({"mode": mode, "planner": planner if mode == "keda" else "none"})
    made: FleetPlan = plan(any_one.model_copy(update={"autoscaling": asked}))
    for one in made.cells:
        assert one.autoscaling is not None
        for pool in one.autoscaling.pools:
            planned = next(p for p in one.pools if p.name == pool.pool)
            owner = {"terraform": "fixed", "dynamo-planner": "planner", "keda": "keda"}
            assert pool.mode == ("fixed" if planned.shared else owner[planned.scaling.replicas_owner])
            for graph in one.serving.of_pool(pool.pool):
                # One owner: a planner that acts, or KEDA, and never both.
                acts = graph.planner is not None and not graph.planner.advisory
                assert acts == (pool.mode == "planner" and not planned.shared)
                keda = any(triggers(pool, role) for role in pool.roles)
                assert not (acts and keda)
            assert (pool.mode == "fixed") == (planned.scaling.replicas_owner == "terraform" or bool(planned.shared))
            for role in pool.roles:
                assert role.workers == planned.scaling.workers[role.role]
                assert role.workers.min <= role.needed(1e9) <= role.workers.max
            for room in pool.placeholders:
                group = one.node_group(room.node_group)
                role = pool.role(room.role)
                # Room and the fewest workers fit into the node group at its largest.
                assert (role.workers.min * role.pods_per_worker + room.most) * room.gpus <= group.gpus.max
                assert group.nodes.min < group.nodes.max
                assert group.capacity.kind in ("on_demand", "spot")


def broken(change: object) -> list[str]:
    """What is said of a plan whose autoscaling was edited by hand."""
    raw = json.loads(fleet("keda-disaggregated").to_json())
    (pool,) = raw["cells"][0]["autoscaling"]["pools"]
    change(pool)  # type: ignore[operator]
    try:
        read_plan(json.dumps(raw))
    except UnreadablePlan as error:
        return [str(error)]
    return []


def test_a_plan_edited_by_hand_is_refused_by_name() -> None:
    assert broken(lambda pool: None) == []
    for change, word in (
        (lambda p: p.update(pool="other"), "`other`"),
        (lambda p: p.update(tier="batch"), "tier `batch`"),
        (lambda p: p["roles"].pop(), "lacks `decode`"),
        (lambda p: p["placeholders"][0].update(node_group="gone"), "`gone`"),
        (lambda p: p["placeholders"][0].update(role="worker"), "`worker`"),
        (lambda p: p.update(forecast=None), "has no forecast"),
        (lambda p: p["forecast"].update(quantile=1.5), "quantile"),
    ):
        (told,) = broken(change)
        assert word in told


def test_a_plan_of_an_earlier_release_is_read() -> None:
    """It has none of this; whatever reads plans still can, and nothing is rendered."""
    raw = json.loads(fleet("planner").to_json())
    for one in raw["cells"]:
        del one["autoscaling"]
        for pool in one["pools"]:
            del pool["scaling"]["advisory_planner"]
    old = read_plan(json.dumps(raw))
    assert old.cells[0].autoscaling is None
    assert autoscaling_files(old.cells[0]) == {}
    assert autoscaling_table(old) is None
    assert "autoscaling" not in {r.name for r in cell_releases(old, old.cells[0])}


def test_a_change_of_owner_is_a_change_of_the_fleet() -> None:
    found = {(c.subject, c.what): (c.before, c.after) for c in difference(fleet("planner"), fleet("advised")).changes}
    assert found["p", "workers belong to"] == ("dynamo-planner", "keda, planner advises")
    assert ("p", "forecast") not in found
    assert ("p", "room kept at most") not in found
    found = {(c.subject, c.what): (c.before, c.after) for c in difference(fleet("planner"), fleet("off")).changes}
    assert found["p", "room kept at most"] == ("4 x 4 GPUs for worker", "-")
    # The headroom of 1.3 that the first fleet has, and the default.
    words = "p95 over 72 h, 27 min ahead, else x"
    assert found["p", "forecast"] == (f"{words} 1.3", f"{words} 1.35")
