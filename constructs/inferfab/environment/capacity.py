"""How GPU capacity is bought."""

from typing import Annotated, Literal

from pydantic import Field

from inferfab.environment.base import Input, Usd, UtcTime, matching


class OnDemand(Input):
    """Paid by the second, available when the cloud has it."""

    kind: Literal["on_demand"] = "on_demand"


class Spot(Input):
    """Cheaper, and taken back at short notice."""

    kind: Literal["spot"]


class Reservation(Input):
    """Capacity that is already reserved in the cell's zone (AWS ODCR, Google reservation)."""

    kind: Literal["reservation"]
    id: Annotated[str, Field(min_length=1, max_length=200)]
    """AWS `cr-…`; Google: reservation name."""
    block: str | None = None
    """Google: reservation block to target (closest placement). Default: any block."""


class CapacityBlock(Input):
    """AWS Capacity Block: bought up front for fixed days, not refundable."""

    kind: Literal["capacity_block"]
    id: Annotated[str, matching(r"^cr-[0-9a-f]{8,17}$", "write the id of the reservation, like cr-0a1b2c3d4e5f60001")]
    """The reservation that the purchase made."""
    ends_at: UtcTime
    """When it ends, UTC, `2027-01-31T11:30:00Z`. EC2 takes the machines 30 minutes before."""
    starts_at: UtcTime | None = None
    """When it begins, UTC. Default: unknown; then nobody is told that it has not begun."""
    drain_lead_minutes: Annotated[int, Field(ge=40, le=1440)] = 75
    """Minutes before `ends_at` at which the group is scaled to zero. Default 75: answers in flight may take 30, EC2
    takes the machines 30 before the end, and nodes need a while to go. EKS itself does it at 40.
    """
    usd_per_instance_hour: Usd | None = None
    """Up-front fee over instances and hours. Default: unknown, and the plan shows a range."""


Capacity = Annotated[OnDemand | Spot | Reservation | CapacityBlock, Field(discriminator="kind")]


class Owned(Input):
    """Servers that stand in racks of the team's own. Never written in a file: an inventory says it."""

    kind: Literal["owned"] = "owned"


PlannedCapacity = Annotated[OnDemand | Spot | Reservation | CapacityBlock | Owned, Field(discriminator="kind")]
