"""Who owns which number, and within which bounds: planner, node group and budget read the same fields."""

from typing import Literal

from pydantic import NonNegativeInt

from inferfab.environment.autoscaling import Autoscaling
from inferfab.plan.placement import NodeGroupPlan
from inferfab.plan.quantities import Bounds
from inferfab.record import Record


class ScalingPlan(Record):
    """How one pool in one cell scales."""

    replicas_owner: Literal["terraform", "dynamo-planner", "keda"]
    """One owner a number. Fixed pools belong to Terraform, those with room to scale to the Dynamo planner or KEDA."""
    advisory_planner: bool = False
    """Beside KEDA, the planner runs and only says what it would do."""
    nodes_owner: Literal["terraform", "cluster-autoscaler"]
    workers: dict[str, Bounds]
    """Bounds by role, as every autoscaler reads them."""
    gpu_budget: NonNegativeInt
    """GPUs of all workers at their maximum: the planner's ``max_gpu_budget``."""
    node_gpus_at_max: NonNegativeInt
    """GPUs that the node groups bring at their maximum; never less than the budget."""


def plan_scaling(
    workers: dict[str, Bounds],
    gpus_per_worker: dict[str, int],
    groups: tuple[NodeGroupPlan, ...],
    asked: Autoscaling | None = None,
) -> ScalingPlan:
    """:param asked: how the pool follows demand; None for a pool that nothing scales."""
    scales = any(b.min != b.max for b in workers.values())
    keda = asked is not None and asked.mode == "keda"
    return ScalingPlan(
        replicas_owner="terraform" if not scales else "keda" if keda else "dynamo-planner",
        advisory_planner=scales and keda and asked is not None and asked.planner == "advisory",
        nodes_owner="cluster-autoscaler" if any(g.nodes.min != g.nodes.max for g in groups) else "terraform",
        workers=workers,
        gpu_budget=sum(bounds.max * gpus_per_worker[role] for role, bounds in workers.items()),
        node_gpus_at_max=sum(g.gpus.max for g in groups),
    )
