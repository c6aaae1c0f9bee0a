"""A network that somebody else owns: its ids, and endpoints where asked for. Its routes stay theirs."""

from typing import Annotated

from pydantic import Field, model_validator

from inferfab.aws.endpoints import Service, VpcEndpoints, VpcEndpointsSpec
from inferfab.aws.values import Name, Range, RouteTableId, SubnetId, VpcId
from inferfab.record import Record
from inferfab.terraform import Construct, ITerraformDependable


class ExistingNetworkSpec(Record):
    """A VPC and subnets that are already there."""

    name: Name
    """Begins the names of what is added to it."""
    vpc_id: VpcId
    cidr: Range
    """The VPC's range."""
    system_subnet_ids: Annotated[tuple[SubnetId, ...], Field(min_length=1)]
    inference_subnet_id: SubnetId
    """A private subnet in the cell's zone: instances with several interfaces get no public address."""
    control_plane_subnet_ids: tuple[SubnetId, ...] = ()
    """In at least two zones. Default: the system subnets."""
    public_subnet_ids: tuple[SubnetId, ...] = ()
    """Default: none; the load balancer is internal."""
    endpoints: tuple[Service, ...] = ()
    """Services that get an interface endpoint in the first system subnet. Default: none, the owner has what it
    takes. A service has one endpoint with private DNS a VPC, so name none that is there.
    """
    region: str | None = None
    """Needed with endpoints."""
    s3_route_table_ids: tuple[RouteTableId, ...] = ()
    """Route tables that get an S3 gateway endpoint; the one way in which their routes change. Default: none."""

    @property
    def control_plane(self) -> tuple[str, ...]:
        return self.control_plane_subnet_ids or self.system_subnet_ids

    @model_validator(mode="after")
    def _consistent(self) -> "ExistingNetworkSpec":
        if len(set(self.control_plane)) < 2:
            raise ValueError(
                "control_plane_subnet_ids must name two subnets, in two zones (or system_subnet_ids, its default): "
                "EKS refuses one"
            )
        if self.inference_subnet_id in self.public_subnet_ids:
            raise ValueError(f"inference_subnet_id {self.inference_subnet_id} is among the public subnets")
        if (self.endpoints or self.s3_route_table_ids) and self.region is None:
            raise ValueError("endpoints need the region")
        return self


class ExistingNetwork(Construct):
    """The same attributes as ``CellNetwork``, of a network that is there.

    Example::

        from inferfab.aws.existing_network import ExistingNetwork, ExistingNetworkSpec

        ExistingNetwork(
            stack,
            "network",
            ExistingNetworkSpec(
                name="prod-use1-a",
                vpc_id="vpc-0a1b2c3d4e5f60718",
                cidr="10.16.0.0/16",
                system_subnet_ids=("subnet-0a1b2c3d4e5f60718", "subnet-0a1b2c3d4e5f60719"),
                inference_subnet_id="subnet-0a1b2c3d4e5f6071a",
            ),
        )
    """

    def __init__(self, scope: Construct, id: str, spec: ExistingNetworkSpec) -> None:
        super().__init__(scope, id)
        self.vpc_id = spec.vpc_id
        self.cidr = spec.cidr
        self.public_subnet_ids = spec.public_subnet_ids
        self.system_subnet_ids = spec.system_subnet_ids
        self.control_plane_subnet_ids = spec.control_plane
        self.inference_subnet_id = spec.inference_subnet_id
        self.s3_prefix_list_id: str | None = None
        self.ready: tuple[ITerraformDependable, ...] = ()
        self.public_ready: tuple[ITerraformDependable, ...] = ()
        if spec.endpoints or spec.s3_route_table_ids:
            assert spec.region is not None
            endpoints = VpcEndpoints(
                self,
                "endpoints",
                VpcEndpointsSpec(
                    name=spec.name,
                    region=spec.region,
                    vpc_id=spec.vpc_id,
                    clients=(spec.cidr,),
                    interfaces=spec.endpoints,
                    subnet_ids=spec.system_subnet_ids[:1],
                    s3_route_table_ids=spec.s3_route_table_ids,
                ),
            )
            self.s3_prefix_list_id = endpoints.s3_prefix_list_id
            self.ready = endpoints.ready
