"""What is left of a tier while some of its nodes are away."""

import math

from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.plan.placement import NodeGroupPlan
from inferfab.plan.pools import PoolPlan
from inferfab.record import Record


class Keeps(Record):
    """Capacity of one tier during a step, over all cells that serve it."""

    tier: str
    workers: int
    """Of the role that a step takes most of."""
    of: int
    percent: float
    """Of what is desired: the least of its roles."""
    needs_percent: float
    """Share that the planned load uses (the pools' utilization)."""
    cells_left: int
    """Cells that serve the tier without being touched."""
    left_in_cell: int
    """Workers of that role that are left in the cell itself. None: what is sent there has to go elsewhere before."""

    @property
    def kept(self) -> bool:
        """Whether the planned load still fits, so that the tier's promises hold as at its busiest hour.

        Where nothing is left in the cell: once its traffic is elsewhere.
        """
        return self.percent >= self.needs_percent


def keeps(fleet: FleetPlan, cell: CellPlan, lost_nodes: dict[str, int]) -> tuple[Keeps, ...]:
    """Tiers that lose something.

    :param lost_nodes: nodes of the cell's groups that are away at a time.

    A worker dies with any of its nodes; half-empty nodes are not repacked, so each lost node takes as many workers as
    it can hold. Each role of a pool counts for itself; a tier has what its scarcest role has.
    """
    found = []
    for tier in fleet.tiers:
        pools = [pool for pool in fleet.pools if pool.tier == tier.name]
        if not any(g.pool in {p.name for p in pools if p.cell == cell.name} and lost_nodes.get(g.name) for g in
                   cell.node_groups):  # fmt: skip
            continue
        worst: tuple[float, int, int] | None = None
        left_here: list[int] = []
        for role in {group.role for one in fleet.cells for group in one.node_groups if _serves(group, pools)}:
            groups = [g for one in fleet.cells for g in one.node_groups if g.role == role and _serves(g, pools)]
            whole = sum(_workers(fleet, g) for g in groups)
            lost = sum(_lost(fleet, g, lost_nodes.get(g.name, 0)) for g in groups if g.cell == cell.name)
            here = sum(_workers(fleet, g) for g in groups if g.cell == cell.name)
            if here:
                left_here.append(here - lost)
            share = 100.0 * (whole - lost) / whole if whole else 0.0
            if worst is None or share < worst[0]:
                worst = (share, whole - lost, whole)
        assert worst is not None
        needed = 100.0 * max((pool.workload.utilization for pool in pools), default=0.0)
        others = {pool.cell for pool in pools} - {cell.name}
        found.append(
            Keeps(
                tier=tier.name,
                workers=worst[1],
                of=worst[2],
                percent=worst[0],
                needs_percent=needed,
                cells_left=len(others),
                left_in_cell=min(left_here, default=0),
            )
        )
    return tuple(found)


def _serves(group: NodeGroupPlan, pools: list[PoolPlan]) -> bool:
    return any((pool.cell, pool.name) == (group.cell, group.pool) for pool in pools)


def _workers(fleet: FleetPlan, group: NodeGroupPlan) -> int:
    """Desired workers on a group; of shared pools their nodes, which hold a mixture."""
    pool = next(p for p in fleet.pools if (p.cell, p.name) == (group.cell, group.pool))
    role = next((r for r in pool.roles if r.role == group.role), None)
    return role.workers.desired if role else group.nodes.desired


def _lost(fleet: FleetPlan, group: NodeGroupPlan, nodes: int) -> int:
    if not nodes:
        return 0
    whole = _workers(fleet, group)
    if group.nodes_per_worker > 1:
        return min(whole, math.ceil(nodes / group.nodes_per_worker))
    return min(whole, nodes * max(1, group.workers_per_node))
