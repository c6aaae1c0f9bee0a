"""What a change of an environment does to the gates that judge it: budget, rules, own prices."""

from collections.abc import Iterator

from inferfab.environment.money import Budget
from inferfab.plan.fleet import FleetPlan

CEILINGS = {
    "usd_per_month": "a month",
    "usd_per_month_at_max": "a month at the maximum",
    "usd_per_month_rise": "a month by one change",
}


def gates(before: FleetPlan | None, after: FleetPlan | None) -> tuple[str, ...]:
    """In words, each something that a reviewer has to agree to. Nothing where there is nothing before."""
    if before is None or after is None:
        return ()
    return (*_budget(before.cost.budget, after.cost.budget), *_rules(before, after), *_prices(before, after))


def _budget(before: Budget | None, after: Budget | None) -> Iterator[str]:
    for name, what in CEILINGS.items():
        was, is_ = (getattr(budget, name) if budget else None for budget in (before, after))
        if was is not None and is_ is None:
            yield f"budget removed: it was ${was:,.0f} {what}"
        elif was is not None and is_ is not None and is_ > was:
            yield f"budget raised from ${was:,.0f} to ${is_:,.0f} {what}"


def _rules(before: FleetPlan, after: FleetPlan) -> Iterator[str]:
    """A changed reason is shown again: it is what the reviewer agreed to."""
    for risk in after.checks:
        if risk not in before.checks:
            where = f" for pool {risk.pool}" if risk.pool else ""
            yield f"rule lowered: {risk.rule} to {risk.severity}{where}, because: {risk.reason}"


def _prices(before: FleetPlan, after: FleetPlan) -> Iterator[str]:
    """Two price lists make a saving of nothing."""
    was, is_ = _own_and_listed(before), _own_and_listed(after)
    changed = {
        machine
        for (machine, _, kind), (usd, basis) in is_.items()
        if "overlay" in (basis, *(b for key, (_, b) in was.items() if key[::2] == (machine, kind)))
        and not any(key[::2] == (machine, kind) and usd == old for key, (old, _) in was.items())
    }
    if changed:
        yield (
            f"own prices change ({', '.join(sorted(changed))}): costs before and after are from two price lists, so "
            "their difference is not what the change saves or adds"
        )


def _own_and_listed(fleet: FleetPlan) -> dict[tuple[str, str, str], tuple[object, str]]:
    """(USD an hour, basis) by machine, region and kind of capacity."""
    regions = {c.name: f"{c.cloud}:{c.region}" for c in fleet.cells}
    return {(p.price.instance, regions[p.cell], p.price.kind): (p.price.usd, p.price.basis) for p in fleet.pools}
