"""The records under one name that lead to cells: by region, then by weight."""

from collections.abc import Sequence
from typing import Annotated, Literal, Protocol, Self, TypedDict

from pydantic import Field, model_validator

from inferfab.aws.optional import optional
from inferfab.record import Record
from inferfab.terraform import Construct, Provider
from inferfab.terraform.aws import route53

Policy = Literal["latency", "geoproximity", "weighted"]
HostName = Annotated[str, Field(pattern=r"^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\.)+[a-z]{2,}$", max_length=253)]


class CellTarget(Record):
    """One cell that a name may lead to."""

    cell: str
    region: str
    load_balancer_dns_name: str | None = None
    load_balancer_zone_id: str | None = None
    """Hosted zone of the load balancer's own name."""
    address: str | None = None
    """Of a cell outside AWS, in place of both."""
    weight: Annotated[int, Field(ge=0, le=255)] = 100
    """Share among the cells of its region (all cells, where the policy is ``weighted``). Default: equal shares."""
    health_check_id: str | None = None
    """Default: the load balancer's own targets decide alone."""


class NameGroupSpec(Record):
    """What :class:`NameGroup` needs."""

    zone_id: str
    hostname: HostName
    policy: Policy
    targets: Annotated[tuple[CellTarget, ...], Field(min_length=1)]
    leave_region: bool = True
    """Default: another region answers while a region has no healthy cell. False: the nearest region answers even
    then; within it, healthy cells still come first. With ``weighted`` no cell is near: False keeps the shares
    whatever the health.
    """

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        cells = [t.cell for t in self.targets]
        twice = sorted({c for c in cells if cells.count(c) > 1})
        if twice:
            raise ValueError(f"{self.hostname} leads to a cell more than once: {', '.join(twice)}")
        return self


class Answer(TypedDict, total=False):
    """What a record answers with: a load balancer's addresses, or one that is written down."""

    alias: route53.Route53RecordAlias
    records: Sequence[str]
    ttl: float


class Target(Protocol):
    """Whatever a record may lead to."""

    @property
    def load_balancer_dns_name(self) -> str | None: ...
    @property
    def load_balancer_zone_id(self) -> str | None: ...
    @property
    def address(self) -> str | None: ...


def answer(target: Target, *, heeds_health: bool) -> Answer:
    """An address lives as long as the aliases do, 60 seconds."""
    if target.address is not None:
        return {"records": [target.address], "ttl": 60}
    name, zone = target.load_balancer_dns_name, target.load_balancer_zone_id
    assert name is not None and zone is not None
    return {"alias": {"name": name, "zone_id": zone, "evaluate_target_health": heeds_health}}


class NameGroup(Construct):
    """A hostname that leads to the nearest region, there to a cell by weight, and passes over unhealthy ones.

    Two levels, for Route 53 takes one latency record a region and a region may have several cells:
    ``<hostname>`` has a record a region that points to ``<region>.<hostname>``, which has a record a cell. With
    the policy ``weighted`` there is one level.

    Example::

        from inferfab.aws.name_group import CellTarget, NameGroup, NameGroupSpec

        group = NameGroup(
            stack,
            "priority",
            NameGroupSpec(
                zone_id="Z0123456789ABCDEFGHIJ",
                hostname="priority.llm.example.com",
                policy="latency",
                targets=(
                    CellTarget(
                        cell="use1-a",
                        region="us-east-1",
                        load_balancer_dns_name="prod-use1-a-0123456789abcdef.elb.us-east-1.amazonaws.com",
                        load_balancer_zone_id="Z26RNL4JYFTOTI",
                    ),
                ),
            ),
        )
    """

    def __init__(self, scope: Construct, id: str, spec: NameGroupSpec, *, dns: Provider | None = None) -> None:
        """:param dns: writes the records. Default: the stack's own provider."""
        super().__init__(scope, id)
        self._dns = optional(dns)
        self.records: list[route53.Route53Record] = []
        """What stands under the hostname itself; who points there waits for them."""
        if spec.policy == "weighted":
            self.records = [self._cell(t, spec.hostname, spec, heeds_health=spec.leave_region) for t in spec.targets]
            return
        for region in dict.fromkeys(t.region for t in spec.targets):
            name = f"{region}.{spec.hostname}"
            cells = [self._cell(t, name, spec, heeds_health=True) for t in spec.targets if t.region == region]
            self.records.append(self._region(region, name, spec, cells))

    def _cell(self, target: CellTarget, name: str, spec: NameGroupSpec, *, heeds_health: bool) -> route53.Route53Record:
        return route53.Route53Record(
            self,
            target.cell,
            zone_id=spec.zone_id,
            name=name,
            type="A",
            provider=self._dns,
            set_identifier=target.cell,
            weighted_routing_policy={"weight": target.weight},
            health_check_id=optional(target.health_check_id if heeds_health else None),
            **answer(target, heeds_health=heeds_health),
        )

    def _region(
        self, region: str, name: str, spec: NameGroupSpec, cells: list[route53.Route53Record]
    ) -> route53.Route53Record:
        nearest: route53.Route53RecordLatencyRoutingPolicy | None = None
        closest: route53.Route53RecordGeoproximityRoutingPolicy | None = None
        if spec.policy == "latency":
            nearest = {"region": region}
        else:
            closest = {"aws_region": region}
        return route53.Route53Record(
            self,
            region,
            zone_id=spec.zone_id,
            name=spec.hostname,
            type="A",
            provider=self._dns,
            set_identifier=region,
            alias={"name": name, "zone_id": spec.zone_id, "evaluate_target_health": spec.leave_region},
            # Route 53 refuses an alias to a name that is not there yet.
            depends_on=cells,
            latency_routing_policy=optional(nearest),
            geoproximity_routing_policy=optional(closest),
        )
