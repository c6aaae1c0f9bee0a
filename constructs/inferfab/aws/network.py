"""The network of one cell: a VPC of its own in which everything is private but the load balancer's subnet."""

from inferfab.aws.endpoints import VpcEndpoints, VpcEndpointsSpec
from inferfab.aws.flow_logs import FlowLogs, FlowLogsSpec
from inferfab.aws.nat import InternetAccess, InternetAccessSpec
from inferfab.aws.network_spec import CellNetworkSpec
from inferfab.aws.subnets import RoutedSubnet, RoutedSubnetSpec
from inferfab.terraform import Construct, ITerraformDependable
from inferfab.terraform.aws.vpc import DefaultSecurityGroup, Vpc

__all__ = ["CellNetwork", "CellNetworkSpec"]


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
        self.public_ready: tuple[ITerraformDependable, ...] = ()
        self.ready: tuple[ITerraformDependable, ...] = (*system.ready, *inference.ready)
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
        self.public_ready = (*public.ready, *access.public_ready)
        if nat_for:
            self.ready += (*public.ready, *access.ready)
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
        self.ready += endpoints.ready
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
