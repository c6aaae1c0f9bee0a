"""How far ahead a pool has to ask for a worker."""

from typing import Literal

from pydantic import NonNegativeInt, PositiveInt

from inferfab.catalog.provisioning import provisioning_facts
from inferfab.environment.autoscaling import Autoscaling
from inferfab.plan.placement import NodeGroupPlan
from inferfab.plan.served import ModelPlan
from inferfab.record import Record

RATE_WINDOW_SECONDS = 600
"""Over which a rate is taken. Its value is the mean of the past ten minutes, so demand of one moment is seen in full
only that much later."""

REACTION_SECONDS = 120
"""Until a rule has seen a change (60 s), KEDA has asked (30 s) and Kubernetes has acted (15 s), rounded up.
Placeholders wait as long before a node is started for them.
"""

AUTOSCALER_REPLICAS = 2
"""Of the cluster autoscaler, which starts the nodes; one of them leads."""


class ProvisioningPlan(Record):
    """From asking for a worker to its first answer."""

    node_seconds: NonNegativeInt
    """A node; 0 where nodes stand there already."""
    start_seconds: PositiveInt
    """Image, engine start and warm-up."""
    weights_seconds: NonNegativeInt
    """Weights onto the node and into the GPUs."""
    total_seconds: PositiveInt
    basis: Literal["environment", "catalog"]
    """Stated as measured, or from the catalog's one measured cold start."""
    horizon_seconds: PositiveInt
    """How far ahead demand is forecast."""


def plan_provisioning(asked: Autoscaling, model: ModelPlan, groups: tuple[NodeGroupPlan, ...]) -> ProvisioningPlan:
    """Parts of the measured cold start, its weights in proportion to this model's, and never faster than the stated
    rate from the node's own cache.
    """
    facts = provisioning_facts()
    weights = max(
        (model.weights_bytes + model.draft_weights_bytes) / facts.weights_bytes_per_second, model.cold_load_seconds
    )
    comes = any(g.nodes.min != g.nodes.max for g in groups) and all(g.capacity.kind != "owned" for g in groups)
    node = facts.node_seconds if comes else 0
    total = asked.provisioning_seconds or node + facts.start_seconds + round(weights)
    return ProvisioningPlan(
        node_seconds=node,
        start_seconds=facts.start_seconds,
        weights_seconds=round(weights),
        total_seconds=total,
        basis="environment" if asked.provisioning_seconds else "catalog",
        horizon_seconds=asked.horizon_seconds or _minutes(total + RATE_WINDOW_SECONDS + REACTION_SECONDS),
    )


def _minutes(seconds: int) -> int:
    """Rounded up to whole minutes: rules are evaluated once a minute."""
    return -(-seconds // 60) * 60
