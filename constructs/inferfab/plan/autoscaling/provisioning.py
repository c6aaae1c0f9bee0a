"""How long a worker takes to come: the one answer that autoscaling, simulated losses and `failures` read."""

from collections.abc import Sequence
from typing import Literal

from pydantic import NonNegativeInt, PositiveInt

from inferfab.catalog.cold_start import cold_start
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

NOBODY_COMES = "no other server takes its place"

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
    restart_seconds: PositiveInt | None = None
    """Of a worker on a node that has its image; None in older plans."""
    replacement_seconds: PositiveInt | None = None
    """From the loss of a node to another that serves: :attr:`total_seconds` with a node in it, whether or not nodes
    scale. None where no machine takes its place by itself: owned servers.
    """
    replacement_how: str = NOBODY_COMES


def plan_provisioning(
    asked: Autoscaling, models: Sequence[ModelPlan], groups: Sequence[NodeGroupPlan]
) -> ProvisioningPlan:
    """Stages of the measured cold start, its weights in proportion to the largest model's, and never faster than the
    stated rate from the node's own cache. What was measured on one's own nodes takes the place of all of it.

    Owned servers are repaired, not replaced. Of bought ones the machine is assumed to be at hand.
    """
    facts = cold_start()
    weights = round(
        max(max(facts.of_weights(m.weights_bytes + m.draft_weights_bytes), m.cold_load_seconds) for m in models)
    )
    owned = any(g.capacity.kind == "owned" for g in groups)
    scales = any(g.nodes.min != g.nodes.max for g in groups) and not owned
    node, start = facts.of_node if scales else 0, facts.image_seconds + facts.of_engine
    whole = asked.provisioning_seconds or facts.of_node + start + weights
    total = asked.provisioning_seconds or node + start + weights
    stages = {
        "machine": facts.node_seconds,
        "boot": facts.boot_seconds,
        "image": facts.image_seconds,
        "engine start": facts.of_engine,
        "weights": weights,
    }
    how = " + ".join(f"{seconds} s {name}" for name, seconds in stages.items())
    return ProvisioningPlan(
        node_seconds=node,
        start_seconds=start,
        weights_seconds=weights,
        total_seconds=total,
        basis="environment" if asked.provisioning_seconds else "catalog",
        horizon_seconds=asked.horizon_seconds or _minutes(total + RATE_WINDOW_SECONDS + REACTION_SECONDS),
        restart_seconds=min(facts.of_engine + weights, whole),
        replacement_seconds=None if owned else whole,
        replacement_how=NOBODY_COMES if owned else "as stated" if asked.provisioning_seconds else how,
    )


def _minutes(seconds: int) -> int:
    """Rounded up to whole minutes: rules are evaluated once a minute."""
    return -(-seconds // 60) * 60
