"""The network of one cell: a VPC of its own in which everything is private but the load balancer's subnet."""

import itertools
from typing import Literal

from pydantic import model_validator

from inferfab.aws.endpoints import BESIDE_NAT, WITHOUT_NAT, Service, VpcEndpoints, VpcEndpointsSpec
from inferfab.aws.flow_logs import FlowLogs, FlowLogsSpec, RetentionDays
from inferfab.aws.nat import InternetAccess, InternetAccessSpec
from inferfab.aws.subnets import RoutedSubnet, RoutedSubnetSpec
from inferfab.aws.values import Name, Range, contains, overlaps
from inferfab.record import Record
from inferfab.terraform import Construct
from inferfab.terraform.aws.vpc import DefaultSecurityGroup, Vpc


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


class CellNetwork(Construct):
    """A VPC for one cell, with subnets, routes, endpoints and flow logs. Nothing in it has a public address.

    Example::

        from inferfab.aws.network import CellNetwork, CellNetworkSpec

        CellNetwork(
            stack,
            "network",
            CellNetworkSpec(
                name="prod-use1-a",
                region="us-east-1",
                zone="us-east-1a",
                second_zone="us-east-1b",
                cidr="10.16.0.0/16",
                public_cidr="10.16.0.0/20",
                system_cidr="10.16.16.0/20",
                control_plane_cidrs=("10.16.32.0/22", "10.16.36.0/22"),
                inference_cidr="10.16.64.0/18",
                cluster_name="prod-use1-a",
            ),
        )
    """

    def __init__(self, scope: Construct, id: str, spec: CellNetworkSpec) -> None:
        super().__init__(scope, id)
        self._spec = spec
        self._vpc = Vpc(
            self,
            "vpc",
            cidr_block=spec.cidr,
            enable_dns_support=True,
            enable_dns_hostnames=True,
            tags={"Name": spec.name},
        )
        # What forgets to name its security group gets this one: no rules, no traffic.
        DefaultSecurityGroup(self, "default-group", vpc_id=self._vpc.id, tags={"Name": f"{spec.name}-unused"})
        load_balancers = "kubernetes.io/role/elb"
        public = self._subnet("public", spec.zone, **{load_balancers: "1"}) if spec.public_cidr else None
        system = self._subnet("system", spec.zone, **{"kubernetes.io/role/internal-elb": "1"})
        control_plane = [
            self._subnet("control-plane-0", spec.zone),
            self._subnet("control-plane-1", spec.second_zone),
        ]
        inference = self._subnet("inference", spec.zone)
        nodes = {"system": system.route_table_id, "inference": inference.route_table_id}
        self.nat_address: str | None = None
        if public is not None:
            self.nat_address = self._internet(public, nodes if spec.egress == "nat" else {})
        self.vpc_id = self._vpc.id
        self.cidr = spec.cidr
        self.public_subnet_ids = () if public is None else (public.subnet_id,)
        self.system_subnet_ids = (system.subnet_id,)
        self.control_plane_subnet_ids = tuple(subnet.subnet_id for subnet in control_plane)
        self.inference_subnet_id = inference.subnet_id
        self.s3_prefix_list_id = self._endpoints(system, tuple(nodes.values()))
        self._flow_logs()

    def _subnet(self, name: str, zone: str, **tags: str) -> RoutedSubnet:
        spec = self._spec
        shared = {f"kubernetes.io/cluster/{spec.cluster_name}": "shared"} if spec.cluster_name else {}
        return RoutedSubnet(
            self,
            name,
            RoutedSubnetSpec(
                name=f"{spec.name}-{name}",
                vpc_id=self._vpc.id,
                cidr=spec.subnets[name],
                zone=zone,
                tags={**tags, **shared},
            ),
        )

    def _internet(self, public: RoutedSubnet, nat_for: dict[str, str]) -> str | None:
        access = InternetAccess(
            self,
            "internet",
            InternetAccessSpec(
                name=self._spec.name,
                vpc_id=self._vpc.id,
                public_subnet_id=public.subnet_id,
                public_route_table_id=public.route_table_id,
                nat_for=nat_for,
            ),
        )
        return access.nat_address

    def _endpoints(self, system: RoutedSubnet, route_table_ids: tuple[str, ...]) -> str | None:
        spec = self._spec
        endpoints = VpcEndpoints(
            self,
            "endpoints",
            VpcEndpointsSpec(
                name=spec.name,
                region=spec.region,
                vpc_id=self._vpc.id,
                clients=(spec.cidr,),
                interfaces=spec.interfaces,
                subnet_ids=(system.subnet_id,),
                s3_route_table_ids=route_table_ids,
                s3_own_account_only=spec.egress == "none",
            ),
        )
        return endpoints.s3_prefix_list_id

    def _flow_logs(self) -> None:
        spec = self._spec
        FlowLogs(
            self,
            "flow-logs",
            FlowLogsSpec(
                name=spec.name,
                vpc_id=self._vpc.id,
                log_group_name=spec.flow_log_group or f"/inferfab/{spec.name}/flow-logs",
                retention_days=spec.flow_log_retention_days,
                traffic=spec.flow_log_traffic,
                kms_key_arn=spec.flow_log_key_arn,
                permissions_boundary_arn=spec.permissions_boundary_arn,
            ),
        )
