"""How GPU nodes are bought on Google Cloud."""

from typing import Annotated, Literal

from pydantic import Field

from inferfab.record import Record
from inferfab.terraform.google import container


class OnDemand(Record):
    """When the cloud has it."""

    kind: Literal["on_demand"] = "on_demand"


class Spot(Record):
    """Taken back at 30 seconds' notice."""

    kind: Literal["spot"] = "spot"


class Reservation(Record):
    """Capacity that is reserved already; nothing else is used."""

    kind: Literal["reservation"] = "reservation"
    name: str
    block: str | None = None
    """Block of it: nodes then stand close together. Default: any block."""


Capacity = Annotated[OnDemand | Spot | Reservation, Field(discriminator="kind")]


def affinity(capacity: Capacity) -> container.ContainerNodePoolNodeConfigReservationAffinity:
    """A pool without a reservation takes none by accident."""
    if not isinstance(capacity, Reservation):
        return {"consume_reservation_type": "NO_RESERVATION"}
    block = f"/reservationBlocks/{capacity.block}" if capacity.block else ""
    return {
        "consume_reservation_type": "SPECIFIC_RESERVATION",
        "key": "compute.googleapis.com/reservation-name",
        "values": [f"{capacity.name}{block}"],
    }
