"""Where a pool stands: its cell, and the machine, fabric and capacity that it gets there."""

from inferfab.catalog.engines import EnginePair
from inferfab.catalog.instances import InstanceType, instances
from inferfab.environment.autoscaling import Autoscaling
from inferfab.environment.capacity import Owned, PlannedCapacity
from inferfab.environment.cells import Cell
from inferfab.environment.money import PriceOverlay
from inferfab.environment.pools import Pool, PoolInCell, Workers
from inferfab.plan.engine import parallelism
from inferfab.plan.fabric import fabric_kind
from inferfab.plan.images import ImageSource
from inferfab.plan.placement import choose_instance
from inferfab.plan.transport import FabricKind
from inferfab.record import Record


class PoolContext(Record):
    """Where a pool is placed and what it may read."""

    environment: str
    cell_name: str
    cell: Cell
    pair: EnginePair
    image_registry: ImageSource
    overlay: tuple[PriceOverlay, ...]
    autoscaling: Autoscaling = Autoscaling()
    """What pools say nothing of."""

    @property
    def lodger(self) -> str | None:
        """The environment, where the cluster is somebody else's."""
        return self.environment if self.cell.cluster.existing is not None else None


class Place(Record):
    """A context with what was chosen in it."""

    context: PoolContext
    machine: InstanceType
    fabric: FabricKind
    capacity: PlannedCapacity
    generation: int = 1
    former: "Place | None" = None
    """What an older generation of its node groups was made with, while it stands."""


def place_pool(pool: Pool, here: PoolInCell | None, workers: list[Workers], where: PoolContext) -> Place:
    """Choose machine, fabric and capacity.

    :raises KeyError: if the cloud has no such machine; the checks say so beforehand.
    """
    biggest = max((parallelism(w).gpus for w in workers), default=1)
    if where.cell.racks is not None:
        # Whatever the pool asks for: there is nothing else. IF-RCK-008 says where it is not the same.
        owned = instances("racks")[where.cell.racks.machine]
        return _placed(where, owned, pool, biggest, Owned())
    machine = choose_instance(
        where.cell.cloud,
        where.cell.region,
        instance=pool.instance,
        gpu=pool.gpu,
        gpus_per_worker=biggest,
        needs_rdma=pool.topology == "disaggregated" and pool.fabric != "tcp",
    )
    if machine is None:
        raise KeyError(pool.instance or pool.gpu)
    placed = _placed(where, machine, pool, biggest, (here and here.capacity) or pool.capacity)
    if here is None:
        return placed
    former = None
    if here.former is not None:
        kept = instances(where.cell.cloud)[here.former.instance]
        former = _placed(where, kept, pool, biggest, here.former.capacity).model_copy(
            update={"generation": here.former.generation}
        )
    return placed.model_copy(update={"generation": here.generation, "former": former})


def _placed(where: PoolContext, machine: InstanceType, pool: Pool, biggest: int, capacity: PlannedCapacity) -> Place:
    moves = pool.topology == "disaggregated" or biggest > machine.gpu_count
    return Place(
        context=where,
        machine=machine,
        fabric=fabric_kind(where.cell, pool.fabric, machine, moves=moves),
        capacity=capacity,
    )
