"""What other prices do to the plans of environments."""

from collections.abc import Iterable
from pathlib import Path

from inferfab.catalog.prices import PriceFile, priced_by
from inferfab.environment.loading import load
from inferfab.plan.fleet import FleetPlan, plan
from inferfab.plan.quantities import Range
from inferfab.record import Record


class CostEffect(Record):
    """GPU node cost of one environment a month, before and after; USD."""

    environment: str
    desired_before: Range
    desired_after: Range
    maximum_before: Range
    maximum_after: Range
    machines: tuple[str, ...] = ()
    """Pools that another machine type would be chosen for."""

    @property
    def changed(self) -> bool:
        return bool(self.machines) or (self.desired_before, self.maximum_before) != (
            self.desired_after,
            self.maximum_after,
        )


def effects(files: Iterable[Path], prices: PriceFile) -> tuple[list[CostEffect], list[str]]:
    """Effects by environment, and the files that cannot be planned as they are."""
    found, broken = [], []
    for file in files:
        loaded = load(file)
        if loaded.environment is None or loaded.broken:
            broken.append(str(file))
            continue
        before = plan(loaded.environment)
        with priced_by(prices):
            after = plan(loaded.environment)
        found.append(
            CostEffect(
                environment=before.ownership.name,
                desired_before=before.cost.total.desired.usd_per_month,
                desired_after=after.cost.total.desired.usd_per_month,
                maximum_before=before.cost.total.maximum.usd_per_month,
                maximum_after=after.cost.total.maximum.usd_per_month,
                machines=tuple(_machines(before, after)),
            )
        )
    return found, broken


def _machines(before: FleetPlan, after: FleetPlan) -> Iterable[str]:
    now = {(g.cell, g.name): g.instance for g in after.node_groups}
    for group in before.node_groups:
        other = now.get((group.cell, group.name))
        if other != group.instance:
            yield f"{group.cell}/{group.name}: {group.instance} -> {other}"
