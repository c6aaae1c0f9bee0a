"""What each loss does to each tier: capacity left, whether the planned load still fits, seconds until it is back.

Read off the plan; nothing is simulated here. Capacity is what :mod:`inferfab.plan.availability` counts: a cell serves
the smallest share that is left of any of its roles.
"""

import math
from collections.abc import Iterator
from typing import Literal

from pydantic import NonNegativeFloat

from inferfab.catalog.failures import failure_facts
from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.plan.placement import NodeGroupPlan
from inferfab.plan.pools import PoolPlan
from inferfab.plan.provisioning import provisioning
from inferfab.plan.quantities import Range
from inferfab.record import Record

LossKind = Literal["GPU", "node", "leaf", "cell", "zone", "region"]


class TierLoss(Record):
    """What one loss does to one model of one tier."""

    tier: str
    model: str
    cell_left_share: NonNegativeFloat | None
    """Of the desired capacity of the cell that it is in, by its weakest role; None where whole cells are lost."""
    left_share: NonNegativeFloat
    """Of the desired capacity of all cells together."""
    needed_share: NonNegativeFloat
    """The planned load: the utilization."""
    moves_seconds: NonNegativeFloat | None
    """Until requests that do not fit are sent elsewhere; 0 where all fit, None where nothing sends them."""

    @property
    def fits(self) -> bool:
        """The planned load is served, if need be elsewhere."""
        return self.moves_seconds is not None and self.left_share >= self.needed_share - 1e-9

    @property
    def n_plus_one(self) -> bool:
        """The cell itself still holds its planned load."""
        return self.cell_left_share is not None and self.cell_left_share >= self.needed_share - 1e-9


class Loss(Record):
    """One thing that is gone, and the worst of its kind in a place."""

    kind: LossKind
    what: str
    tiers: tuple[TierLoss, ...]
    back_seconds: Range
    """Until the capacity is back; without an upper end where nothing bounds it."""
    back_by: str


def losses(fleet: FleetPlan) -> tuple[Loss, ...]:
    """For each node group a GPU and a node; each leaf, cell, zone with several cells, and region."""
    return (
        *(loss for cell in fleet.cells for loss in _in_cell(fleet, cell)),
        *(_of_cells(fleet, "cell", cell.name, (cell.name,)) for cell in fleet.cells),
        *_places(fleet),
    )


def _in_cell(fleet: FleetPlan, cell: CellPlan) -> Iterator[Loss]:
    for group in cell.node_groups:
        if not group.nodes.desired:
            continue
        pool = next(p for p in cell.pools if p.name == group.pool)
        comes = provisioning(fleet, cell, group.pool)
        restart = comes.restart_seconds or comes.start_seconds + comes.weights_seconds
        where = f"{group.pool} {group.role} in {cell.name}"
        yield Loss(
            kind="GPU",
            what=f"a GPU of {where}",
            tiers=_hit(fleet, {(cell.name, group.name): _one_worker(pool, group)}),
            # On another GPU of the node, if the node has one to spare; else with the next node.
            back_seconds=Range(low=restart, high=None),
            back_by=f"the pod starts again ({restart} s, weights and all) once its node is healthy or replaced",
        )
        yield Loss(
            kind="node",
            what=f"a node of {where}",
            tiers=_hit(fleet, {(cell.name, group.name): 1 / group.nodes.desired}),
            back_seconds=Range(low=comes.replacement_seconds or 0, high=None),
            back_by="a person, on owned racks: nothing here brings a server"
            if comes.replacement_seconds is None
            else f"another node, if a machine is at hand: {comes.replacement_how}; the copy from the store comes "
            "on top",
        )
    if cell.racks is not None:
        for leaf in cell.racks.leaves:
            groups: dict[tuple[str, str], float] = {}
            for server in cell.racks.servers:
                if server.node_group and leaf.name in server.leaves:
                    key = (cell.name, server.node_group)
                    groups[key] = groups.get(key, 0.0) + 1 / cell.node_group(server.node_group).nodes.desired
            if groups:
                yield Loss(
                    kind="leaf",
                    what=f"leaf {leaf.name} in {cell.name}",
                    # A worker's ranks sit on all rails: without some of them its transfers fail.
                    tiers=_hit(fleet, {k: min(1.0, v) for k, v in groups.items()}),
                    back_seconds=Range(low=0, high=None),
                    back_by="a person; every server with a rail on it counts as gone, since a transfer uses all rails",
                )


def _places(fleet: FleetPlan) -> Iterator[Loss]:
    zones: dict[str, list[str]] = {}
    regions: dict[str, list[str]] = {}
    for cell in fleet.cells:
        zones.setdefault(f"{cell.cloud}:{cell.zone}", []).append(cell.name)
        regions.setdefault(f"{cell.cloud}:{cell.region}", []).append(cell.name)
    for zone, names in zones.items():
        if len(names) > 1:
            yield _of_cells(fleet, "zone", zone, tuple(names))
    for region, names in regions.items():
        yield _of_cells(fleet, "region", region, tuple(names))


def _of_cells(fleet: FleetPlan, kind: LossKind, what: str, cells: tuple[str, ...]) -> Loss:
    gone = {(g.cell, g.name): 1.0 for g in fleet.node_groups if g.cell in cells}
    return Loss(
        kind=kind,
        what=f"{kind} {what}",
        tiers=_hit(fleet, gone, cells=cells),
        back_seconds=Range(low=0, high=None),
        back_by="whoever runs it",
    )


def _one_worker(pool: PoolPlan, group: NodeGroupPlan) -> float:
    """Share of a role that goes with one GPU: the worker that holds it."""
    role = next((r for r in pool.roles if r.role == group.role), None)
    if role is None:  # a shared pool: its GPU holds slices or lanes
        return 1 / max(1, group.gpus.desired)
    return 1 / max(1, role.workers.desired)


def _hit(fleet: FleetPlan, gone: dict[tuple[str, str], float], *, cells: tuple[str, ...] = ()) -> tuple[TierLoss, ...]:
    """:param gone: share of the node groups that is lost, by cell and name.
    :param cells: those that are lost as a whole.
    """
    found = []
    for figure in fleet.availability:
        pools = [p for p in fleet.pools if p.tier == figure.tier and figure.model in p.models]
        mine = [(g, g.cell) for p in pools for g in fleet.node_groups if (g.cell, g.pool) == (p.cell, p.name)]
        hit = sorted({cell for group, cell in mine if (cell, group.name) in gone})
        size, left = dict.fromkeys((c for _, c in mine), 0), dict.fromkeys((c for _, c in mine), 1.0)
        for group, cell in mine:
            size[cell] += group.gpus.desired
            left[cell] = min(left[cell], max(0.0, 1 - gone.get((cell, group.name), 0.0)))
        if not hit or not sum(size.values()):
            continue
        here = None if cells else round(left[hit[0]], 9)
        needed = max(p.workload.utilization for p in pools)
        still = round(math.fsum(size[c] * left[c] for c in size) / sum(size.values()), 9)
        found.append(
            TierLoss(
                tier=figure.tier,
                model=figure.model,
                cell_left_share=here,
                left_share=still,
                needed_share=needed,
                moves_seconds=_moves(fleet, figure.tier, here, needed, others=len(size) > len(hit)),
            )
        )
    return tuple(found)


def _moves(fleet: FleetPlan, tier: str, here: float | None, needed: float, *, others: bool) -> float | None:
    """What sends requests elsewhere: nothing has to, a gateway that is gone, or a cell that is full."""
    if here is not None and here >= needed - 1e-9:
        return 0.0
    spill, dns = next(t.spill for t in fleet.tiers if t.name == tier), failure_facts().dns
    if not others or fleet.routing.domain is None:
        return None
    if here is None:
        return dns.failover_seconds if spill != "never" else None
    # The gateway is up, so only a tier that spills at any time is asked for room.
    return dns.spill_seconds if spill == "any" else None
