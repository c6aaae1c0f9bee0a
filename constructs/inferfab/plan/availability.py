"""How much of the time a tier serves its planned load, from replicas, cells and stated failure rates.

Nodes, cells and regions fail independently at the rates of the catalog. In a cell, a role works with what is
left of its replicas; the cell serves the smallest such share of its roles. A model in a tier is available
while the cells together still hold the planned load: the utilization's share of what is desired.

Capacity is counted in 1/1000 of the desired whole, rounded down, so the figure errs on the low side.
"""

import math
from typing import Literal

from pydantic import NonNegativeInt

from inferfab.catalog.reliability import reliability
from inferfab.plan.availability_factor import AvailabilityFactor
from inferfab.record import Record

STEPS = 1000
_GPUS_OF_MEASURED_NODE = 8

Failing = Literal["nodes", "cells", "regions"]
Distribution = dict[int, float]
"""Probability by capacity, in 1/1000 of the whole tier's desired capacity."""


class AvailabilityPlan(Record):
    """Availability of one model in one tier (the tier's figure is the lowest of its models)."""

    tier: str
    model: str
    percent: float
    """With all :attr:`factors` in it. This is what the target is held against. In plans of earlier releases: nodes,
    cells and regions only.
    """
    target_percent: float | None
    cells: NonNegativeInt
    regions: NonNegativeInt
    nodes: NonNegativeInt
    basis: str
    factors: tuple[AvailabilityFactor, ...] = ()
    """Each thing that fails as if nothing else did; empty in older plans."""
    percent_of_capacity: float | None = None
    """The part that nodes, cells and regions leave, as if requests always reached it; None in older plans."""

    @property
    def reaches_target(self) -> bool:
        return self.target_percent is None or self.percent >= self.target_percent


class RoleNodes(Record):
    """Replicas of one role in one cell as failures see them."""

    replicas: NonNegativeInt
    nodes: NonNegativeInt
    gpus_per_node: NonNegativeInt
    nodes_per_worker: NonNegativeInt = 1


class CellCapacity(Record):
    """One cell's part of a model in a tier."""

    cell: str
    region: str
    share: float
    """Of the capacity of all cells."""
    roles: tuple[RoleNodes, ...]


def node_unavailability(gpus_per_node: int) -> float:
    """The measured rate is that of nodes with 8 GPUs; failures scale with GPUs."""
    return reliability().node.unavailability * gpus_per_node / _GPUS_OF_MEASURED_NODE


def role_survival(role: RoleNodes, *, fails: bool = True) -> list[tuple[float, float]]:
    """(share of replicas left, probability). A replica lives while all its nodes do."""
    if not role.replicas or not role.nodes:
        return [(0.0, 1.0)]
    if not fails:
        return [(1.0, 1.0)]
    units = role.replicas if role.nodes_per_worker > 1 else role.nodes
    up = (1 - node_unavailability(role.gpus_per_node)) ** role.nodes_per_worker
    found = []
    for left in range(units, -1, -1):
        probability = _binomial(units, left, up)
        found.append((left / units, probability))
        if probability < 1e-15 and left < units * up:
            break
    return found


def _binomial(units: int, left: int, up: float) -> float:
    """Probability that exactly ``left`` of ``units`` are up; in logarithms, as the coefficient alone overflows."""
    if up in (0.0, 1.0):
        return float(left == units * up)
    coefficient = math.lgamma(units + 1) - math.lgamma(left + 1) - math.lgamma(units - left + 1)
    return math.exp(coefficient + left * math.log(up) + (units - left) * math.log1p(-up))


def weights(cells: tuple[CellCapacity, ...]) -> dict[str, int]:
    """Steps by cell, adding up to exactly :data:`STEPS` (largest remainders get the odd ones)."""
    whole = sum(c.share for c in cells) or 1.0
    exact = {c.cell: c.share / whole * STEPS for c in cells}
    steps = {cell: math.floor(value) for cell, value in exact.items()}
    odd = STEPS - sum(steps.values())
    for cell in sorted(exact, key=lambda c: (steps[c] - exact[c], c))[:odd]:
        steps[cell] += 1
    return steps


def cell_distribution(cell: CellCapacity, steps: int, only: Failing | None = None) -> Distribution:
    """Capacity of a cell of ``steps``: nothing while it is down, else the smallest share over its roles."""
    outcome: dict[float, float] = {1.0: 1.0}
    for role in cell.roles:
        survival = role_survival(role, fails=only in (None, "nodes"))
        merged: dict[float, float] = {}
        for share, p in outcome.items():
            for left, q in survival:
                if p * q < 1e-18:
                    continue
                key = min(share, left)
                merged[key] = merged.get(key, 0.0) + p * q
        outcome = merged
    up = 1 - reliability().cell.unavailability if only in (None, "cells") else 1.0
    found: Distribution = {0: 1 - up}
    for share, p in outcome.items():
        step = math.floor(share * steps + 1e-9)
        found[step] = found.get(step, 0.0) + p * up
    return found


def convolve(a: Distribution, b: Distribution) -> Distribution:
    found: Distribution = {}
    for x, p in a.items():
        for y, q in b.items():
            if p * q >= 1e-18:
                found[x + y] = found.get(x + y, 0.0) + p * q
    return found


def available_share(cells: tuple[CellCapacity, ...], needed_share: float, *, only: Failing | None = None) -> float:
    """Probability that the cells together hold ``needed_share`` of the desired capacity.

    :param only: as if nothing else failed; None: all three do.
    """
    total: Distribution = {0: 1.0}
    steps = weights(cells)
    region_up = 1 - reliability().region.unavailability if only in (None, "regions") else 1.0
    for region in sorted({c.region for c in cells}):
        inside: Distribution = {0: 1.0}
        for cell in cells:
            if cell.region == region:
                inside = convolve(inside, cell_distribution(cell, steps[cell.cell], only))
        mixed = {step: p * region_up for step, p in inside.items()}
        mixed[0] = mixed.get(0, 0.0) + 1 - region_up
        total = convolve(total, mixed)
    needed = max(1, math.ceil(needed_share * STEPS - 1e-9))
    return math.fsum(p for step, p in total.items() if step >= needed)


def plan_availability(
    tier: str,
    model: str,
    cells: tuple[CellCapacity, ...],
    *,
    utilization: float,
    target_percent: float | None,
    spills: bool = True,
) -> AvailabilityPlan:
    """What nodes, cells and regions leave of one model in one tier.

    :param spills: requests may go to another cell; otherwise each cell carries its own, and the figure is the
        share of requests that are served.
    """
    if spills:
        share = available_share(cells, utilization)
    else:
        whole = sum(c.share for c in cells) or 1.0
        share = math.fsum(c.share / whole * available_share((c,), utilization) for c in cells)
    rates = reliability()
    return AvailabilityPlan(
        tier=tier,
        model=model,
        percent=min(100.0, share * 100),
        target_percent=target_percent,
        cells=len(cells),
        regions=len({c.region for c in cells}),
        nodes=sum(r.nodes for c in cells for r in c.roles),
        basis=(
            f"a node with {_GPUS_OF_MEASURED_NODE} GPUs is down {rates.node.unavailability:.3%} of the time, one with "
            f"fewer in proportion to its GPUs ({rates.node.basis}), "
            f"a cell {rates.cell.unavailability:.3%} ({rates.cell.basis}), "
            f"a region {rates.region.unavailability:.3%} ({rates.region.basis})"
        ),
    )
