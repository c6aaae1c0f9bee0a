"""How busy a share of the traffic makes a cell."""

from collections.abc import Iterable, Iterator, Mapping

from inferfab.plan.pools import PoolPlan
from inferfab.record import Record

FULL = 1 + 1e-9
"""Busy above this is more than a cell can take; the rest is rounding."""


class CellLoad(Record):
    """One model of one tier in one cell."""

    cell: str
    tier: str
    model: str
    traffic: float
    """Share of the model's traffic in the tier."""
    capacity: float
    """Share of what serves it there, by requests a second at the low end."""
    utilization: float
    """Planned, of the whole."""

    @property
    def busy(self) -> float:
        """1: all that its workers serve."""
        return self.traffic / self.capacity * self.utilization

    def __str__(self) -> str:
        return (
            f"`{self.cell}` gets {self.traffic:.0%} of `{self.model}`'s traffic in tier `{self.tier}` with "
            f"{self.capacity:.0%} of its capacity: {self.busy:.0%} busy at the planned utilization of "
            f"{self.utilization:.0%}"
        )


def cell_loads(pools: Iterable[PoolPlan], tier: str, shares: Mapping[str, float]) -> Iterator[CellLoad]:
    """Loads of a tier's models where they have capacity.

    :param shares: of the traffic, by cell; only their proportions count.
    """
    mine = [pool for pool in pools if pool.tier == tier]
    capacity: dict[str, dict[str, float]] = {}
    for pool in mine:
        if pool.requests_per_second.low > 0:
            for model in pool.models:
                by_cell = capacity.setdefault(model, {})
                by_cell[pool.cell] = by_cell.get(pool.cell, 0.0) + pool.requests_per_second.low
    utilization = max((pool.workload.utilization for pool in mine), default=0.0)
    for model, by_cell in capacity.items():
        whole, offered = sum(by_cell.values()), sum(shares.get(cell, 0.0) for cell in by_cell)
        if not offered:
            continue  # cells that get no traffic, as while they are drained
        for cell, most in by_cell.items():
            if cell in shares:
                yield CellLoad(
                    cell=cell,
                    tier=tier,
                    model=model,
                    traffic=shares[cell] / offered,
                    capacity=most / whole,
                    utilization=utilization,
                )
