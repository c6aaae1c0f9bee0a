"""How the EC2 capacity of a node group is bought, and what launch template and node group must say about it."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from inferfab.record import Record
from inferfab.terraform.aws import ec2

ReservationId = Annotated[str, Field(pattern=r"^cr-[0-9a-f]{8,17}$")]


class OnDemand(Record):
    """Paid by the second, available when EC2 has it."""

    kind: Literal["on_demand"] = "on_demand"


class Spot(Record):
    """Cheaper, and taken back at two minutes' notice."""

    kind: Literal["spot"] = "spot"


class Reservation(Record):
    """An On-Demand Capacity Reservation, or a resource group of several; never anything beside it."""

    kind: Literal["reservation"] = "reservation"
    id: ReservationId | None = None
    resource_group_arn: str | None = None
    """Group of reservations, which can grow without a new launch template."""

    @model_validator(mode="after")
    def _one_target(self) -> "Reservation":
        if (self.id is None) == (self.resource_group_arn is None):
            raise ValueError("a reservation is named by exactly one of id and resource_group_arn")
        return self


class CapacityBlock(Record):
    """A Capacity Block for ML: bought up front for fixed days."""

    kind: Literal["capacity_block"] = "capacity_block"
    id: ReservationId
    ends_at: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$")] | None = None
    """When it ends, UTC; goes into a tag of the group for those who plan its successor. EKS drains 40 minutes before.
    Default: not noted.
    """


Capacity = Annotated[OnDemand | Spot | Reservation | CapacityBlock, Field(discriminator="kind")]


def is_fixed(capacity: Capacity) -> bool:
    """Whether there are exactly so many machines: none to surge into during an update."""
    return isinstance(capacity, Reservation | CapacityBlock)


def capacity_type(capacity: Capacity) -> str:
    """What the node group says; the market of spot is named there and nowhere else."""
    if isinstance(capacity, Spot):
        return "SPOT"
    return "CAPACITY_BLOCK" if isinstance(capacity, CapacityBlock) else "ON_DEMAND"


def market(capacity: Capacity) -> ec2.LaunchTemplateArguments:
    """What the launch template says; nothing for on demand and spot, which the node group names."""
    if isinstance(capacity, CapacityBlock):
        return {
            "instance_market_options": {"market_type": "capacity-block"},
            "capacity_reservation_specification": {
                "capacity_reservation_target": {"capacity_reservation_id": capacity.id}
            },
        }
    if isinstance(capacity, Reservation):
        target: ec2.LaunchTemplateCapacityReservationSpecificationCapacityReservationTarget = {}
        if capacity.id is not None:
            target["capacity_reservation_id"] = capacity.id
        if capacity.resource_group_arn is not None:
            target["capacity_reservation_resource_group_arn"] = capacity.resource_group_arn
        return {
            "capacity_reservation_specification": {
                # Without it a full reservation would spill over to on demand, unseen and at on-demand prices.
                "capacity_reservation_preference": "capacity-reservations-only",
                "capacity_reservation_target": target,
            }
        }
    return {}
