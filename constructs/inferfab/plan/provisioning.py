"""How long a lost node is missed: until another one serves the model."""

from inferfab.catalog.cold_start import cold_start
from inferfab.plan.placement import NodeGroupPlan
from inferfab.plan.served import ModelPlan
from inferfab.record import Record


class Provisioning(Record):
    """From the loss of a node to another that serves."""

    seconds: float | None
    """None where no machine takes its place by itself: owned servers."""
    how: str


def provisioning(group: NodeGroupPlan, model: ModelPlan) -> Provisioning:
    """Measured stages, and the plan's own time for the model's weights.

    Owned servers are repaired, not replaced. Of bought ones the machine is assumed to be at hand.
    """
    if group.capacity.kind == "owned":
        return Provisioning(seconds=None, how="no other server takes its place")
    facts = cold_start()
    fixed = {
        "machine": facts.node_seconds,
        "boot": facts.boot_seconds,
        "image": facts.image_seconds,
        "engine start": facts.framework_seconds + facts.warm_up_seconds,
        "weights": model.cold_load_seconds,
    }
    words = " + ".join(f"{seconds:.0f} {name}" for name, seconds in fixed.items())
    return Provisioning(seconds=sum(fixed.values()), how=words)
