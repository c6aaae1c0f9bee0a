"""The fabric of a cell and of each of its node groups: NICs, marking, and what it keeps apart."""

from typing import Literal

from pydantic import NonNegativeFloat, NonNegativeInt

from inferfab.catalog.instances import EfaNics, InstanceType, RailNics, RoceNics
from inferfab.environment.cells import Cell, EfaFabric
from inferfab.environment.pools import FabricChoice
from inferfab.plan.marking import Marking, plan_marking
from inferfab.plan.separation import Separation, plan_separation
from inferfab.plan.transport import FabricKind
from inferfab.record import Record

RDMA_EFFICIENCY = 0.5
"""Share of line rate that KV transfer reaches over the NICs of a whole node. Mooncake measured 190 GB/s of
8 x 400 Gbit/s, 48 % (kvcache-ai/Mooncake README); no configuration-complete figure for NIXL over EFA is public."""
TCP_GBPS = 8.0
"""One KV transfer over TCP: 1 GB/s, the lower of the 1 to 3 GB/s that Dynamo's EFA guide reports for the fallback."""


class NicPlan(Record):
    """One network interface of a node."""

    card: NonNegativeInt
    device: NonNegativeInt
    type: Literal["interface", "efa-only", "gvnic", "mrdma", "rail"]
    subnet: str
    """Name of the subnet in the cell's network plan."""
    gbps: NonNegativeFloat
    """Line rate of the card; interfaces on one card share it."""


class CellFabricPlan(Record):
    """The fabric of a cell."""

    kind: FabricKind
    plugin: Literal["device-plugin", "dranet"] | None
    marking: Marking | None
    separation: tuple[Separation, ...]
    locality_label: str
    """Node label of the smallest closeness that the platform shows; known after launch only."""
    crosses: str
    """What the fabric does not cross."""


class RoleFabricPlan(Record):
    """The NICs of a node group's nodes and each worker's part of them."""

    kind: FabricKind
    layout: tuple[NicPlan, ...]
    rdma_interfaces_per_node: NonNegativeInt
    rdma_interfaces_per_worker: NonNegativeInt
    line_gbps_per_worker: NonNegativeFloat
    """RDMA line rate that a worker's interfaces add up to (TCP: what one transfer reaches in practice)."""
    line_gbps_per_rank: NonNegativeFloat
    """A data-parallel rank's part of that. One prompt goes from one rank to one rank, and the others are busy too."""
    efficiency: NonNegativeFloat
    locality_layers: NonNegativeInt | None
    oversubscription: float = 1.0
    """How many times the line rate of servers exceeds that of uplinks, where a transfer may cross leaves."""
    shared_part: float = 1.0
    """Part of a NIC that is left to transfers while other traffic uses it too: 1 where it has NICs of its own."""
    note: str = ""

    @property
    def usable_gbps_per_worker(self) -> float:
        return self.line_gbps_per_worker * self.usable_part

    @property
    def usable_gbps_per_rank(self) -> float:
        return self.line_gbps_per_rank * self.usable_part

    @property
    def usable_part(self) -> float:
        """Of the line rate: what transfers reach, over what leaves lose, less what other traffic takes."""
        return self.efficiency * self.shared_part / self.oversubscription


def fabric_kind(cell: Cell, choice: FabricChoice, machine: InstanceType, *, moves: bool) -> FabricKind:
    """The fabric that a pool gets: what it asks for, else what the cell asks for, else what the machine has.

    :param moves: KV cache or activations travel between nodes. Where nothing does, pods get no RDMA interfaces:
        a machine often has fewer of them than workers, and they cost privileged pods and huge pages.
    """
    if choice != "auto":
        return choice
    if not moves:
        return "tcp"
    if cell.fabric is not None and (cell.fabric.kind == "tcp" or machine.rdma_gbps > 0):
        return cell.fabric.kind
    if machine.rdma_gbps > 0:
        return "efa" if cell.machines == "aws" else "roce"
    return "tcp"


def plan_cell_fabric(cell: Cell, kind: FabricKind) -> CellFabricPlan:
    """What holds for the whole cell; ``kind`` is the best that any of its pools uses."""
    plugin = None
    if kind == "efa":
        plugin = cell.fabric.plugin if isinstance(cell.fabric, EfaFabric) else "device-plugin"
    return CellFabricPlan(
        kind=kind,
        plugin=plugin,
        marking=plan_marking(cell) if kind == "roce" else None,
        separation=plan_separation(cell, kind),
        locality_label=LOCALITY_LABELS[cell.machines],
        crosses=_crosses(cell, kind),
    )


LOCALITY_LABELS = {
    "aws": "topology.k8s.aws/network-node-layer-N (deepest)",
    "gcp": "cloud.google.com/gce-topology-subblock",
    "racks": "inferfab/rack",
}
"""Node label of the smallest closeness, by whose machines they are."""


def _crosses(cell: Cell, kind: FabricKind) -> str:
    if cell.racks is not None and kind == "roce":
        return "nothing but the leaves of the inventory"
    return "neither zone nor VPC" if kind != "tcp" else "zones and VPCs, at TCP's price"


def plan_role_fabric(
    kind: FabricKind,
    machine: InstanceType,
    gpus_per_worker: int,
    ranks: int = 1,
    *,
    oversubscription: float = 1.0,
    shared_part: float = 1.0,
) -> RoleFabricPlan:
    """NIC layout of a node and the part of it that a worker of ``gpus_per_worker`` GPUs gets.

    :param ranks: data-parallel ranks of the worker.
    :param oversubscription: of the leaves that a transfer may cross.
    :param shared_part: part of a NIC that other traffic leaves.
    """
    interfaces = machine.rdma_nic_count if kind != "tcp" else 0
    nodes = max(1, -(-gpus_per_worker // machine.gpu_count))
    share = min(1.0, gpus_per_worker / machine.gpu_count)
    # At least one interface a worker: pods cannot share one.
    per_worker = max(1, int(interfaces * share)) * nodes if interfaces else 0
    line = machine.rdma_gbps / interfaces * per_worker if interfaces else 0.0
    line_of_rank = line / ranks
    note = ""
    if kind == "tcp":
        line = line_of_rank = min(TCP_GBPS, machine.network_gbps)
    elif not interfaces:
        note = f"no source says how many RDMA interfaces {machine.name} has; nothing was assumed"
    return RoleFabricPlan(
        kind=kind,
        layout=node_layout(kind, machine),
        rdma_interfaces_per_node=interfaces,
        rdma_interfaces_per_worker=per_worker,
        line_gbps_per_worker=line,
        line_gbps_per_rank=line_of_rank,
        efficiency=1.0 if kind == "tcp" else RDMA_EFFICIENCY,
        locality_layers=machine.locality_layers,
        oversubscription=oversubscription if kind == "roce" else 1.0,
        shared_part=shared_part if kind == "roce" else 1.0,
        note=note,
    )


def gvnic_subnet(position: int) -> str:
    """Google takes one interface a network: the first stands in the inference subnet, each further in its own."""
    return "inference" if position == 0 else f"gvnic-{position}"


def node_layout(kind: FabricKind, machine: InstanceType) -> tuple[NicPlan, ...]:
    """Network interfaces of a node: RDMA ones only where the fabric is used."""
    nics = machine.nics
    if isinstance(nics, RoceNics):
        plain = [
            NicPlan(card=n, device=0, type="gvnic", subnet=gvnic_subnet(n), gbps=nics.gvnic_gbps)
            for n in range(nics.gvnic_count)
        ]
        rdma = [
            NicPlan(card=nics.gvnic_count + n, device=0, type="mrdma", subnet=f"rdma-{n}", gbps=nics.rdma_gbps_each)
            for n in range(nics.rdma_count if kind == "roce" else 0)
        ]
        return tuple(plain + rdma)
    if isinstance(nics, RailNics):
        own = NicPlan(card=0, device=0, type="interface", subnet="nodes", gbps=nics.ip_gbps)
        rails = [
            NicPlan(card=1 + n, device=0, type="rail", subnet=f"rdma-{n}", gbps=nics.rdma_gbps_each)
            for n in range(nics.rdma_count if kind == "roce" else 0)
        ]
        return (own, *rails)
    assert isinstance(nics, EfaNics)
    layout = nics.layout or ((0, 0, "interface"),)
    per_card = card_gbps(machine)
    return tuple(
        NicPlan(card=card, device=device, type=type_, subnet="inference", gbps=per_card)
        for card, device, type_ in layout
        if type_ == "interface" or kind == "efa"
    )


def card_gbps(machine: InstanceType) -> float:
    """Line rate of one network card; machines with one card have all of it there."""
    if not isinstance(machine.nics, EfaNics):
        return machine.nics.rdma_gbps_each
    cards = machine.nics.cards or 1
    sharing = cards if machine.nics.card0_can_efa or cards == 1 else cards - 1
    return machine.network_gbps / sharing
