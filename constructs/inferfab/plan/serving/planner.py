"""What Dynamo's planner is told, within the bounds that node groups and budget have too.

Fields and rules: dynamo/planner/config/planner_config.py of ai-dynamo 1.6.1 (PlannerConfig). It accepts unknown keys
without a word, so the tests hold this against its fields.
"""

from typing import Literal

from pydantic import NonNegativeInt, PositiveFloat, PositiveInt

from inferfab.plan.quantities import Bounds
from inferfab.plan.tiers import TierPlan
from inferfab.record import Record

PlannerMode = Literal["disagg", "prefill", "decode", "agg"]
LOAD_INTERVAL_SECONDS = 5
"""How often load is looked at; PlannerConfig's own default."""


class PlannerPlan(Record):
    """``PlannerConfig`` of one graph; field names are its own."""

    environment: Literal["kubernetes"] = "kubernetes"
    backend: Literal["vllm"] = "vllm"
    mode: PlannerMode
    optimization_target: Literal["sla", "throughput"]
    """``sla`` is the only target that reads ``ttft_ms`` and ``itl_ms``; ``throughput`` for tiers without promises."""
    ttft_ms: PositiveFloat | None = None
    itl_ms: PositiveFloat | None = None
    pre_deployment_sweeping_mode: Literal["none"] = "none"
    """It learns the engine's speed from running workers; nothing is profiled beforehand."""
    enable_load_scaling: bool = True
    enable_throughput_scaling: bool = False
    """Needs a performance profile."""
    load_adjustment_interval_seconds: PositiveInt = LOAD_INTERVAL_SECONDS
    throughput_metrics_source: Literal["frontend", "router"]
    model_name: str
    max_gpu_budget: NonNegativeInt
    """GPUs of all workers of the graph at their maximum."""
    min_endpoint: PositiveInt | None = None
    prefill_min_endpoint: PositiveInt | None = None
    decode_min_endpoint: PositiveInt | None = None
    prefill_engine_num_gpu: PositiveInt | None = None
    decode_engine_num_gpu: PositiveInt | None = None
    metric_pulling_prometheus_endpoint: str
    advisory: Literal[True] | None = None
    """It says what it would do, and does nothing: KEDA owns the workers."""


def itl_target_ms(tier: TierPlan) -> float | None:
    """The strictest ITL promise; else what a whole answer leaves for each token after the first, beside the TTFT.

    (whole answer - TTFT) / (tokens - 1), for the promise that says for how many tokens it holds.
    """
    stated = tier.strictest_ms("itl")
    ttft = tier.strictest_ms("ttft") or 0.0
    derived = [
        (p.at_most_ms - ttft) / (p.answers_up_to_tokens - 1)
        for p in tier.promises
        if p.metric == "whole_answer"
        and p.answers_up_to_tokens is not None
        and p.answers_up_to_tokens > 1
        and p.at_most_ms > ttft
    ]
    return min([stated, *derived] if stated is not None else derived, default=None)


def plan_planner(
    mode: PlannerMode,
    tier: TierPlan,
    model: str,
    workers: dict[str, Bounds],
    gpus_per_worker: dict[str, int],
    *,
    behind_router: bool,
    prometheus_url: str,
    advisory: bool = False,
) -> PlannerPlan:
    """One planner for the workers of one graph.

    :param workers: bounds by role, of the roles that the graph holds.
    :param behind_router: requests come through a router over pools, so frontends of the graph count none.
    """
    ttft, itl = tier.strictest_ms("ttft"), itl_target_ms(tier)
    promised = {"prefill": (ttft,), "decode": (itl,)}.get(mode, (ttft, itl))
    serves_promise = any(promise is not None for promise in promised)
    # Never none: without a worker the model leaves the frontend, whose metrics then show no demand that would bring one
    # back (ai-dynamo/dynamo#11536).
    least = {role: max(1, bounds.min) for role, bounds in workers.items()}
    by_role = mode != "agg"
    return PlannerPlan(
        mode=mode,
        optimization_target="sla" if serves_promise else "throughput",
        ttft_ms=ttft if serves_promise else None,
        itl_ms=itl if serves_promise else None,
        throughput_metrics_source="router" if behind_router else "frontend",
        model_name=model,
        max_gpu_budget=sum(bounds.max * gpus_per_worker[role] for role, bounds in workers.items()),
        min_endpoint=None if by_role else min(least.values()),
        prefill_min_endpoint=least.get("prefill") if by_role else None,
        decode_min_endpoint=least.get("decode") if by_role else None,
        prefill_engine_num_gpu=gpus_per_worker.get("prefill"),
        decode_engine_num_gpu=gpus_per_worker.get("decode") or gpus_per_worker.get("worker"),
        metric_pulling_prometheus_endpoint=prometheus_url,
        advisory=True if advisory else None,
    )
