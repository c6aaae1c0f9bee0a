"""How the pools of one cell follow demand."""

from typing import Literal

from pydantic import NonNegativeInt, PositiveInt

from inferfab.autoscale.settings import ForecastSettings
from inferfab.environment.autoscaling import Autoscaling
from inferfab.plan.autoscaling.demand import DemandPlan, plan_demand
from inferfab.plan.autoscaling.placeholders import PlaceholderPlan, plan_placeholder, why_no_placeholder
from inferfab.plan.autoscaling.provisioning import ProvisioningPlan, plan_provisioning
from inferfab.plan.autoscaling.workers import RoleScaling, plan_role_scaling
from inferfab.plan.draining import DRAIN_SECONDS
from inferfab.plan.placement import NodeGroupPlan
from inferfab.plan.pools import PoolPlan
from inferfab.plan.served import ModelPlan
from inferfab.plan.serving.serving import ServingPlan
from inferfab.plan.tiers import TierPlan
from inferfab.record import Record

UNUSUAL_QUANTILE = 0.9
"""Of request rates over the forecast's window: more than that asks for a worker more."""
MOST_LATENCY_FACTOR = 2
"""However late answers are, workers at most double at once: a stall is not cured by more of them."""

INTERVAL_SECONDS = 60
"""Between two evaluations of the rules: 72 hours of them are 4,320 samples a pool, which Prometheus sorts in a
millisecond or two."""
POLL_SECONDS = 30
"""How often KEDA asks; its own default."""
FAILURES = 3
"""Bad answers after which KEDA holds what is there."""


class PoolAutoscaling(Record):
    """One pool in one cell."""

    pool: str
    tier: str
    model: str
    mode: Literal["fixed", "planner", "keda"]
    """Who sets the number of workers."""
    advisory_planner: bool
    provisioning: ProvisioningPlan | None
    forecast: ForecastSettings | None
    """None where nothing tells the pool's demand."""
    demand: DemandPlan | None
    roles: tuple[RoleScaling, ...]
    placeholders: tuple[PlaceholderPlan, ...]
    remarks: tuple[str, ...]
    """What is not done, and why."""
    scale_in_seconds: NonNegativeInt
    """Workers go only when none was needed for so long."""
    drain_seconds: PositiveInt = DRAIN_SECONDS
    """That a worker which goes has for its answers in flight."""

    def role(self, name: str) -> RoleScaling:
        return next(r for r in self.roles if r.role == name)


class AutoscalingPlan(Record):
    """One cell."""

    interval_seconds: PositiveInt = INTERVAL_SECONDS
    poll_seconds: PositiveInt = POLL_SECONDS
    failures: PositiveInt = FAILURES
    pools: tuple[PoolAutoscaling, ...]

    def pool(self, name: str) -> PoolAutoscaling:
        return next(p for p in self.pools if p.pool == name)


def plan_autoscaling(
    asked: dict[str, Autoscaling],
    tiers: dict[str, TierPlan],
    models: dict[str, ModelPlan],
    pools: tuple[PoolPlan, ...],
    groups: tuple[NodeGroupPlan, ...],
    serving: ServingPlan,
    *,
    drain_seconds: int = DRAIN_SECONDS,
) -> AutoscalingPlan:
    """:param asked: by pool, with the environment's defaults laid under."""
    return AutoscalingPlan(
        pools=tuple(
            _shared(
                pool,
                asked[pool.name],
                [models[m] for m in pool.models],
                [g for g in groups if g.pool == pool.name],
            )
            if pool.shared is not None
            else _pool(
                pool,
                asked[pool.name],
                tiers[pool.tier],
                models[pool.models[0]],
                {r.role: next(g for g in groups if g.name == r.node_group) for r in pool.roles},
                serving,
            ).model_copy(update={"drain_seconds": drain_seconds})
            for pool in pools
        )
    )


def _shared(
    pool: PoolPlan, asked: Autoscaling, models: list[ModelPlan], groups: list[NodeGroupPlan]
) -> PoolAutoscaling:
    """Models are packed onto GPUs once. Those that take turns on a GPU have no frontend that would count requests."""
    return PoolAutoscaling(
        pool=pool.name,
        tier=pool.tier,
        model=pool.models[0],
        mode="fixed",
        advisory_planner=False,
        provisioning=plan_provisioning(asked, models, groups),
        forecast=None,
        demand=None,
        roles=(),
        placeholders=(),
        remarks=("shared: every instance has its place from the start, and nothing scales it",),
        scale_in_seconds=0,
    )


def _pool(
    pool: PoolPlan,
    asked: Autoscaling,
    tier: TierPlan,
    model: ModelPlan,
    groups: dict[str, NodeGroupPlan],
    serving: ServingPlan,
) -> PoolAutoscaling:
    graphs = serving.of_pool(pool.name)
    of_role = {r.role: next(g for g in graphs if any(c.kind == r.role for c in g.components)) for r in pool.roles}
    demand = plan_demand(of_role[pool.roles[0].role])
    mode: Literal["fixed", "planner", "keda"] = {
        "terraform": "fixed", "dynamo-planner": "planner", "keda": "keda",
    }[pool.scaling.replicas_owner]  # type: ignore[assignment]  # fmt: skip
    provisioning = plan_provisioning(asked, (model,), tuple(groups.values()))
    roles = tuple(plan_role_scaling(r, pool, of_role[r.role], tier, asked, demand) for r in pool.roles)
    why_not = why_no_placeholder(tuple(groups.values()), wanted=asked.placeholders, tier=tier, scales=mode != "fixed")
    slow = any(not r.requests_per_second for r in roles)
    placeholders = [
        plan_placeholder(pool.name, role, scaled, groups[role.role])
        for role, scaled in zip(pool.roles, roles, strict=True)
        if not why_not and not slow
    ]
    return PoolAutoscaling(
        pool=pool.name,
        tier=pool.tier,
        model=model.name,
        mode=mode,
        advisory_planner=pool.scaling.advisory_planner,
        provisioning=provisioning,
        forecast=ForecastSettings(
            quantile=asked.quantile,
            window_s=asked.window_hours * 3600,
            horizon_s=provisioning.horizon_seconds,
            headroom=asked.headroom,
            interval_s=INTERVAL_SECONDS,
        ),
        demand=demand,
        roles=roles,
        placeholders=tuple(p for p in placeholders if p is not None),
        remarks=tuple(_remarks(mode, roles, demand, why_not, groups, slow=slow)),
        scale_in_seconds=asked.scale_in_minutes * 60 if mode != "fixed" else 0,
    )


def _remarks(
    mode: str,
    roles: tuple[RoleScaling, ...],
    demand: DemandPlan,
    why_not: str,
    groups: dict[str, NodeGroupPlan],
    *,
    slow: bool,
) -> list[str]:
    found = [f"no placeholders: {why_not}"] if why_not else []
    if slow:
        found.append("no placeholders: what a worker serves is not known")
    if mode == "keda" and demand.source == "router":
        found.append("no latency trigger: behind a router over tiers no series tells this pool's latency apart")
    if any(g.capacity.kind == "spot" for g in groups.values()) and mode != "fixed":
        found.append("spot: a node may not come, however early it is asked for")
    claimed = any(r.pods_per_worker > 1 for r in roles)
    if claimed and not why_not:
        found.append("a worker spans nodes: its pods' placeholders may stand on nodes of different places")
    return found
