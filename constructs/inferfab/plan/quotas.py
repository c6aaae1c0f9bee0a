"""What a fleet asks of an AWS account's quotas."""

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pydantic import NonNegativeFloat

from inferfab.catalog.instances import instances
from inferfab.catalog.quotas import Market, vcpu_quota
from inferfab.catalog.system_nodes import machine_size
from inferfab.record import Record

if TYPE_CHECKING:
    from inferfab.plan.fleet import CellPlan, FleetPlan
    from inferfab.plan.placement import NodeGroupPlan

SYSTEM_DISK_GIB = 100
"""Root disk of a node without GPUs."""
SYSTEM_GROWTH = 2
"""A system node group may grow to so many times its size."""


class QuotaAsk(Record):
    """What one cell, or one pool of it, needs of a quota."""

    cell: str
    pool: str | None = None
    """None: the cell itself."""
    desired: NonNegativeFloat
    maximum: NonNegativeFloat


class QuotaNeed(Record):
    """What the fleet needs of one quota in one region."""

    quota: str
    """Name in the catalog's quotas."""
    region: str
    within: str | None = None
    """Zone, cluster or node group that the quota is for; None: the whole region."""
    asks: tuple[QuotaAsk, ...]

    @property
    def desired(self) -> float:
        return sum(ask.desired for ask in self.asks)

    @property
    def maximum(self) -> float:
        return sum(ask.maximum for ask in self.asks)

    @property
    def key(self) -> str:
        """Under which the account's granted value stands in what was observed: it is the same for every zone."""
        return observed_key(self.region, self.quota)

    @property
    def use_key(self) -> str:
        """Under which stands what others in the account use of it."""
        return observed_key(self.region, self.quota, self.within)


def observed_key(region: str, quota: str, within: str | None = None) -> str:
    """``aws:us-east-1:vcpu_on_demand_p``, or with a zone or cluster behind it."""
    return ":".join(("aws", region, quota, *((within,) if within else ())))


class Uncounted(Record):
    """Machines of which no source says what they count towards."""

    region: str
    cell: str
    pool: str
    instance: str
    market: Market


Key = tuple[str, str, str | None]


def quota_needs(fleet: "FleetPlan") -> tuple[QuotaNeed, ...]:
    """Every quota that the fleet's AWS cells count towards, at the desired size and at max."""
    asks: dict[Key, list[QuotaAsk]] = defaultdict(list)
    for cell in fleet.cells:
        if cell.cloud == "aws":
            for quota, within, ask in (*_cell(cell), *_nodes(cell)):
                asks[(cell.region, quota, within)].append(ask)
    order = sorted(asks, key=lambda key: (key[0], key[1], key[2] or ""))
    return tuple(
        QuotaNeed(quota=quota, region=region, within=within, asks=tuple(asks[(region, quota, within)]))
        for region, quota, within in order
    )


def uncounted(fleet: "FleetPlan") -> tuple[Uncounted, ...]:
    """Machines that enter no vCPU quota above although AWS counts them."""
    return tuple(
        Uncounted(region=g.region, cell=g.cell, pool=g.pool, instance=g.instance, market=market)
        for g in fleet.node_groups
        if g.cloud == "aws"
        and (market := _market(g)) is not None
        and (vcpu_quota(g.instance, market) is None or instances("aws")[g.instance].vcpus is None)
    )


def _market(group: "NodeGroupPlan") -> Market | None:
    """None for capacity blocks, which no vCPU quota counts. An ODCR counts whether or not anything runs in it."""
    kind = group.capacity.kind
    return "spot" if kind == "spot" else "on_demand" if kind in ("on_demand", "reservation") else None


def _cell(cell: "CellPlan") -> Iterator[tuple[str, str | None, QuotaAsk]]:
    one = QuotaAsk(cell=cell.name, desired=1, maximum=1)
    if cell.network.existing_id is None:
        yield "vpcs", None, one
        if cell.network.egress == "nat":
            yield "elastic_ips", None, one
            yield "nat_gateways_per_zone", cell.zone, one
    yield "network_load_balancers", None, one
    yield "target_groups", None, one
    if not cell.cluster_exists:
        yield "eks_clusters", None, one
    groups = 1 + sum(g.cloud == "aws" for g in cell.node_groups)
    yield "eks_node_groups_per_cluster", cell.cluster, QuotaAsk(cell=cell.name, desired=groups, maximum=groups)


def _nodes(cell: "CellPlan") -> Iterator[tuple[str, str | None, QuotaAsk]]:
    system, size = cell.system_nodes, machine_size("aws", cell.system_instance)
    quota = vcpu_quota(cell.system_instance, "on_demand")
    if size is not None and quota is not None:
        vcpus = size.cpu_millis / 1000 * system
        yield quota, None, QuotaAsk(cell=cell.name, desired=vcpus, maximum=vcpus * SYSTEM_GROWTH)
    disks = SYSTEM_DISK_GIB / 1024 * system
    yield "ebs_gp3_tib", None, QuotaAsk(cell=cell.name, desired=disks, maximum=disks * SYSTEM_GROWTH)
    for group in cell.node_groups:
        if group.cloud != "aws":
            continue
        who = {"cell": cell.name, "pool": group.pool}
        nodes = group.nodes
        machine, market = instances("aws")[group.instance], _market(group)
        counts = vcpu_quota(group.instance, market) if market else None
        if counts and machine.vcpus:
            vcpus_each = machine.vcpus
            yield counts, None, QuotaAsk(**who, desired=nodes.desired * vcpus_each, maximum=nodes.max * vcpus_each)
        tib = group.root_disk_gib / 1024
        yield "ebs_gp3_tib", None, QuotaAsk(**who, desired=nodes.desired * tib, maximum=nodes.max * tib)
        within = f"{cell.cluster}/{group.name}"
        yield "eks_nodes_per_node_group", within, QuotaAsk(**who, desired=nodes.desired, maximum=nodes.max)
