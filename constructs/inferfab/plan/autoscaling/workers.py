"""The workers of one role: what one of them serves, who sets their number, and what makes it rise."""

import math
from typing import Literal

from pydantic import NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from inferfab.environment.autoscaling import Autoscaling
from inferfab.plan.autoscaling.demand import DemandPlan
from inferfab.plan.pools import PoolPlan
from inferfab.plan.quantities import Bounds
from inferfab.plan.roles import RolePlan
from inferfab.plan.serving.component import GraphPlan
from inferfab.plan.tiers import TierPlan
from inferfab.record import Record

_QUEUE_SECONDS = 60.0
"""For tiers without a TTFT promise."""


class LatencyTrigger(Record):
    """More workers before a promise breaks."""

    metric: Literal["ttft", "itl"]
    series: str
    percentile: PositiveFloat
    at_ms: PositiveFloat
    """From here on workers are added."""
    promise_ms: PositiveFloat


class RoleScaling(Record):
    """One role in one cell."""

    role: str
    graph: str
    """DynamoGraphDeployment that holds it."""
    component: str
    adapter: str
    """Its DynamoGraphDeploymentScalingAdapter, which the operator names ``<graph>-<component>``."""
    pods: str
    """Regular expression of its pods' names."""
    workers: Bounds
    pods_per_worker: PositiveInt
    gpus_per_pod: PositiveInt
    requests_per_second: NonNegativeFloat
    """Of one worker at the planned utilization, by the lower end of the estimate."""
    spare: NonNegativeInt
    """Workers beyond what demand needs, so that one may fail."""
    queue_per_worker: PositiveInt
    latency: LatencyTrigger | None
    """Only with KEDA, and only where a series tells this pool's latency apart."""
    scale_in_step: PositiveInt
    """Workers that go at most in :attr:`scale_in_period_seconds`."""
    scale_in_period_seconds: PositiveInt

    def needed(self, requests_per_second: float) -> int:
        """Workers for a demand, spare ones included, within the bounds."""
        if not self.requests_per_second:
            return self.workers.max
        wanted = math.ceil(requests_per_second / self.requests_per_second) + self.spare
        return min(max(wanted, self.workers.min), self.workers.max)


SCALE_IN_PERIOD_SECONDS = 600
SCALE_IN_SHARE = 0.1
"""Of the largest number, in each period; never less than one worker."""
_SERIES = {
    "ttft": "dynamo_frontend_time_to_first_token_seconds",
    "itl": "dynamo_frontend_inter_token_latency_seconds",
}


def plan_role_scaling(
    role: RolePlan, pool: PoolPlan, graph: GraphPlan, tier: TierPlan, asked: Autoscaling, demand: DemandPlan
) -> RoleScaling:
    part = next(c for c in graph.components if c.kind == role.role)
    speed = role.performance.requests_per_second.low * pool.workload.utilization
    ttft = tier.strictest_ms("ttft")
    seconds = ttft / 1000 if ttft is not None else _QUEUE_SECONDS
    return RoleScaling(
        role=role.role,
        graph=graph.name,
        component=part.name,
        adapter=f"{graph.name}-{part.name}".lower(),
        # Grove puts a number between the two, Deployments do not.
        pods=f"{graph.pods_regex}-(.*-)?{part.name}(-.*)?",
        workers=role.workers,
        pods_per_worker=part.nodes,
        gpus_per_pod=-(-role.parallelism.gpus // part.nodes),
        requests_per_second=speed,
        # Who is promised nothing waits until another one is there.
        spare=1 if tier.promises else 0,
        queue_per_worker=asked.queue_per_worker or max(1, round(role.performance.requests_per_second.low * seconds)),
        latency=_latency(role.role, tier, asked) if demand.source == "frontend" else None,
        scale_in_step=max(1, round(role.workers.max * SCALE_IN_SHARE)),
        scale_in_period_seconds=SCALE_IN_PERIOD_SECONDS,
    )


def _latency(role: str, tier: TierPlan, asked: Autoscaling) -> LatencyTrigger | None:
    """Prefill answers for the first token, decode for those after it; a worker that does both, for the first."""
    metrics: tuple[Literal["ttft", "itl"], ...] = ("ttft", "itl")
    for metric in metrics:
        if (role, metric) in (("prefill", "itl"), ("decode", "ttft")):
            continue
        promised = [p for p in tier.promises if p.metric == metric]
        if promised:
            # The tail tells first.
            one = max(promised, key=lambda p: p.percentile)
            return LatencyTrigger(
                metric=metric,
                series=_SERIES[metric],
                percentile=one.percentile,
                at_ms=one.at_most_ms * asked.latency_share,
                promise_ms=one.at_most_ms,
            )
    return None
