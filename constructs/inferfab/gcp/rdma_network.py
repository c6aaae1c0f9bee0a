"""The RoCE network of a cell: a VPC with an RDMA profile, and a subnet a NIC."""

from typing import Annotated

from pydantic import Field

from inferfab.record import Record
from inferfab.terraform import Construct
from inferfab.terraform.google import compute
from inferfab.terraform.skips import skip_check

ROCE_MTU = 8896
"""The one MTU of a network with an RDMA profile (cluster-toolkit modules/network/gpu-rdma-vpc)."""


class RdmaNetworkSpec(Record):
    """What :class:`RdmaNetwork` needs."""

    name: Annotated[str, Field(pattern=r"^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$")]
    project: str
    region: str
    zone: str
    """The profile is the zone's: what stands in this network stands there."""
    cidrs: Annotated[tuple[str, ...], Field(min_length=1, max_length=16)]
    """Range of each NIC's subnet."""


class RdmaNetwork(Construct):
    """A network that takes RDMA NICs only. Google queues, marks and keeps it apart; no firewall rule applies in it.

    Example::

        from inferfab.gcp.rdma_network import RdmaNetwork, RdmaNetworkSpec

        RdmaNetwork(
            stack,
            "rdma",
            RdmaNetworkSpec(
                name="prod-usc1-c-rdma",
                project="example-inference",
                region="us-central1",
                zone="us-central1-c",
                cidrs=tuple(f"10.48.{128 + 16 * n}.0/20" for n in range(8)),
            ),
        )
    """

    def __init__(self, scope: Construct, construct_id: str, spec: RdmaNetworkSpec) -> None:
        super().__init__(scope, construct_id)
        network = compute.ComputeNetwork(
            self,
            "network",
            name=spec.name,
            project=spec.project,
            auto_create_subnetworks=False,
            routing_mode="REGIONAL",
            mtu=ROCE_MTU,
            network_profile=f"projects/{spec.project}/global/networkProfiles/{spec.zone}-vpc-roce",
        )
        skip_check(network, "CKV2_GCP_18", "networks with an RDMA profile take no firewall rules")
        subnets = []
        for n, cidr in enumerate(spec.cidrs):
            subnet = compute.ComputeSubnetwork(
                self,
                f"nic-{n}",
                name=f"{spec.name}-{n}",
                project=spec.project,
                region=spec.region,
                network=network.id,
                ip_cidr_range=cidr,
            )
            skip_check(subnet, "CKV_GCP_26", "RDMA bypasses the hosts' network stack: a flow log would be empty")
            skip_check(subnet, "CKV_GCP_74", "no route leaves this network, so no Google API is reached from it")
            subnets.append(subnet)
        self.name = spec.name
        self.subnet_names = tuple(f"{spec.name}-{n}" for n in range(len(spec.cidrs)))
        self.ready = tuple(subnets)
        """What node pools wait for."""
