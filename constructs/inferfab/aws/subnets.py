"""A subnet with a route table of its own."""

from inferfab.aws.values import Name, Range, VpcId
from inferfab.record import Record
from inferfab.terraform import Construct, ITerraformDependable
from inferfab.terraform.aws.vpc import RouteTable, RouteTableAssociation, Subnet


class RoutedSubnetSpec(Record):
    """One subnet."""

    name: Name
    """Value of the tag ``Name`` of the subnet and its route table."""
    vpc_id: VpcId
    cidr: Range
    zone: str
    """Zone name, ``us-east-1a``."""
    tags: dict[str, str] = {}
    """More tags of the subnet, for those who look subnets up by tag. Default: none."""


class RoutedSubnet(Construct):
    """A subnet that reaches its VPC and nothing else, until somebody adds a route to its table.

    Nothing in it gets a public address by itself.

    Example::

        from inferfab.aws.subnets import RoutedSubnet, RoutedSubnetSpec

        RoutedSubnet(
            stack,
            "batch",
            RoutedSubnetSpec(name="batch", vpc_id="vpc-0a1b2c3d4e5f60718", cidr="10.16.96.0/20", zone="us-east-1a"),
        )
    """

    def __init__(self, scope: Construct, id: str, spec: RoutedSubnetSpec) -> None:
        super().__init__(scope, id)
        subnet = Subnet(
            self,
            "subnet",
            vpc_id=spec.vpc_id,
            cidr_block=spec.cidr,
            availability_zone=spec.zone,
            map_public_ip_on_launch=False,
            tags={**spec.tags, "Name": spec.name},
        )
        routes = RouteTable(self, "routes", vpc_id=spec.vpc_id, tags={"Name": spec.name})
        association = RouteTableAssociation(self, "association", subnet_id=subnet.id, route_table_id=routes.id)
        self.subnet_id = subnet.id
        self.route_table_id = routes.id
        self.ready: tuple[ITerraformDependable, ...] = (association,)
        """What users of the subnet's routes depend on; it waits for subnet and table."""
