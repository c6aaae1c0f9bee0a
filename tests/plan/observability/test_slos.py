"""What is judged for each promise, and what cannot be."""

from functools import cache

from inferfab.environment.loading import load
from inferfab.plan.fleet import FleetPlan, plan
from inferfab.plan.observability.observability import BURN_WINDOWS, ObservabilityPlan
from plan.planning import ROOT, prod_plan


@cache
def staging() -> FleetPlan:
    loaded = load(ROOT / "environments" / "staging.yaml").environment
    assert loaded is not None
    return plan(loaded)


def observed(fleet: FleetPlan) -> ObservabilityPlan:
    found = fleet.cells[0].observability
    assert found is not None
    return found


def test_a_pool_with_frontends_of_its_own_is_judged_exactly() -> None:
    """Staging promises 200 ms at the median, 500 ms at p95 and 99 % of time."""
    found = [(s.name, s.objective, s.edge_seconds, s.exact) for s in observed(staging()).slos]
    assert found == [
        ("chat-ttft-p50", 0.5, 0.2, True),
        ("chat-ttft-p95", 0.95, 0.5, True),
        ("chat-availability", 0.99, None, True),
    ]


def test_behind_a_router_over_tiers_engines_give_lower_bounds() -> None:
    """vLLM's edges are fixed: 0.25 is next above 200 ms, 0.5 is one, 2.5 next above 2 s; ITL 0.05 above 40 ms."""
    slos = {s.name: s for s in observed(prod_plan()).slos}
    engines = {n: (s.edge_seconds, s.exact) for n, s in slos.items() if s.source == "engine"}
    assert engines == {
        "chat-priority-ttft-p50": (0.25, False),
        "chat-priority-ttft-p95": (0.5, False),
        "chat-priority-itl-p95": (0.05, False),
        "chat-standard-ttft-p95": (2.5, False),
    }
    # All tiers together keep at least the loosest: 95 % within 2 s, and 99.5 %.
    loosest, answered = slos["llama-70b-tiers-ttft-p95"], slos["llama-70b-tiers-availability"]
    assert (loosest.edge_seconds, loosest.objective, loosest.tier) == (2.0, 0.95, "several")
    assert answered.objective == 0.995
    assert loosest.le == "2|2[.]0"


def test_a_promise_for_short_answers_is_said_to_be_unmeasured() -> None:
    """No histogram of whole answers knows their length."""
    lost = observed(prod_plan()).unmeasured
    assert {u.pool for u in lost} == {"documents", "chat-standard"}
    assert all("128 tokens" in u.promise for u in lost)


def test_every_promise_is_judged_or_said_not_to_be() -> None:
    """Nothing that is promised falls between."""
    for fleet in (staging(), prod_plan()):
        for cell in fleet.cells:
            plan = cell.observability
            assert plan is not None
            for pool in cell.pools:
                tier = next(t for t in fleet.tiers if t.name == pool.tier)
                judged = {(s.signal, s.promise_ms) for s in plan.slos if s.pool == pool.name}
                lost = {u.promise for u in plan.unmeasured if u.pool == pool.name}
                for promise in tier.promises:
                    assert (promise.metric, promise.at_most_ms) in judged or str(promise) in lost


def test_windows_are_those_of_the_sre_workbook() -> None:
    """Chapter 5, table 5-8: factor = share of a 30-day budget x 720 h / long window."""
    assert [(w.long, w.short, w.factor) for w in BURN_WINDOWS] == [
        ("1h", "5m", 14.4), ("6h", "30m", 6), ("1d", "2h", 3), ("3d", "6h", 1),
    ]  # fmt: skip
    for window in BURN_WINDOWS:
        assert abs(window.budget_percent / 100 * 720 / window.hours - window.factor) < 1e-9


def test_frontends_are_told_the_edges_that_are_judged() -> None:
    """One field: what the graph's environment says gives the edge of the objective."""
    cell = staging().cells[0]
    (front,) = [c for g in cell.serving.graphs if g.route == "chat" for c in g.components if c.kind == "frontend"]
    env = {value.name: value.value for value in front.env}
    low, high, count = (float(env[f"DYN_METRICS_TTFT_{end}"]) for end in ("MIN", "MAX", "COUNT"))
    made = [float(f"{low * (high / low) ** (i / (count - 1)):.1e}") for i in range(int(count))]
    assert 0.2 in made
    assert 0.5 in made


def test_prices_are_the_pools_own() -> None:
    """What is reserved is paid for idle or not: prod-global reserves 8 nodes in Ohio."""
    (price,) = observed(staging()).prices[:1]
    pool = staging().cells[0].pools[0]
    assert price.usd_per_node_hour_low == pool.price.usd.low
    loaded = load(ROOT / "environments" / "prod-global.yaml").environment
    assert loaded is not None
    assert [p.reserved_nodes for p in observed(plan(loaded)).prices] == [8]
