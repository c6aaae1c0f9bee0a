"""Racks that a team owns, joined to the cell's EKS cluster as hybrid nodes: what stands where, what is plugged in."""

from typing import Annotated, Literal

from pydantic import Field

from inferfab.environment.base import Cidr, Input, Items, Name, PositiveCount, Usd, matching

Port = Annotated[str, matching(r"^Ethernet[0-9]{1,4}$", "write a port as SONiC names it, like Ethernet16")]
Metres = Annotated[float, Field(ge=0.5, le=2000)]
Interface = Annotated[
    str, matching(r"^[a-z][a-z0-9_.-]{0,14}$", "write a network interface of Linux, at most 15 characters, like rail0")
]
"""Name of a network or RDMA device in Linux."""


PciAddress = Annotated[
    str,
    matching(r"^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$", 'write a PCI address in quotes, like "0000:1a:00.0"'),
]


class Cable(Input):
    """Cables from one server to one leaf: NICs in order, from the first that no earlier entry took."""

    leaf: Name
    """Name under `leaves`."""
    ports: Annotated[Items[Port], Field(max_length=64)]
    """Ports of the leaf, one a NIC."""
    length_m: Metres
    """Length of the cables. Buffers of the ports follow from it."""


class Server(Input):
    """One server."""

    cables: Annotated[Items[Cable], Field(min_length=1)]


class Rack(Input):
    """One rack. Its neighbours in the file are its neighbours on the floor: requests spill to the nearest."""

    servers: Annotated[dict[Name, Server], Field(min_length=1)]
    """By host name, which becomes the node's."""


class Uplinks(Input):
    """Ports of a leaf that lead to other leaves."""

    ports: Items[Port]
    """Ports of the leaf."""
    gbps: Literal[100, 200, 400, 800]
    """Speed of each."""
    length_m: Metres
    """Length of these cables."""


class Leaf(Input):
    """One leaf switch that runs SONiC."""

    platform: str
    """SONiC's name of the model, `x86_64-nvidia_sn5600-r0` (`show platform summary`)."""
    hwsku: str
    """Hardware SKU of its configuration, `Mellanox-SN5600-O128`: buffer tables belong to it."""
    uplinks: Uplinks | None = None
    """Default: none; then all NICs of the cell must be on this leaf."""


class RolesAnywhere(Input):
    """How servers get AWS credentials: certificates of a CA that IAM Roles Anywhere trusts. Made beforehand."""

    trust_anchor_arn: Annotated[
        str,
        matching(
            r"^arn:aws[a-z-]*:rolesanywhere:[a-z0-9-]+:[0-9]{12}:trust-anchor/[0-9a-f-]{36}$",
            "write the ARN of the trust anchor",
        ),
    ]
    """ARN of the trust anchor."""
    profile_arn: Annotated[
        str,
        matching(
            r"^arn:aws[a-z-]*:rolesanywhere:[a-z0-9-]+:[0-9]{12}:profile/[0-9a-f-]{36}$",
            "write the ARN of the profile",
        ),
    ]
    """ARN of the profile that lets the servers take their role."""


class Racks(Input):
    """Owned racks of a cell: all pools of the cell stand on them."""

    machine: str
    """Server model of the catalog, `dgx-h200`; all servers of a cell are alike."""
    node_cidr: Cidr
    """Range of the servers' own addresses, which the VPC has a route to."""
    pod_cidr: Cidr
    """Range of the pods on them, which the VPC has a route to."""
    attach: Literal["macvlan", "sriov"] = "macvlan"
    """How pods reach the NICs, all rails each; UCX takes those beside the pod's GPUs. Default `macvlan`: on shared RDMA
    devices. `sriov`: a virtual function a rail of their own.
    """
    interfaces: Annotated[Items[Interface], Field(max_length=64)] = ()
    """Network interface of each rail, the same on all servers. Default: rail0, rail1 and so on."""
    devices: Annotated[Items[Interface], Field(max_length=64)] = ()
    """RDMA device of each rail. Default: mlx5_0, mlx5_1 and so on."""
    pci_addresses: Annotated[Items[PciAddress], Field(max_length=64)] = ()
    """PCI address of each rail's NIC. Default: not stated; NIC settings then go to every NIC of the model, those for
    storage too.
    """
    storage_on_rails: bool = False
    """Storage or model loading uses the rails, too. Default: no, they have NICs of their own."""
    training_on_leaves: bool = False
    """Training servers are plugged into the same leaves. Default: no."""
    gateways_per_rack: Annotated[PositiveCount, Field(le=10)] = 2
    """Instances of the gateway pinned to each rack. Default: 2."""
    usd_per_server_hour: Usd | None = None
    """What one server costs an hour: write-off, power, room. Default: unknown, and the plan says so."""
    roles_anywhere: RolesAnywhere | None = None
    """Default: none; node configuration then has a place to fill in."""
    leaves: Annotated[dict[Name, Leaf], Field(min_length=1)]
    """Leaf switches by host name."""
    racks: Annotated[dict[Name, Rack], Field(min_length=1, max_length=64)]
    """Racks in the order in which they stand."""

    @property
    def servers(self) -> dict[str, tuple[str, Server]]:
        """Rack and server by the server's name, in order."""
        return {name: (rack, server) for rack, each in self.racks.items() for name, server in each.servers.items()}
