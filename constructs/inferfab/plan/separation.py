"""What keeps inference traffic apart from other traffic, and what does not."""

from typing import Literal

from inferfab.catalog.roce import roce
from inferfab.environment.cells import Cell
from inferfab.environment.racks import Racks
from inferfab.plan.transport import FabricKind
from inferfab.record import Record


class Separation(Record):
    """What happens to one other kind of traffic beside inference traffic."""

    traffic: Literal["storage", "training", "model loading", "other tenants"]
    kept_apart: Literal["yes", "partly", "no"]
    how: str


def plan_separation(cell: Cell, kind: FabricKind) -> tuple[Separation, ...]:
    """Of a cell's fabric; ``kind`` is the best that any of its pools uses."""
    if cell.racks is not None and kind == "roce":
        return _on_racks(cell.racks)
    return _SEPARATION[kind]


def shared_part(racks: Racks) -> float:
    """Part of a rail that transfers keep while a burst of storage traffic is under way: the weight of their queue.

    Training servers on the same leaves take nothing of the servers' own rails, but of uplinks and of buffers.
    """
    if not (racks.storage_on_rails or racks.training_on_leaves):
        return 1.0
    lossless, lossy = roce("lossless_weight"), roce("lossy_weight")
    return lossless / (lossless + lossy)


def _on_racks(racks: Racks) -> tuple[Separation, ...]:
    part = f"{shared_part(racks):.0%}"
    queues = f"only by queues: while it bursts, transfers keep {part} of a rail"
    on_rails = "they have NICs of their own; rails carry addresses of the RDMA ranges only"
    return (
        Separation(
            traffic="storage",
            kept_apart="partly" if racks.storage_on_rails else "yes",
            how=queues if racks.storage_on_rails else on_rails,
        ),
        Separation(
            traffic="training",
            kept_apart="no" if racks.training_on_leaves else "yes",
            how="its RoCE is lossless too and shares queue, buffers and pauses with ours: a pause of its receivers "
            "spreads to our senders"
            if racks.training_on_leaves
            else "no training server is plugged into these leaves",
        ),
        Separation(
            traffic="model loading",
            kept_apart="partly" if racks.storage_on_rails else "yes",
            how=queues if racks.storage_on_rails else "weights come over the servers' own NIC",
        ),
        Separation(traffic="other tenants", kept_apart="yes", how="there are none: leaves and cables are owned"),
    )


_SEPARATION: dict[FabricKind, tuple[Separation, ...]] = {
    "efa": (
        Separation(
            traffic="storage", kept_apart="partly",
            how="storage runs over IP on card 0 only; KV transfer uses every card, card 0's EFA too where the card "
                "has one, so a storage burst can delay that card's part of a transfer",
        ),
        Separation(
            traffic="training", kept_apart="partly",
            how="other security group, subnet and nodes, so no training pod reaches these NICs; EFA's switches are "
                "AWS's and shared, so congestion there is not excluded",
        ),
        Separation(
            traffic="model loading", kept_apart="partly",
            how="weights come over IP on card 0, and before a worker is ready; a worker that loads beside a serving "
                "one shares card 0 with it",
        ),
        Separation(traffic="other tenants", kept_apart="no", how="EFA is a shared fabric; only a placement group or "
            "reservation bounds who is near"),
    ),
    "roce": (
        Separation(traffic="storage", kept_apart="yes", how="storage runs over gVNIC; the RDMA NICs stand in a VPC "
            "of their own that takes no IP traffic but RoCE"),
        Separation(traffic="training", kept_apart="yes", how="a RoCE VPC of its own, and whole nodes; reservation "
            "blocks bound who shares a switch"),
        Separation(traffic="model loading", kept_apart="yes", how="weights come over gVNIC"),
        Separation(traffic="other tenants", kept_apart="partly", how="the provider queues and marks; we cannot set "
            "PFC, ECN or DSCP there"),
    ),
    "tcp": (
        Separation(traffic="storage", kept_apart="no", how="everything shares the node's IP interfaces"),
        Separation(traffic="training", kept_apart="partly", how="other security group, subnet and nodes"),
        Separation(traffic="model loading", kept_apart="no", how="everything shares the node's IP interfaces"),
        Separation(traffic="other tenants", kept_apart="no", how="ordinary cloud network"),
    ),
}  # fmt: skip
