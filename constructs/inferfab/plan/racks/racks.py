"""The inventory of a cell's owned racks, decided to the last port."""

from typing import Literal

from pydantic import NonNegativeInt, PositiveFloat, PositiveInt

from inferfab.catalog.instances import RailNics, instances
from inferfab.environment.racks import Racks
from inferfab.plan.marking import Marking
from inferfab.plan.network import NetworkPlan
from inferfab.plan.placement import NodeGroupPlan
from inferfab.plan.racks.cables import cabling, oversubscription, rail_device, rail_resource
from inferfab.plan.racks.leaves import LeafPlan, plan_leaf
from inferfab.plan.racks.placing import deal
from inferfab.record import Record

RACK_LABEL = "inferfab/rack"


class RailPlan(Record):
    """One NIC of each server: a network of its own, so that a pod never has two addresses in one range."""

    index: NonNegativeInt
    interface: str
    device: str
    network: str
    """Name of the network and of its address pool."""
    pci_address: str | None
    subnet: str
    resource: str
    """Extended resource that brings it."""


class ServerPlan(Record):
    """One server."""

    name: str
    rack: str
    node_group: str | None
    """None: no pool needs it at its largest."""
    leaves: tuple[str, ...]
    """Leaf of each rail."""


class RackPlan(Record):
    """One rack and its own entrance."""

    name: str
    servers: tuple[str, ...]
    leaves: tuple[str, ...]
    roles: tuple[str, ...]
    """``pool/role`` that it holds at the desired size."""
    spills_to: tuple[str, ...]
    """Other racks, the nearest first. Requests never leave the cell."""
    gateway: str
    """Name of the gateway's instances that are pinned to it."""
    gateways: PositiveInt


class RacksPlan(Record):
    """Owned racks of a cell."""

    machine: str
    nic: str
    nic_gbps: PositiveFloat
    attach: Literal["macvlan", "sriov"]
    node_cidr: str
    pod_cidr: str
    rails: tuple[RailPlan, ...]
    addresses_per_node: PositiveInt
    """Of a rail's pool, set aside for each node."""
    leaves: tuple[LeafPlan, ...]
    racks: tuple[RackPlan, ...]
    servers: tuple[ServerPlan, ...]
    oversubscription: PositiveFloat
    """How many times the line rate of servers exceeds that of uplinks, at worst; 1 where no transfer leaves a leaf."""
    complete_pools: tuple[str, ...]
    """Pools of which every rack holds every role, even at the smallest size."""
    vfs_per_nic: PositiveInt
    """Virtual functions, where pods get such: two for each worker of a server, while one graph replaces another."""
    storage_on_rails: bool
    training_on_leaves: bool
    trust_anchor_arn: str | None
    profile_arn: str | None


def plan_racks(racks: Racks, network: NetworkPlan, marking: Marking, groups: tuple[NodeGroupPlan, ...]) -> RacksPlan:
    """Decide the racks of a cell whose node groups are known."""
    machine = instances("racks")[racks.machine]
    nics = machine.nics
    assert isinstance(nics, RailNics) and marking.switch is not None
    lossless = marking.switch.lossless_packet_bytes
    leaves = tuple(
        plan_leaf(name, leaf, racks, int(nics.rdma_gbps_each), lossless_mtu=lossless)
        for name, leaf in racks.leaves.items()
    )
    by_rack = {name: list(rack.servers) for name, rack in racks.racks.items()}
    desired = deal(by_rack, [(g.name, g.nodes.desired) for g in groups])
    spare = {name: [s for s in servers if s not in desired] for name, servers in by_rack.items()}
    further = deal(spare, [(g.name, g.nodes.max - g.nodes.desired) for g in groups])
    wired = cabling(racks)
    servers = tuple(
        ServerPlan(
            name=name,
            rack=rack,
            node_group=desired.get(name) or further.get(name),
            leaves=tuple(leaf for leaf, _, _ in wired[name]),
        )
        for name, (rack, _) in racks.servers.items()
    )
    return RacksPlan(
        machine=machine.name,
        nic=nics.nic,
        nic_gbps=nics.rdma_gbps_each,
        attach=racks.attach,
        node_cidr=racks.node_cidr,
        pod_cidr=racks.pod_cidr,
        rails=tuple(_rail(n, racks, network) for n in range(nics.rdma_count)),
        addresses_per_node=_addresses(machine.gpu_count),
        leaves=leaves,
        racks=tuple(_rack(name, n, racks, desired, servers, groups) for n, name in enumerate(racks.racks)),
        servers=servers,
        oversubscription=oversubscription(racks),
        complete_pools=_complete(by_rack, groups),
        vfs_per_nic=2 * max([1, *(g.workers_per_node for g in groups)]),
        storage_on_rails=racks.storage_on_rails,
        training_on_leaves=racks.training_on_leaves,
        trust_anchor_arn=racks.roles_anywhere.trust_anchor_arn if racks.roles_anywhere else None,
        profile_arn=racks.roles_anywhere.profile_arn if racks.roles_anywhere else None,
    )


def _complete(by_rack: dict[str, list[str]], groups: tuple[NodeGroupPlan, ...]) -> tuple[str, ...]:
    least = deal(by_rack, [(g.name, g.nodes.min) for g in groups])
    found = []
    for pool in dict.fromkeys(g.pool for g in groups):
        mine = {g.name for g in groups if g.pool == pool}
        holds = [{least[s] for s in servers if s in least} & mine for servers in by_rack.values()]
        if all(held == mine for held in holds):
            found.append(pool)
    return tuple(found)


def _addresses(gpus: int) -> int:
    """A pod a GPU at most, twice while one graph replaces another; a power of two, as blocks are cut."""
    return int(2 ** (2 * gpus - 1).bit_length())


def _rail(index: int, racks: Racks, network: NetworkPlan) -> RailPlan:
    cidrs = network.cidrs("rdma")
    return RailPlan(
        index=index,
        interface=racks.interfaces[index] if index < len(racks.interfaces) else f"rail{index}",
        device=rail_device(racks, index),
        network=f"rail-{index}",
        pci_address=racks.pci_addresses[index] if index < len(racks.pci_addresses) else None,
        subnet=cidrs[index],
        resource=rail_resource(racks.attach, index),
    )


def _rack(
    name: str,
    position: int,
    racks: Racks,
    dealt: dict[str, str],
    servers: tuple[ServerPlan, ...],
    groups: tuple[NodeGroupPlan, ...],
) -> RackPlan:
    mine = [server for server in servers if server.rack == name]
    held = {dealt[server.name] for server in mine if server.name in dealt}
    others = [other for other in racks.racks if other != name]
    names = list(racks.racks)
    return RackPlan(
        name=name,
        servers=tuple(server.name for server in mine),
        leaves=tuple(dict.fromkeys(leaf for server in mine for leaf in server.leaves)),
        roles=tuple(f"{g.pool}/{g.role}" for g in groups if g.name in held),
        spills_to=tuple(sorted(others, key=lambda other: abs(names.index(other) - position))),
        gateway=f"gateway-{name}",
        gateways=racks.gateways_per_rack,
    )
