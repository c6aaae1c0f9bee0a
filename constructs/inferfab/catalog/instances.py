"""Instance types of the clouds, in one shape, with their network cards."""

from functools import cache
from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from inferfab.catalog.facts import DATA, FactFile, read_facts
from inferfab.catalog.gpus import Gpu, gpus
from inferfab.record import Record

Cloud = Literal["aws", "gcp", "racks"]
"""Whose machines they are; ``racks`` are servers of the team's own."""
InterfaceType = Literal["interface", "efa-only"]


class EfaNics(Record):
    """AWS: network cards that carry ENA (IP) and, where the card can, EFA (RDMA)."""

    kind: Literal["efa"] = "efa"
    cards: PositiveInt | None
    efa_interfaces: NonNegativeInt | None
    """EFA interfaces that the type supports; 0 on small sizes, ``None`` where AWS publishes no figure."""
    card0_can_efa: bool
    enis_per_card: PositiveInt | None
    """Most network interfaces on card 0."""
    ipv4_per_eni: PositiveInt | None
    layout: tuple[tuple[int, int, InterfaceType], ...] | None
    """(network_card_index, device_index, interface_type), the IP-frugal layout that AWS recommends."""


class RoceNics(Record):
    """Google Cloud: gVNIC for IP traffic, and MRDMA NICs (ConnectX) on a RoCE network of their own."""

    kind: Literal["roce"] = "roce"
    gvnic_count: PositiveInt
    gvnic_gbps: PositiveFloat
    rdma_count: NonNegativeInt
    rdma_gbps_each: NonNegativeFloat


class RailNics(Record):
    """Owned servers: an interface for IP traffic, and a NIC beside each GPU that is a rail of the RDMA fabric."""

    kind: Literal["rails"] = "rails"
    nic: str
    """Id of the adapter in ``nics.yaml``."""
    ip_gbps: PositiveFloat
    rdma_count: PositiveInt
    rdma_gbps_each: PositiveFloat


Nics = Annotated[EfaNics | RoceNics | RailNics, Field(discriminator="kind")]


class InstanceType(Record):
    """One GPU machine type. ``None`` means that no source gives the figure; a plan then says so."""

    cloud: Cloud
    name: str
    gpu: str
    """Id of the GPU in ``gpus.yaml``."""
    gpu_count: PositiveInt
    vcpus: PositiveInt | None
    memory_mib: PositiveInt | None
    local_nvme_gb: NonNegativeInt = 0
    arch: Literal["amd64", "arm64"]
    network_gbps: PositiveFloat
    """All network bandwidth of the machine, RDMA included."""
    nics: Nics
    locality_layers: NonNegativeInt | None = None
    """AWS: depth of ``topology.k8s.aws/network-node-layer-N``; ``None`` where the type reports none."""
    max_pods: PositiveInt | None = None
    """Most pods in the cloud's default IP mode, without RDMA interfaces taking a slot."""
    max_pods_with_rdma: PositiveInt | None = None
    """The same when an efa-only interface takes a slot on card 0."""
    capacity_block_only: bool = False
    """Sold only through Capacity Blocks."""
    quota_family: str | None = None
    note: str = ""
    sources: tuple[str, ...]

    @property
    def gpu_model(self) -> Gpu:
        return gpus()[self.gpu]

    @property
    def rdma_gbps(self) -> float:
        """RDMA bandwidth of the whole machine at line rate, Gbit/s; 0 where it has none.

        On AWS an EFA shares its card with ENA, so the machine's network bandwidth is the bound of both.
        """
        if not isinstance(self.nics, EfaNics):
            return self.nics.rdma_count * self.nics.rdma_gbps_each
        if not self.nics.efa_interfaces or not self.nics.cards:
            return 0.0
        return self.network_gbps * min(1.0, self.nics.efa_interfaces / max(1, self._cards_with_bandwidth()))

    @property
    def rdma_nic_count(self) -> int:
        """RDMA interfaces of the whole machine; 0 where it has none or no source says how many."""
        if not isinstance(self.nics, EfaNics):
            return self.nics.rdma_count
        return self.nics.efa_interfaces or 0

    def _cards_with_bandwidth(self) -> int:
        assert isinstance(self.nics, EfaNics)
        cards = self.nics.cards or 1
        # An ENA-only card 0 (p6-b300) is not part of the advertised RDMA bandwidth.
        return cards if self.nics.card0_can_efa else max(1, cards - 1)

    @model_validator(mode="after")
    def _layout_is_sound(self) -> "InstanceType":
        if self.gpu not in gpus():
            raise ValueError(f"GPU {self.gpu!r} is not in gpus.yaml")
        if isinstance(self.nics, EfaNics) and self.nics.layout is not None:
            slots = [(card, device) for card, device, _ in self.nics.layout]
            if len(slots) != len(set(slots)):
                raise ValueError("two interfaces share a (card, device) slot")
            if self.nics.layout[0] != (0, 0, "interface"):
                raise ValueError("card 0 device 0 must be a plain interface")
        return self


class InstanceFile(FactFile):
    instances: tuple[InstanceType, ...]


@cache
def instances(cloud: Cloud) -> dict[str, InstanceType]:
    """All GPU machine types of a cloud by name."""
    found = read_facts(DATA / f"{cloud}_instances.json", InstanceFile).instances
    return {i.name: i for i in found}
