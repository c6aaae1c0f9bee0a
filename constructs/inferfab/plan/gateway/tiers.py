"""One tier at the entrance: its name, its timeouts, how many requests are let in, where each model answers."""

import math

from pydantic import PositiveFloat, PositiveInt

from inferfab.environment.gateway import TierGate
from inferfab.plan.aws_names import fit
from inferfab.plan.names import SERVING_NAMESPACE
from inferfab.plan.pools import PoolPlan
from inferfab.plan.served import ModelPlan
from inferfab.plan.serving.admission import QUEUE_FACTORS, by_rank, places_of, queue_limit
from inferfab.plan.serving.entries import EntryPlan
from inferfab.plan.serving.global_router import TierTarget
from inferfab.plan.serving.planner import itl_target_ms
from inferfab.plan.tiers import TierPlan
from inferfab.record import Record

_LEAST_WAIT_SECONDS = 60.0
"""A non-streamed answer is silent until its end, and a prefill behind a queue is silent too."""
_WAIT_PROMISES = 10
"""Times the strictest TTFT promise that a request may wait before it is given up."""
_PACE_MS = 100.0
"""Between tokens, of a tier that promises nothing: ten a second, slower than any planned batch."""
_MOST_SECONDS = 86_400
_RETRY_AFTER_SECONDS = (2, 10, 60)
_SERVICE_LENGTH = 63
_LEAST_PARALLEL = 1024
"""Envoy's own default for a cluster; below it nothing is gained."""


class RoutePlan(Record):
    """Where one model of a tier answers."""

    model: str
    names: tuple[str, ...]
    """What requests call it: its own name, and those of its adapters."""
    entry: str
    """The Service of :class:`inferfab.plan.serving.entries.EntryPlan`."""
    service: str
    """Headless Service over the same pods: a name that resolves to each of them, so that the gateway chooses."""
    port: PositiveInt
    selects: dict[str, str]
    target: TierTarget | None
    """What requests are tagged with, in place of whatever they bring."""
    holds: PositiveInt
    """Requests that its engines and their queues hold at the pool's largest size."""


class AffinityPlan(Record):
    """How requests find the worker that holds their beginning in its cache."""

    by: str = "prefix of the prompt, by Dynamo's KV-aware router; every frontend knows all workers"
    imbalance_tokens: PositiveInt
    """A worker is preferred for its cache while its work exceeds the least loaded one's by no more than this: what the
    cache saves of the prompt, at a credit of 1 (router cost = tokens to read + blocks in use, routing concepts of
    Dynamo 1.6)."""


class TierGatePlan(Record):
    """One tier at the gateways of a cell."""

    tier: str
    rank: PositiveInt
    hostname: str
    routes: tuple[RoutePlan, ...]
    timeout_seconds: PositiveInt
    """Of a whole request, streaming included."""
    least_timeout_seconds: PositiveFloat
    """What the tier's own workload needs at its promises."""
    parallel_requests: PositiveInt
    """That one gateway instance has under way to one Service; more get 503. What engines and queues hold (of the model
    that holds most); where the gateways are to refuse, over all instances but one: with one gone the others still let
    all of it in."""
    connections: PositiveInt
    """To one Service. HTTP/1.1: one connection a request, so a single flow's limit binds one answer only."""
    queue_factor: PositiveInt
    """Requests that wait for each place of an engine's batch."""
    queue_per_worker: PositiveInt | None = None
    """As the environment states it, in place of the factor."""
    retry_after_seconds: PositiveInt
    affinity: AffinityPlan


def request_seconds(tier: TierPlan, context_tokens: int) -> int:
    """Longest time of a request: waiting, and an answer as long as the context at the tier's pace; whole minutes."""
    ttft = tier.strictest_ms("ttft") or 0.0
    wait = max(_LEAST_WAIT_SECONDS, _WAIT_PROMISES * ttft / 1000)
    answer = context_tokens * (itl_target_ms(tier) or _PACE_MS) / 1000
    return min(_MOST_SECONDS, 60 * math.ceil((wait + answer) / 60))


def timeout_seconds(
    tier: TierPlan, gate: TierGate | None, pools: tuple[PoolPlan, ...], models: dict[str, ModelPlan]
) -> int:
    """Of a whole request, as asked, or by the longest context of the tier's models in the cell."""
    context = max(models[name].context_tokens for p in pools if p.tier == tier.name for name in p.models)
    return (gate.timeout_seconds if gate else None) or request_seconds(tier, context)


def least_seconds(tier: TierPlan, output_tokens: int) -> float:
    """What an answer of the tier's workload takes at its loosest TTFT promise and its pace."""
    ttft = max((p.at_most_ms for p in tier.promises if p.metric == "ttft"), default=0.0)
    whole = max((p.at_most_ms for p in tier.promises if p.metric == "whole_answer"), default=0.0)
    pace = itl_target_ms(tier) or _PACE_MS
    return max(whole, ttft + output_tokens * pace) / 1000


def plan_tier_gate(
    tier: TierPlan,
    hostname: str,
    gate: TierGate | None,
    entries: tuple[EntryPlan, ...],
    pools: tuple[PoolPlan, ...],
    models: dict[str, ModelPlan],
    *,
    flow_connections: int,
    instances: int,
) -> TierGatePlan:
    """
    :param flow_connections: least number of connections that carry the cell's traffic (plan/locality).
    :param instances: gateway instances of the cell.
    """
    mine = tuple(p for p in pools if p.tier == tier.name)
    factor = by_rank(QUEUE_FACTORS, tier.rank)
    held = {
        name: max(1, sum(_held(p, tier.rank, gate) for p in mine if name in p.models))
        for p in mine
        for name in p.models
    }
    # Where Dynamo refuses by itself the gateway leaves it alone.
    whole = max(held.values())
    routed = any(entry.target for entry in entries if entry.tier == tier.name)
    parallel = math.ceil(whole / max(1, instances - 1)) if routed else max(_LEAST_PARALLEL, whole)
    workloads = [p.workload for p in mine]
    return TierGatePlan(
        tier=tier.name,
        rank=tier.rank,
        hostname=hostname,
        routes=tuple(
            RoutePlan(
                model=entry.model,
                names=(entry.model, *(a.name for a in models[entry.model].adapters)),
                entry=entry.service,
                service=fit(f"{entry.service}-pods", _SERVICE_LENGTH),
                port=entry.port,
                selects=entry.selects,
                target=entry.target,
                holds=held[entry.model],
            )
            for entry in entries
            if entry.tier == tier.name
        ),
        timeout_seconds=timeout_seconds(tier, gate, pools, models),
        least_timeout_seconds=max(1.0, *(least_seconds(tier, w.output_tokens) for w in workloads)),
        parallel_requests=parallel,
        connections=max(parallel, flow_connections),
        queue_factor=factor,
        queue_per_worker=gate.queue_per_worker if gate else None,
        retry_after_seconds=(gate.retry_after_seconds if gate else None) or by_rank(_RETRY_AFTER_SECONDS, tier.rank),
        affinity=AffinityPlan(imbalance_tokens=max(w.prompt_tokens for w in workloads)),
    )


def _held(pool: PoolPlan, rank: int, gate: TierGate | None) -> int:
    """Requests that the pool's engines work on at its largest, and that wait for them."""
    found = 0
    for role in pool.roles:
        if role.role != "prefill":
            places = places_of(role.engine.arguments)
            found += role.workers.max * (places + queue_limit(gate, rank, places))
    if pool.shared:
        places = places_of(())
        found += sum(pool.shared.packing.instances.values()) * (places + queue_limit(gate, rank, places))
    return found


def pods_service(route: RoutePlan, rack: str | None) -> str:
    """Headless Service over the pods of a route; those of one rack where there are racks."""
    return fit(f"{route.entry}-{rack}", _SERVICE_LENGTH) if rack else route.service


def backend_host(service: str) -> str:
    """Name by which a Service of the serving namespace resolves in the cluster."""
    return f"{service}.{SERVING_NAMESPACE}.svc.cluster.local"
