"""What is judged: for each promise the series that shows it, the edge, and what that can and cannot prove.

A request that never got a token is in no latency histogram, so good requests are counted over *started* ones
(measured on ai-dynamo 1.6.1: 12 of 16 clients gave up in an overload, and no histogram has them).
"""

from typing import Literal

from pydantic import PositiveFloat

from inferfab.catalog.metrics import exporters
from inferfab.environment.tiers import Metric
from inferfab.plan.observability.buckets import covering_edge, edges_of, frontend_buckets
from inferfab.plan.pools import PoolPlan
from inferfab.plan.serving.component import GraphPlan
from inferfab.plan.serving.serving import ServingPlan
from inferfab.plan.tiers import PromisePlan, TierPlan
from inferfab.record import Record

Signal = Literal["ttft", "itl", "whole_answer", "availability"]
Source = Literal["frontend", "engine"]
SEVERAL = "several"
BEHIND_ROUTER = "backend.invalid_argument"
"""``reason`` of ``dynamo_frontend_failures_total`` for what failed behind a router over tiers: a full queue, and a
worker that died in the middle of an answer. Clients get code 400, and ``dynamo_frontend_requests_total`` says
``validation``, as of a client's own mistake, whose reason is ``request.invalid``. Source: processes of Dynamo 1.6.1 run
here, November 2026. An engine that refuses an argument may be under it too: without such a router nothing reads it.
"""
"""Tier and pool of what is judged over all tiers of a model."""


class SloPlan(Record):
    """One objective of one route of a cell."""

    name: str
    signal: Signal
    source: Source
    """``engine``: behind a router over tiers frontends do not know a request's tier; engines of its pools do."""
    route: str
    """Graph whose frontends (or, of an engine, whose router) count what was started."""
    pool: str
    tier: str
    model: str
    objective: PositiveFloat
    """Share that is to be good: 0.95 of a p95."""
    promise_ms: PositiveFloat | None = None
    edge_seconds: PositiveFloat | None = None
    """Upper edge that counts as good; None for availability."""
    exact: bool = True
    """False where a lower bound is judged: an alert is never false, and may come late."""
    field: str
    """Of the environment file."""

    @property
    def budget(self) -> float:
        """Share that may be bad."""
        return round(1 - self.objective, 9)

    @property
    def le(self) -> str:
        """Regular expression for the label: Prometheus 3 writes ``2.0`` where an exporter wrote ``2``."""
        assert self.edge_seconds is not None
        text = f"{self.edge_seconds:.10g}"
        return text if "." in text else f"{text}|{text}[.]0"


class Unmeasured(Record):
    """A promise that no series can show."""

    pool: str
    promise: str
    why: str


def plan_slos(
    serving: ServingPlan, pools: tuple[PoolPlan, ...], tiers: dict[str, TierPlan], vllm: str
) -> tuple[tuple[SloPlan, ...], tuple[Unmeasured, ...]]:
    """Objectives of a cell, and promises that have none.

    :param vllm: version of the engine, whose edges are fixed.
    """
    found: list[SloPlan] = []
    lost: list[Unmeasured] = []
    for graph in serving.graphs:
        if not any(c.kind == "frontend" for c in graph.components):
            continue
        if graph.tier is not None:
            slos, missing = _own(graph, tiers[graph.tier])
        else:
            behind = [p for p in pools if graph.model in p.models and p.shared is None]
            slos, missing = _over_tiers(graph, behind, tiers, vllm)
        found += slos
        lost += missing
    for lane in serving.lanes:
        lost += [
            Unmeasured(pool=lane.pool, promise=str(p), why="models that take turns on a GPU export nothing per request")
            for p in tiers[lane.tier].promises
        ]
    return tuple(found), tuple(lost)


def _share(percent: float, digits: int = 6) -> float:
    """Rounded, and never nothing nor all: objectives are above 0, and all would leave no budget to burn."""
    least = 10.0**-digits
    return min(max(round(percent / 100, digits), least), 1 - least)


def _percent(promise: PromisePlan) -> str:
    return f"{promise.metric.replace('_', '-')}-p{promise.percentile:g}".replace(".", "")


def _field(tier: TierPlan, promise: PromisePlan) -> str:
    return f"tiers.{tier.name}.promises[{tier.promises.index(promise)}]"


def _own(graph: GraphPlan, tier: TierPlan) -> tuple[list[SloPlan], list[Unmeasured]]:
    """Of a graph that serves one tier: its frontends know everything."""
    assert graph.pool is not None
    buckets = frontend_buckets((tier,))
    here = {"source": "frontend", "route": graph.route, "pool": graph.pool, "tier": tier.name, "model": graph.model}
    found, lost = [], []
    for promise in tier.promises:
        if promise.answers_up_to_tokens is not None:
            lost.append(_short_answers(graph.pool, promise))
            continue
        edge = covering_edge(edges_of(buckets, promise.metric), promise.at_most_ms / 1000)
        assert edge is not None
        found.append(
            SloPlan.model_validate(
                {
                    "name": f"{graph.route}-{_percent(promise)}",
                    "signal": promise.metric,
                    "objective": _share(promise.percentile),
                    "promise_ms": promise.at_most_ms,
                    "edge_seconds": edge,
                    "exact": edge == promise.at_most_ms / 1000,
                    "field": _field(tier, promise),
                    **here,
                }
            )
        )
    if tier.availability_target_percent:
        found.append(
            SloPlan.model_validate(
                {
                    "name": f"{graph.route}-availability",
                    "signal": "availability",
                    "objective": _share(tier.availability_target_percent, 8),
                    "field": f"tiers.{tier.name}.availability_percent",
                    **here,
                }
            )
        )
    return found, lost


def _short_answers(pool: str, promise: PromisePlan) -> Unmeasured:
    why = "no histogram of whole answers knows how long the answer is; TTFT and ITL of the pool are what is left"
    return Unmeasured(pool=pool, promise=str(promise), why=why)


_ENGINE: dict[Metric, str] = {"ttft": "vllm:time_to_first_token_seconds", "itl": "vllm:inter_token_latency_seconds"}


def _over_tiers(
    graph: GraphPlan, behind: list[PoolPlan], tiers: dict[str, TierPlan], vllm: str
) -> tuple[list[SloPlan], list[Unmeasured]]:
    """Behind a router over tiers: engines by tier, as lower bounds; frontends by the loosest promise of all tiers."""
    fixed = exporters().get(f"vllm {vllm}")
    found, lost = [], []
    for pool in behind:
        tier = tiers[pool.tier]
        route = pool.name if pool.topology == "aggregated" else f"{pool.name}-prefill"
        for promise in tier.promises:
            name = _ENGINE.get(promise.metric)
            known = fixed.buckets_seconds[name] if fixed and name else ()
            edge = covering_edge(known, promise.at_most_ms / 1000)
            if edge is None:
                lost.append(_short_answers(pool.name, promise))
                continue
            found.append(
                SloPlan(
                    name=f"{pool.name}-{_percent(promise)}",
                    signal=promise.metric,
                    source="engine",
                    route=route,
                    pool=pool.name,
                    tier=tier.name,
                    model=graph.model,
                    objective=round(promise.percentile / 100, 6),
                    promise_ms=promise.at_most_ms,
                    edge_seconds=edge,
                    exact=False,
                    field=_field(tier, promise),
                )
            )
    return found + _loosest(graph, [tiers[p.tier] for p in behind]), lost


def _loosest(graph: GraphPlan, tiers: list[TierPlan]) -> list[SloPlan]:
    """If every tier kept its promise, all requests together would keep the loosest: where they do not, one tier broke
    its own.
    """
    found = []
    upper = [
        max(p, key=lambda one: one.percentile) for t in tiers if (p := [x for x in t.promises if x.metric == "ttft"])
    ]
    if upper and len(upper) == len(tiers):
        bound = max(p.at_most_ms for p in upper)
        edge = covering_edge(edges_of(frontend_buckets(tiers), "ttft"), bound / 1000)
        assert edge is not None
        percentile = min(p.percentile for p in upper)
        found.append(
            SloPlan(
                name=f"{graph.route}-ttft-p{percentile:g}".replace(".", ""),
                signal="ttft",
                source="frontend",
                route=graph.route,
                pool=SEVERAL,
                tier=SEVERAL,
                model=graph.model,
                objective=round(percentile / 100, 6),
                promise_ms=bound,
                edge_seconds=edge,
                exact=False,
                field=f"tiers: the loosest TTFT promise of {', '.join(t.name for t in tiers)}",
            )
        )
    targets = [t.availability_target_percent for t in tiers]
    if targets and all(targets):
        found.append(
            SloPlan(
                name=f"{graph.route}-availability",
                signal="availability",
                source="frontend",
                route=graph.route,
                pool=SEVERAL,
                tier=SEVERAL,
                model=graph.model,
                objective=round(min(t for t in targets if t) / 100, 8),
                exact=False,
                field=f"tiers: the lowest availability_percent of {', '.join(t.name for t in tiers)}",
            )
        )
    return found
