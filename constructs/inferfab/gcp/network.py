"""The network of a cell: nodes and pods, a way out, and a network of its own for each further gVNIC."""

from typing import Annotated

from pydantic import Field

from inferfab.aws.optional import optional
from inferfab.record import Record
from inferfab.terraform import Construct
from inferfab.terraform.google import compute

_MTU = 8896
"""gVNIC takes jumbo frames up to this; weights come over it."""
HEALTH_CHECKERS = ("35.191.0.0/16", "130.211.0.0/22")
"""From where Google's load balancers ask (Cloud Load Balancing: firewall rules)."""


class CellNetworkSpec(Record):
    """What :class:`CellNetwork` needs."""

    name: Annotated[str, Field(pattern=r"^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$")]
    project: str
    region: str
    system_cidr: str
    inference_cidr: str
    """Of GPU nodes."""
    pod_cidr: str
    """Of all pods of the cluster."""
    service_cidr: str
    gvnic_cidrs: tuple[str, ...] = ()
    """Of networks for the second and further gVNICs of GPU nodes. Default: none."""
    nat: bool = True
    """A way out to the internet. Default: yes."""
    gateway_ports: tuple[int, ...] = ()
    """Ports of the gateway that the load balancer's checkers reach. Default: none."""


class CellNetwork(Construct):
    """A VPC of the cell's own; private nodes, logged flows, Google's APIs reached without a public address.

    Example::

        from inferfab.gcp.network import CellNetwork, CellNetworkSpec

        CellNetwork(
            stack,
            "network",
            CellNetworkSpec(
                name="prod-usc1-c",
                project="example-inference",
                region="us-central1",
                system_cidr="10.48.4.0/22",
                inference_cidr="10.48.64.0/22",
                pod_cidr="10.48.80.0/20",
                service_cidr="10.48.68.0/22",
            ),
        )
    """

    def __init__(self, scope: Construct, construct_id: str, spec: CellNetworkSpec) -> None:
        super().__init__(scope, construct_id)
        self._spec = spec
        network = self._network("network", spec.name)
        system = self._subnet("system", network, f"{spec.name}-system", spec.system_cidr, pods=True)
        inference = self._subnet("inference", network, f"{spec.name}-inference", spec.inference_cidr)
        self.gvnic_networks: list[tuple[str, str]] = []
        """(network, subnet) of each further gVNIC."""
        further = []
        for n, cidr in enumerate(spec.gvnic_cidrs, start=1):
            name = f"{spec.name}-gvnic-{n}"
            own = self._network(f"gvnic-{n}-network", name)
            further.append(self._subnet(f"gvnic-{n}", own, name, cidr))
            self._inside(f"gvnic-{n}-inside", own, name, (cidr,))
            self.gvnic_networks.append((name, name))
        self._inside("inside", network, spec.name, (spec.system_cidr, spec.inference_cidr, spec.pod_cidr))
        if spec.gateway_ports:
            compute.ComputeFirewall(
                self,
                "health-checks",
                name=f"{spec.name}-health-checks",
                project=spec.project,
                network=network.id,
                description="Health checks of Google's load balancers",
                direction="INGRESS",
                source_ranges=list(HEALTH_CHECKERS),
                allow=[{"protocol": "tcp", "ports": [str(port) for port in spec.gateway_ports]}],
            )
        if spec.nat:
            self._way_out(network)
        self.id = network.id
        self.system_subnet, self.inference_subnet = system.id, inference.id
        self.ready = (system, inference, *further)
        """What the cluster waits for."""

    def _network(self, construct_id: str, name: str) -> compute.ComputeNetwork:
        return compute.ComputeNetwork(
            self,
            construct_id,
            name=name,
            project=self._spec.project,
            auto_create_subnetworks=False,
            routing_mode="REGIONAL",
            mtu=_MTU,
        )

    def _subnet(
        self, construct_id: str, network: compute.ComputeNetwork, name: str, cidr: str, *, pods: bool = False
    ) -> compute.ComputeSubnetwork:
        ranges: list[compute.ComputeSubnetworkSecondaryIpRange] = [
            {"range_name": "pods", "ip_cidr_range": self._spec.pod_cidr},
            {"range_name": "services", "ip_cidr_range": self._spec.service_cidr},
        ]
        return compute.ComputeSubnetwork(
            self,
            construct_id,
            name=name,
            project=self._spec.project,
            region=self._spec.region,
            network=network.id,
            ip_cidr_range=cidr,
            private_ip_google_access=True,
            log_config={
                "aggregation_interval": "INTERVAL_10_MIN",
                "flow_sampling": 0.1,
                "metadata": "INCLUDE_ALL_METADATA",
            },
            secondary_ip_range=optional(ranges if pods else None),
        )

    def _inside(self, construct_id: str, network: compute.ComputeNetwork, name: str, ranges: tuple[str, ...]) -> None:
        """Nodes and pods talk to each other; nobody else comes in."""
        compute.ComputeFirewall(
            self,
            construct_id,
            name=f"{name}-inside",
            project=self._spec.project,
            network=network.id,
            description="Nodes and pods of the cell among themselves",
            direction="INGRESS",
            source_ranges=list(ranges),
            allow=[{"protocol": "tcp"}, {"protocol": "udp"}, {"protocol": "icmp"}],
        )

    def _way_out(self, network: compute.ComputeNetwork) -> None:
        spec = self._spec
        router = compute.ComputeRouter(
            self, "router", name=f"{spec.name}-router", project=spec.project, region=spec.region, network=network.id
        )
        compute.ComputeRouterNat(
            self,
            "nat",
            name=f"{spec.name}-nat",
            project=spec.project,
            region=spec.region,
            router=router.name,
            nat_ip_allocate_option="AUTO_ONLY",
            source_subnetwork_ip_ranges_to_nat="ALL_SUBNETWORKS_ALL_IP_RANGES",
            log_config={"enable": True, "filter": "ERRORS_ONLY"},
        )
