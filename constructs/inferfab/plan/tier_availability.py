"""The one figure that is held against a tier's target: nodes, cells, regions, and what operations cost."""

from collections.abc import Mapping

from pydantic import NonNegativeInt

from inferfab.environment.environment import Environment
from inferfab.environment.tiers import Spill
from inferfab.plan.availability import AvailabilityPlan, CellCapacity, plan_availability
from inferfab.plan.availability_factor import with_operations
from inferfab.plan.availability_factors import availability_factors
from inferfab.plan.rollout.plan import plan_rollout
from inferfab.plan.routing import traffic_shares
from inferfab.plan.serving.serving import ServingPlan
from inferfab.record import Record


class OperationsOf(Record):
    """What stands before a model's workers, and how changes reach them."""

    gateways: dict[str, NonNegativeInt]
    """Pods by cell."""
    over_tiers: bool
    """A router over tiers stands before the model's pools."""
    judge_minutes: int | None
    """Of the rollout; None: changes reach every cell at once."""
    first_share: float
    """Of the traffic, what the first cell of a rollout has."""


def operations_of(environment: Environment, model: str, serving: Mapping[str, ServingPlan]) -> OperationsOf:
    """:param serving: of the cells that serve the model, by name."""
    rollout = plan_rollout(environment)
    return OperationsOf(
        gateways={c: environment.cells[c].gateways.replicas for c in serving},
        over_tiers=any(g.global_router and g.model == model for plan in serving.values() for g in plan.graphs),
        judge_minutes=rollout.judge.judge_minutes if rollout else None,
        first_share=traffic_shares(environment)[rollout.cells[0].cell] if rollout else 1.0,
    )


def tier_availability(
    tier: str,
    model: str,
    cells: tuple[CellCapacity, ...],
    *,
    utilization: float,
    target_percent: float | None,
    spill: Spill,
    operations: OperationsOf,
) -> AvailabilityPlan:
    """The figure of one model in one tier, and its factors one by one."""
    capacity = plan_availability(
        tier, model, cells, utilization=utilization, target_percent=target_percent, spills=spill != "never"
    )
    factors = availability_factors(
        cells,
        utilization=utilization,
        spill=spill,
        gateways=operations.gateways,
        over_tiers=operations.over_tiers,
        judge_minutes=operations.judge_minutes,
        first_share=operations.first_share,
    )
    return capacity.model_copy(
        update={
            "percent": with_operations(capacity.percent, factors),
            "percent_of_capacity": capacity.percent,
            "factors": factors,
        }
    )
