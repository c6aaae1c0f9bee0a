"""What the network of one cell is made from, and what AWS or EKS would refuse of it."""

import itertools
from typing import Literal

from pydantic import model_validator

from inferfab.aws.endpoints import BESIDE_NAT, WITHOUT_NAT, Service
from inferfab.aws.flow_logs import RetentionDays
from inferfab.aws.values import Name, Range, contains, overlaps
from inferfab.record import Record


class CellNetworkSpec(Record):
    """The network of a cell, which stands in one zone."""

    name: Name
    """Begins every name, ``prod-use1-a``."""
    region: str
    zone: str
    """The cell's zone: of its nodes, load balancer, NAT gateway and endpoints."""
    second_zone: str
    """A zone beside it, in which only the EKS control plane has interfaces: EKS wants two."""
    cidr: Range
    """Range of the VPC, /16 to /28."""
    system_cidr: Range
    control_plane_cidrs: tuple[Range, Range]
    """Subnets of the control plane's interfaces, in ``zone`` and in ``second_zone``. They need no way out."""
    inference_cidr: Range
    """Subnet of the GPU nodes and their pods: the largest."""
    public_cidr: Range | None = None
    """Subnet of an internet-facing load balancer and of the NAT gateway. Default: none, and no internet gateway."""
    egress: Literal["nat", "none"] = "nat"
    """How nodes reach the internet. Default: through one NAT gateway. ``none``: images come from ECR through the
    endpoints.
    """
    endpoints: tuple[Service, ...] | None = None
    """Services with an interface endpoint, beside S3, which always has its free gateway endpoint. Default: with NAT
    what carries much or makes a node join, without NAT everything that a cell calls.
    """
    cluster_name: str | None = None
    """Cluster whose tag the subnets get. Default: no tag."""
    flow_log_group: str | None = None
    """Default: ``/inferfab/<name>/flow-logs``."""
    flow_log_retention_days: RetentionDays = 365
    """Default: a year."""
    flow_log_traffic: Literal["ALL", "ACCEPT", "REJECT"] = "ALL"
    """Default: all traffic, at CloudWatch's price a GB."""
    flow_log_key_arn: str | None = None
    """KMS key of the flow logs, whose policy lets CloudWatch Logs use it. Default: CloudWatch's own key."""
    permissions_boundary_arn: str | None = None
    """Boundary of the flow logs' role. Default: none."""

    @property
    def subnets(self) -> dict[str, str]:
        """Range of each subnet by name."""
        first, second = self.control_plane_cidrs
        private = {
            "system": self.system_cidr,
            "control-plane-0": first,
            "control-plane-1": second,
            "inference": self.inference_cidr,
        }
        return private if self.public_cidr is None else {"public": self.public_cidr, **private}

    @property
    def interfaces(self) -> tuple[str, ...]:
        """Services that get an interface endpoint."""
        default = BESIDE_NAT if self.egress == "nat" else WITHOUT_NAT
        return default if self.endpoints is None else self.endpoints

    @model_validator(mode="after")
    def _ranges(self) -> "CellNetworkSpec":
        for name, cidr in {"vpc": self.cidr, **self.subnets}.items():
            length = int(cidr.split("/")[1])
            if not 16 <= length <= 28:
                raise ValueError(f"{name}: {cidr} is a /{length}; AWS takes /16 to /28")
        for name, cidr in self.subnets.items():
            if not contains(self.cidr, cidr):
                raise ValueError(f"subnet {name}: {cidr} is not inside the VPC's range {self.cidr}")
        for (name, cidr), (other, taken) in itertools.combinations(self.subnets.items(), 2):
            if overlaps(cidr, taken):
                raise ValueError(f"subnets {name} ({cidr}) and {other} ({taken}) overlap")
        return self

    @model_validator(mode="after")
    def _places(self) -> "CellNetworkSpec":
        for zone in (self.zone, self.second_zone):
            if not zone.startswith(self.region) or zone == self.region:
                raise ValueError(f'"{zone}" is not a zone of {self.region}')
        if self.zone == self.second_zone:
            raise ValueError(f"second_zone must be another zone than {self.zone}: EKS refuses subnets of one zone only")
        if self.egress == "nat" and self.public_cidr is None:
            raise ValueError("egress: nat needs public_cidr, the subnet in which the NAT gateway stands")
        return self
