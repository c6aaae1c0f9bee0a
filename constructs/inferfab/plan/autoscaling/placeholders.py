"""Pods of no importance that hold room, so that nodes are there before the workers."""

from pydantic import PositiveInt

from inferfab.plan.autoscaling.provisioning import REACTION_SECONDS
from inferfab.plan.autoscaling.workers import RoleScaling
from inferfab.plan.aws_names import fit
from inferfab.plan.placement import NodeGroupPlan
from inferfab.plan.roles import RolePlan
from inferfab.plan.tiers import TierPlan
from inferfab.record import Record

PLACEHOLDER_PRIORITY = -10
"""Below every pod that has no class (0), and not below the cluster autoscaler's cutoff (-10, its default
``--expendable-pods-priority-cutoff``), under which it starts no node for a pod.
"""
PLACEHOLDER_DELAY_SECONDS = REACTION_SECONDS
"""How long a pod waits before the autoscaler starts a node for it: one that a worker has pushed out must not."""
PLACEHOLDER_CLASS = "inferfab-placeholder"


class PlaceholderPlan(Record):
    """Placeholders of one role: each takes the GPUs of one worker's pod."""

    name: str
    role: str
    node_group: str
    most: PositiveInt
    """Pods, when every worker that may come is expected: never more than the node group holds."""
    gpus: PositiveInt
    gpu_resource: str
    claim: str | None
    """ResourceClaimTemplate of the workers; then no extended resource is asked for."""


def plan_placeholder(pool: str, role: RolePlan, scaled: RoleScaling, group: NodeGroupPlan) -> PlaceholderPlan | None:
    """None where no worker may come, or where its node is there already."""
    most = (scaled.workers.max - scaled.workers.min) * scaled.pods_per_worker
    if not most or group.nodes.min == group.nodes.max:
        return None
    return PlaceholderPlan(
        name=fit(f"{pool}-{scaled.role}-room", 50),
        role=scaled.role,
        node_group=group.name,
        most=most,
        gpus=scaled.gpus_per_pod,
        gpu_resource="nvidia.com/gpu",
        claim=role.claim.name if role.claim else None,
    )


def why_no_placeholder(groups: tuple[NodeGroupPlan, ...], *, wanted: bool | None, tier: TierPlan, scales: bool) -> str:
    """Why nodes of these groups are not kept warm; empty if they are."""
    kinds = {g.capacity.kind for g in groups}
    if not scales:
        return "fixed: every worker runs from the start"
    if all(g.nodes.min == g.nodes.max for g in groups):
        return "its nodes are all there from the start"
    if "owned" in kinds:
        return "owned servers are there anyway"
    if kinds & {"reservation", "capacity_block"}:
        return "reserved nodes are paid for anyway: let all run (min = max)"
    if wanted is None and not tier.promises:
        return "its tier promises nothing"
    if wanted is False:
        return "switched off (placeholders: false)"
    return ""
