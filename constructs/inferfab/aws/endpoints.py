"""VPC endpoints: AWS's APIs and S3 without a way through the internet."""

from typing import Annotated

from pydantic import Field, model_validator

from inferfab.aws import endpoint_policies
from inferfab.aws.rules import Peer, let_in, security_group
from inferfab.aws.values import Name, Ports, Range, RouteTableId, SubnetId, VpcId, range_id
from inferfab.record import Record
from inferfab.terraform import Construct, ITerraformDependable
from inferfab.terraform.aws.sts import DataCallerIdentity, DataPartition
from inferfab.terraform.aws.vpc import VpcEndpoint, VpcEndpointArguments

Service = Annotated[str, Field(pattern=r"^[a-z0-9]+([.-][a-z0-9]+)*$", max_length=60)]
"""Last part of ``com.amazonaws.<region>.<service>``: ``ecr.api``."""

BESIDE_NAT = ("ec2", "ecr.api", "ecr.dkr", "logs", "sts")
"""What carries much, or what a node needs to join: kept off the NAT gateway, which bills each GB and can fail."""
WITHOUT_NAT = (
    "autoscaling",  # cluster autoscaler
    "ec2",  # VPC CNI, EBS CSI, joining
    "ecr.api",
    "ecr.dkr",
    "eks",
    "eks-auth",  # Pod Identity
    "elasticloadbalancing",  # load balancer controller
    "logs",
    "monitoring",  # the capacity number that routing looks at
    "secretsmanager",  # External Secrets
    "sts",
)
"""Everything that a cell calls (EKS user guide, "Deploy private clusters with limited internet access", and what the
cell's operators use).
"""


class VpcEndpointsSpec(Record):
    """Endpoints of one VPC."""

    name: Name
    """The security group is ``<name>-endpoints``."""
    region: str
    vpc_id: VpcId
    clients: Annotated[tuple[Range, ...], Field(min_length=1)]
    """Ranges that may use the interface endpoints, over 443."""
    interfaces: tuple[Service, ...] = ()
    """Services with an interface endpoint, each billed by the hour and subnet. Default: none."""
    subnet_ids: tuple[SubnetId, ...] = ()
    """Where the interfaces stand: one zone's subnet serves a cell of one zone."""
    s3_route_table_ids: tuple[RouteTableId, ...] = ()
    """Route tables that lead to S3 through a gateway endpoint, free of charge. Default: no S3 endpoint."""
    s3_own_account_only: bool = False
    """Let only this account's principals reach S3 (and anyone ECR's layers). Default: everyone, because registries
    such as registry.k8s.io serve their layers from public S3 buckets; who reaches them through NAT alone would lose
    them.
    """

    @model_validator(mode="after")
    def _consistent(self) -> "VpcEndpointsSpec":
        if "s3" in self.interfaces:
            raise ValueError("interfaces: s3 has a free gateway endpoint; name its route tables in s3_route_table_ids")
        if self.interfaces and not self.subnet_ids:
            raise ValueError("interfaces need subnet_ids to stand in")
        if len(set(self.interfaces)) < len(self.interfaces):
            raise ValueError("interfaces names a service twice")
        return self


class VpcEndpoints(Construct):
    """Endpoints with private DNS: clients keep using the services' ordinary names.

    Only principals of this account get through the interface endpoints.

    Example::

        from inferfab.aws.endpoints import BESIDE_NAT, VpcEndpoints, VpcEndpointsSpec

        VpcEndpoints(
            stack,
            "endpoints",
            VpcEndpointsSpec(
                name="prod-use1-a",
                region="us-east-1",
                vpc_id="vpc-0a1b2c3d4e5f60718",
                clients=("10.16.0.0/16",),
                interfaces=BESIDE_NAT,
                subnet_ids=("subnet-0a1b2c3d4e5f60718",),
                s3_route_table_ids=("rtb-0a1b2c3d4e5f60718",),
            ),
        )
    """

    def __init__(self, scope: Construct, id: str, spec: VpcEndpointsSpec) -> None:
        super().__init__(scope, id)
        self.ready: tuple[ITerraformDependable, ...] = ()
        """What clients of the endpoints depend on: each endpoint, and the rules that let clients in."""
        self.s3_prefix_list_id = self._s3(spec) if spec.s3_route_table_ids else None
        """The ranges of S3, for security group rules."""
        self.security_group_id: str | None = None
        if spec.interfaces:
            self.security_group_id = self._security_group(spec)
            self._interfaces(spec, self.security_group_id)

    def _s3(self, spec: VpcEndpointsSpec) -> str:
        arguments: VpcEndpointArguments = {
            "vpc_id": spec.vpc_id,
            "service_name": _service_name(spec.region, "s3"),
            "vpc_endpoint_type": "Gateway",
            "route_table_ids": spec.s3_route_table_ids,
            "tags": {"Name": f"{spec.name}-s3"},
        }
        if spec.s3_own_account_only:
            partition = DataPartition(self, "partition").partition
            arguments["policy"] = endpoint_policies.s3_own_account(spec.region, partition, self._account_id())
        endpoint = VpcEndpoint(self, "s3", **arguments)
        self.ready += (endpoint,)
        return endpoint.prefix_list_id

    def _security_group(self, spec: VpcEndpointsSpec) -> str:
        group = security_group(self, f"{spec.name}-endpoints", spec.vpc_id, "Interface endpoints of AWS services")
        for client in spec.clients:
            peer: Peer = {"cidr_ipv4": client}
            why = "HTTPS from the network itself"
            self.ready += (let_in(self, range_id(client), group.id, Ports(first=443), peer, why),)
        return group.id

    def _interfaces(self, spec: VpcEndpointsSpec, group_id: str) -> None:
        account_id = self._account_id()
        for service in spec.interfaces:
            arguments: VpcEndpointArguments = {
                "vpc_id": spec.vpc_id,
                "service_name": _service_name(spec.region, service),
                "vpc_endpoint_type": "Interface",
                "subnet_ids": spec.subnet_ids,
                "security_group_ids": [group_id],
                "private_dns_enabled": True,
                "tags": {"Name": f"{spec.name}-{service}"},
            }
            policy = endpoint_policies.own_account(service, account_id)
            if policy is not None:
                arguments["policy"] = policy
            self.ready += (VpcEndpoint(self, service.replace(".", "-"), **arguments),)

    def _account_id(self) -> str:
        found = self.node.try_find_child("account")
        identity = found if isinstance(found, DataCallerIdentity) else DataCallerIdentity(self, "account")
        return identity.account_id


def _service_name(region: str, service: str) -> str:
    return f"com.amazonaws.{region}.{service}"
