"""Who owns which number, and within which bounds: planner, node group and budget read the same fields."""

from typing import Literal

from pydantic import NonNegativeInt

from inferfab.plan.placement import NodeGroupPlan
from inferfab.plan.quantities import Bounds
from inferfab.record import Record


class ScalingPlan(Record):
    """How one pool in one cell scales."""

    replicas_owner: Literal["terraform", "dynamo-planner"]
    """One owner a number. Fixed pools belong to Terraform; pools with room to scale to the Dynamo planner."""
    nodes_owner: Literal["terraform", "cluster-autoscaler"]
    workers: dict[str, Bounds]
    """Bounds by role, as every autoscaler reads them."""
    gpu_budget: NonNegativeInt
    """GPUs of all workers at their maximum: the planner's ``max_gpu_budget``."""
    node_gpus_at_max: NonNegativeInt
    """GPUs that the node groups bring at their maximum; never less than the budget."""


def plan_scaling(
    workers: dict[str, Bounds], gpus_per_worker: dict[str, int], groups: tuple[NodeGroupPlan, ...]
) -> ScalingPlan:
    scales = any(b.min != b.max for b in workers.values())
    return ScalingPlan(
        replicas_owner="dynamo-planner" if scales else "terraform",
        nodes_owner="cluster-autoscaler" if any(g.nodes.min != g.nodes.max for g in groups) else "terraform",
        workers=workers,
        gpu_budget=sum(bounds.max * gpus_per_worker[role] for role, bounds in workers.items()),
        node_gpus_at_max=sum(g.gpus.max for g in groups),
    )
