"""Cells: one zone, one cluster, one fabric, its pools and gateways."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from inferfab.environment.base import Cidr, Count, Input, Items, Name, PositiveCount, contradiction, matching
from inferfab.environment.pools import PoolInCell
from inferfab.environment.racks import Racks


class NewNetwork(Input):
    """A network of the cell's own."""

    kind: Literal["new"] = "new"
    cidr: Cidr
    """Range of the cell, /16 to /20; subnets are cut from it. Cells must not overlap."""
    egress: Literal["nat", "none"] = "nat"
    """How nodes reach the internet. Default `nat`. `none` needs `images.mirror`, in a registry that the endpoints
    reach: the foundation can be made without one, the platform not.
    """
    second_zone: str | None = None
    """Zone beside the cell's, on AWS: EKS wants interfaces of its control plane in two; no node stands there. Default:
    the region's first other zone. Write it where EKS refuses that one (`UnsupportedAvailabilityZoneException`, which
    names those it takes): zone letters are per account, and `use1-az3`, `usw1-az2` and `cac1-az3` have no control
    planes.
    """


class ExistingNetwork(Input):
    """A network that somebody else owns; we add security groups, no endpoints and no routes."""

    kind: Literal["existing"]
    vpc_id: Annotated[str, Field(min_length=3, max_length=200)]
    """AWS `vpc-…`, Google network name."""
    cidr: Cidr
    """The network's range, for overlap checks and rules."""
    node_subnet_ids: Annotated[Items[str], Field(min_length=1)]
    """Subnets of system nodes, in at least two zones on AWS (the control plane wants two)."""
    inference_subnet_id: str
    """Subnet of the GPU nodes, in the cell's zone."""
    public_subnet_ids: Items[str] = ()
    """Subnets of the load balancer, one a zone. Default: an internal load balancer in the node subnets, which then are
    one a zone, too.
    """


Network = Annotated[NewNetwork | ExistingNetwork, Field(discriminator="kind")]


AddonName = Literal[
    "vpc-cni", "kube-proxy", "eks-pod-identity-agent", "coredns", "aws-ebs-csi-driver", "eks-node-monitoring-agent"
]


class Cluster(Input):
    """The cell's Kubernetes cluster."""

    kubernetes: Annotated[
        str, matching(r"^1\.[0-9]{2}$", 'write a Kubernetes minor version in quotes, like "1.36"')
    ] = "1.36"
    """Minor version, quoted. Default: 1.36."""
    existing: (
        Annotated[
            str,
            matching(
                r"^[0-9A-Za-z][A-Za-z0-9_-]*$",
                "write the cluster's name: letters, digits, dashes and underscores, starting with a letter or digit",
            ),
        ]
        | None
    ) = None
    """Name of a cluster that is already there. Default: we make one."""
    ami_release: (
        Annotated[
            str,
            matching(
                r"^1\.[0-9]{2}\.[0-9]+-[0-9]{8}$",
                "write a release of the EKS-optimized images (Kubernetes patch version, dash, day), like "
                "1.36.1-20261014",
            ),
        ]
        | None
    ) = None
    """Release of the EKS-optimized images, `1.36.1-20261014`, of the cluster's `kubernetes`. Default: the newest when a
    group is made; a later one does not roll nodes by itself, but EKS takes the newest of that day whenever the launch
    template or `kubernetes` changes. Write it for GPU nodes, and raise it in the same change as those: the provider
    sends a release to EKS only when it changes.
    """
    addons: dict[
        AddonName,
        Annotated[
            str, matching(r"^v\d+\.\d+\.\d+-eksbuild\.\d+$", "write a version of EKS's, like v1.22.4-eksbuild.1")
        ],
    ] = {}
    """Versions of EKS's add-ons in a cluster of ours, by name: `{vpc-cni: v1.22.4-eksbuild.1}`. Default, each: EKS's
    default for `kubernetes`, looked up by every plan, so it changes with `kubernetes`, and when AWS names another one.
    """


class EfaFabric(Input):
    """AWS Elastic Fabric Adapter: the RDMA path of P and larger G instances."""

    kind: Literal["efa"]
    plugin: Literal["device-plugin", "dranet"] = "device-plugin"
    """Who hands EFA interfaces to pods. Default: the device plugin (pods are privileged); `dranet` needs
    Kubernetes 1.34.
    """


Dscp = Annotated[int, Field(ge=0, le=63)]
PriorityCode = Annotated[int, Field(ge=1, le=7)]
"""Priority of Ethernet frames; 0 is that of everything else."""


class EcnThresholds(Input):
    """When a leaf marks packets of the lossless queue."""

    min_bytes: Annotated[int, Field(ge=1_000, le=100_000_000)]
    """Below this nothing is marked."""
    max_bytes: Annotated[int, Field(ge=1_000, le=100_000_000)]
    """Above it everything."""
    mark_percent: Annotated[int, Field(ge=1, le=100)]
    """Share of marked packets just below the upper threshold."""

    @model_validator(mode="after")
    def _ordered(self) -> "EcnThresholds":
        if self.max_bytes < self.min_bytes:
            raise contradiction(
                f"max_bytes {self.max_bytes:,} is below min_bytes {self.min_bytes:,}",
                f"write `max_bytes: {self.min_bytes}` or more",
            )
        return self


class RoceFabric(Input):
    """RoCEv2: RDMA over Ethernet on a network of its own (Google A3 Ultra, A4, A4X; owned racks)."""

    kind: Literal["roce"]
    rdma_cidr: Cidr | None = None
    """Range of the RDMA subnets, one a NIC. Default: the upper half of the cell's range; owned racks must name it."""
    attach: Literal["dranet", "networks"] | None = None
    """Google: how pods reach the NICs. Default `dranet`: a claim for the NICs beside the pod's GPUs. `networks`: all of
    a node by annotation, for workers that fill a node.
    """
    dscp: Dscp = 26
    """DSCP of RoCE data, where the fabric lets us mark. Default: 26."""
    priority: PriorityCode = 3
    """Its priority, traffic class, queue and priority group on owned racks. Default: 3."""
    cnp_dscp: Dscp = 48
    """DSCP of congestion notifications on owned racks. Default: 48."""
    cnp_priority: PriorityCode = 6
    """Their priority; strict, and not lossless. Default: 6."""
    congestion_control: Literal["dcqcn", "pfc_only"] = "dcqcn"
    """Owned racks: `dcqcn` slows senders by ECN marks; `pfc_only` leaves it to pauses, for a fabric of one leaf.
    Default: dcqcn.
    """
    ecn: EcnThresholds | None = None
    """Owned racks. Default: SONiC's own for lossless traffic, 1 MiB to 2 MiB at 5 %."""
    host_mtu: Annotated[int, Field(ge=1280, le=9216)] | None = None
    """MTU of the servers' NICs and of the pods' interfaces. Default: 9000 on owned racks; Google's is fixed."""
    switch_mtu: Annotated[int, Field(ge=1280, le=9216)] | None = None
    """MTU of the leaves' ports, which is checked there and not set. Default: 9216."""


class TcpFabric(Input):
    """No RDMA. Fine for aggregated pools; disaggregation pays for it in TTFT, and the plan says how much."""

    kind: Literal["tcp"]


Fabric = Annotated[EfaFabric | RoceFabric | TcpFabric, Field(discriminator="kind")]


class SystemNodes(Input):
    """Nodes for the gateway, operators, routers and metrics: no GPUs."""

    instance: str | None = None
    """Machine type. Default: m7i.2xlarge on AWS, n2-standard-8 on Google."""
    count: Annotated[PositiveCount, Field(le=100)] = 3
    """Default: 3."""


class Gateways(Input):
    """The cell's own entrance."""

    replicas: Count = 2
    """Default: 2, on different nodes."""
    public: bool = True
    """Reachable from the internet through the cell's load balancer. Default: yes; the only public entrance."""


class Cell(Input):
    """The unit of placement, blast radius, upgrade and routing weight."""

    cloud: Literal["aws", "gcp"]
    """Cloud of the cell; it needs an account under `accounts`."""
    region: str
    """Region name, `us-east-1`."""
    zone: str
    """Zone name. GPU capacity, EFA and RoCE do not cross it."""
    network: Network
    """A network of the cell's own (`new`), or one that is there (`existing`)."""
    cluster: Cluster = Cluster()
    fabric: Fabric | None = None
    """Default: EFA on AWS, RoCE on Google, when a pool's machine has it; otherwise TCP."""
    traffic_share: Annotated[float, Field(ge=0, le=1)] | None = None
    """Share of the environment's traffic. Default: equal among the cells that name none."""
    system_nodes: SystemNodes = SystemNodes()
    gateways: Gateways = Gateways()
    racks: Racks | None = None
    """Owned racks that join the cell's EKS cluster as hybrid nodes; its pools then stand on them. Default: none."""
    pools: Annotated[dict[Name, PoolInCell | None], Field(min_length=1)]
    """Pools that run here; each may say what differs here."""

    @property
    def machines(self) -> Literal["aws", "gcp", "racks"]:
        """Whose machine types its pools stand on."""
        return "racks" if self.racks is not None else self.cloud
