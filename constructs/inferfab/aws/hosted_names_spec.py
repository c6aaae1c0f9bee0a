"""What hosted names are made from: cells, tiers and the checks."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from inferfab.aws.capacity_health import CapacityAlarmSpec
from inferfab.aws.name_group import HostName, Policy
from inferfab.record import Record

Spill = Literal["never", "when_down", "any"]


class GatewayCheck(Record):
    """How Route 53's checkers, out in the internet, ask a cell's gateway whether it is up."""

    path: Annotated[str, Field(pattern=r"^/")] = "/health"
    """Has to answer with 2xx or 3xx within two seconds while the cell can serve at all, also when it is full."""
    port: Annotated[int, Field(ge=1, le=65535)] = 443
    interval_seconds: Literal[10, 30] = 30
    """Between requests of one checker; there are over a dozen. Default: 30 s. 10 s costs more."""
    failures: Annotated[int, Field(ge=1, le=10)] = 3
    """So many in a row, and a checker calls it down (or up again). Default: 3."""


class HostedCell(Record):
    """A cell that names may lead to."""

    name: str
    region: str
    hostname: HostName
    """The cell's own name: what its gateway is checked under. A tier's name would check whichever cell answers."""
    load_balancer_dns_name: str | None = None
    load_balancer_zone_id: str | None = None
    address: str | None = None
    """Of a cell outside AWS: its gateway's address, in place of a load balancer's name."""
    publishes_capacity: bool = True
    """Its free capacity is in CloudWatch. Default: yes. False: being up counts as having room."""
    public: bool = True
    """Default: its gateway can be reached from the internet. False: Route 53 cannot check it, and the load
    balancer's own target health takes the check's place.
    """
    alerts_topic_arn: str | None = None
    """SNS topic in the cell's region that hears when it is full. Default: none."""

    @model_validator(mode="after")
    def _leads_somewhere(self) -> Self:
        balancer = (self.load_balancer_dns_name is None, self.load_balancer_zone_id is None)
        if balancer not in ((True, True), (False, False)) or balancer[0] == (self.address is None):
            raise ValueError("give a load balancer's name and zone, or an address")
        return self


class CellShare(Record):
    """A cell that serves a tier."""

    cell: str
    weight: Annotated[int, Field(ge=0, le=255)] = 100
    """Share among the cells of one region, or of all where the policy is ``weighted``. Default: equal shares."""


class HostedTier(Record):
    """A tier's hostname."""

    name: str
    hostname: HostName
    spill: Spill
    """``never``: the nearest region answers, come what may. ``when_down``: another region answers while no cell
    of the nearest is up. ``any``: also while none of them has room.
    """
    cells: Annotated[tuple[CellShare, ...], Field(min_length=1)]


class HostedNamesSpec(Record):
    """What :class:`inferfab.aws.hosted_names.HostedNames` needs."""

    prefix: str
    """Begins the names of alarms and checks: the environment's name."""
    zone: HostName
    """Existing hosted zone that holds all the names."""
    private_zone: bool = False
    """Default: a public zone."""
    policy: Policy = "latency"
    """How a client is matched to a region. Default: lowest latency."""
    cells: Annotated[tuple[HostedCell, ...], Field(min_length=1)]
    tiers: Annotated[tuple[HostedTier, ...], Field(min_length=1)]
    gateway_check: GatewayCheck = GatewayCheck()
    capacity_alarm: CapacityAlarmSpec = CapacityAlarmSpec()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        cells = [c.name for c in self.cells]
        names = [c.hostname for c in self.cells] + [t.hostname for t in self.tiers]
        lists = {"cells": cells, "tiers": [t.name for t in self.tiers], "hostnames": names}
        problems = [
            f"{what} listed more than once: {', '.join(twice)}"
            for what, values in lists.items()
            if (twice := sorted({v for v in values if values.count(v) > 1}))
        ]
        problems += [f"{n} is not in the zone {self.zone}" for n in names if not n.endswith(f".{self.zone}")]
        problems += [
            f"tier {t.name} is served by {c.cell}, which is not among the cells"
            for t in self.tiers
            for c in t.cells
            if c.cell not in cells
        ]
        if problems:
            raise ValueError("; ".join(problems))
        return self
