"""The way between a public subnet and the internet, and the NAT through which private subnets share it."""

from inferfab.aws.values import EVERYWHERE, Name, RouteTableId, SubnetId, VpcId
from inferfab.record import Record
from inferfab.terraform import Construct, ITerraformDependable
from inferfab.terraform.aws.vpc import Eip, InternetGateway, NatGateway, Route


class InternetAccessSpec(Record):
    """A VPC's internet gateway."""

    name: Name
    vpc_id: VpcId
    public_subnet_id: SubnetId
    public_route_table_id: RouteTableId
    nat_for: dict[str, RouteTableId] = {}
    """Route tables, by a name that stays, of private subnets that may open connections to the internet. Default:
    none, and no NAT gateway.
    """


class InternetAccess(Construct):
    """An internet gateway for one public subnet and, where private subnets go out, one NAT gateway in it.

    One NAT gateway and not one a zone: what it serves stands in one zone, and with that zone all of it is down.

    Example::

        from inferfab.aws.nat import InternetAccess, InternetAccessSpec

        InternetAccess(
            stack,
            "internet",
            InternetAccessSpec(
                name="prod-use1-a",
                vpc_id="vpc-0a1b2c3d4e5f60718",
                public_subnet_id="subnet-0a1b2c3d4e5f60718",
                public_route_table_id="rtb-0a1b2c3d4e5f60718",
                nat_for={"inference": "rtb-0f1e2d3c4b5a60718"},
            ),
        )
    """

    def __init__(self, scope: Construct, id: str, spec: InternetAccessSpec) -> None:
        super().__init__(scope, id)
        tags = {"Name": spec.name}
        gateway = InternetGateway(self, "gateway", vpc_id=spec.vpc_id, tags=tags)
        way_in = Route(
            self,
            "public",
            route_table_id=spec.public_route_table_id,
            destination_cidr_block=EVERYWHERE,
            gateway_id=gateway.id,
        )
        self.public_ready: tuple[ITerraformDependable, ...] = (way_in,)
        """What an internet-facing load balancer depends on: the route, and through it the gateway."""
        self.ready: tuple[ITerraformDependable, ...] = ()
        """What nodes that go out through NAT depend on: routes, and through them NAT and internet gateway."""
        self.nat_address: str | None = None
        """The address that the internet sees, for allow lists of others; None without NAT."""
        if spec.nat_for:
            # AWS refuses a public address, and a NAT gateway never works, before the VPC has its internet gateway.
            address = Eip(self, "address", domain="vpc", tags=tags, depends_on=[gateway])
            nat = NatGateway(
                self,
                "nat",
                allocation_id=address.id,
                subnet_id=spec.public_subnet_id,
                tags=tags,
                depends_on=[gateway],
            )
            ways_out = [
                Route(self, name, route_table_id=table, destination_cidr_block=EVERYWHERE, nat_gateway_id=nat.id)
                for name, table in spec.nat_for.items()
            ]
            self.ready = (way_in, *ways_out)
            self.nat_address = address.public_ip
