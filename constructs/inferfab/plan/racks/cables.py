"""What follows from the inventory alone, before anything is placed: rails, cables, oversubscription."""

from inferfab.catalog.instances import RailNics, instances
from inferfab.environment.racks import Racks

RDMA_PREFIX = "rdma"
"""Of extended resources; also the shared device plugin's own."""


def cabling(racks: Racks) -> dict[str, list[tuple[str, str, float]]]:
    """(leaf, port, metres) of each rail, in order, by server."""
    return {
        name: [(cable.leaf, port, cable.length_m) for cable in server.cables for port in cable.ports]
        for name, (_, server) in racks.servers.items()
    }


def nic_gbps(machine: str) -> float:
    nics = instances("racks")[machine].nics
    assert isinstance(nics, RailNics)
    return nics.rdma_gbps_each


def oversubscription(racks: Racks) -> float:
    """The same before there is a plan: transfers are sized by it."""
    rate = nic_gbps(racks.machine)
    into = dict.fromkeys(racks.leaves, 0.0)
    for rails in cabling(racks).values():
        for on, _, _ in rails:
            into[on] = into.get(on, 0.0) + rate
    if sum(1 for gbps in into.values() if gbps) < 2:
        return 1.0
    ratios = []
    for name, leaf in racks.leaves.items():
        out = len(leaf.uplinks.ports) * leaf.uplinks.gbps if leaf.uplinks else 0
        ratios.append(into[name] / out if out else 1.0)
    return max(1.0, *ratios)


def rail_resource(attach: str, index: int) -> str:
    """Shared devices come all at once, virtual functions a rail each."""
    return f"{RDMA_PREFIX}/roce" if attach == "macvlan" else f"{RDMA_PREFIX}/rail_{index}"


def rail_device(racks: Racks, index: int) -> str:
    """RDMA device of a rail."""
    return racks.devices[index] if index < len(racks.devices) else f"mlx5_{index}"
