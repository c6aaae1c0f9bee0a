"""From pools to node groups: whole nodes, tensor parallelism within a node, one role a node."""

import math
from datetime import datetime, timedelta
from typing import Literal

from pydantic import NonNegativeInt, PositiveInt

from inferfab.catalog.instances import Cloud, InstanceType, instances
from inferfab.catalog.prices import price_table
from inferfab.environment.capacity import PlannedCapacity
from inferfab.plan.fabric import NicPlan
from inferfab.plan.quantities import Bounds
from inferfab.record import Record

Role = Literal["prefill", "decode", "worker", "shared"]


_UTC = "%Y-%m-%dT%H:%M:%SZ"
FORMER_TAINT = "inferfab/former"
"""Keeps new pods, and with them the autoscaler, off a group that a newer generation takes the place of."""


def suffix_of(generation: int) -> str:
    """What a generation adds to a group's name; the first has none."""
    return "" if generation == 1 else f"-g{generation}"


class NodeGroupPlan(Record):
    """The cloud resource that holds the nodes of one role of one pool."""

    name: str
    cell: str
    pool: str
    role: Role
    cloud: Cloud
    region: str
    zone: str
    instance: str
    gpu: str
    gpus_per_node: PositiveInt
    nodes: Bounds
    workers_per_node: NonNegativeInt
    """Whole workers on one node; 0 when a worker spans nodes or does not fit at all."""
    nodes_per_worker: PositiveInt
    idle_gpus: NonNegativeInt
    """GPUs at the desired size that no worker uses; they are paid for."""
    capacity: PlannedCapacity
    labels: dict[str, str]
    taints: dict[str, str]
    """Key to ``value:effect``; pods of the pool tolerate exactly these."""
    max_pods: PositiveInt | None
    """None where the machine image decides: it is not known, or the cluster's network plugin is somebody else's."""
    hugepages_2mi_mib: NonNegativeInt
    """Huge pages that the node sets aside, in MiB."""
    arch: Literal["amd64", "arm64"]
    local_nvme_gb: NonNegativeInt
    root_disk_gib: PositiveInt
    """Holds images, and models where there is no local NVMe."""
    layout: tuple[NicPlan, ...]
    """Network interfaces of a node."""
    generation: PositiveInt = 1
    """Of the group in the cloud, whose name ends in it from 2 on."""
    former: "NodeGroupPlan | None" = None
    """Group of an older generation that still stands beside it, tainted, until its nodes are empty: as it was made."""

    @property
    def drains_at(self) -> str | None:
        """When a Capacity Block's group is scaled to zero, UTC; None for other capacity."""
        if self.capacity.kind != "capacity_block":
            return None
        ends = datetime.fromisoformat(self.capacity.ends_at)
        return (ends - timedelta(minutes=self.capacity.drain_lead_minutes)).strftime(_UTC)

    @property
    def cloud_name(self) -> str:
        """Name of the group in the cloud."""
        return f"{self.name}{suffix_of(self.generation)}"

    @property
    def former_name(self) -> str | None:
        """Name of the group that it takes the place of; None if there is none."""
        return self.former.cloud_name if self.former else None

    @property
    def gpus(self) -> Bounds:
        return self.nodes.map(lambda n: n * self.gpus_per_node)


def workers_on_node(gpus_per_node: int, gpus_per_worker: int) -> tuple[int, int]:
    """(workers a node, nodes a worker). A worker larger than a node takes whole nodes."""
    if gpus_per_worker <= gpus_per_node:
        return gpus_per_node // gpus_per_worker, 1
    return 0, math.ceil(gpus_per_worker / gpus_per_node)


def nodes_for(workers: int, gpus_per_node: int, gpus_per_worker: int) -> int:
    """Whole nodes that ``workers`` need."""
    per_node, per_worker = workers_on_node(gpus_per_node, gpus_per_worker)
    return math.ceil(workers / per_node) if per_node else workers * per_worker


def choose_instance(
    cloud: Cloud, region: str, *, instance: str | None, gpu: str | None, gpus_per_worker: int, needs_rdma: bool
) -> InstanceType | None:
    """The named machine type, or the cheapest a GPU that holds a worker; None if the cloud has none.

    Without a price in the region the cheapest in any region decides; without any price the name does.
    """
    known = instances(cloud)
    if instance is not None:
        return known.get(instance)
    fitting = [
        i for i in known.values()
        if i.gpu == gpu and (i.rdma_gbps > 0 or not needs_rdma)
        and (i.gpu_count >= gpus_per_worker or i.rdma_gbps > 0) and not i.capacity_block_only
    ]  # fmt: skip
    # A worker that spans nodes wants the largest machine; one that does not wants no split machine.
    largest = max((i.gpu_count for i in fitting), default=0)
    whole = [i for i in fitting if i.gpu_count >= min(gpus_per_worker, largest)]
    return min(whole, key=lambda i: (_usd_per_gpu(cloud, region, i), i.name), default=None)


def _usd_per_gpu(cloud: Cloud, region: str, machine: InstanceType) -> float:
    table = price_table()
    local = table.get((cloud, region, machine.name, "on_demand"))
    if local:
        return local.usd_per_hour_high / machine.gpu_count
    others = [
        p.usd_per_hour_low for key, p in table.items() if key[0] == cloud and key[2:] == (machine.name, "on_demand")
    ]
    return min(others, default=math.inf) / machine.gpu_count
