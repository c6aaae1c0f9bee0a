"""Budget and prices."""

from collections.abc import Iterator

from inferfab.catalog.prices import price_file
from inferfab.checks.facts import Facts
from inferfab.checks.registry import Problem, rule
from inferfab.checks.remedies import at_least, plain
from inferfab.plan.cost import Money


@rule(
    "IF-CST-001",
    "over the budget",
    joins=("environment", "cost"),
    why="the ceiling is the owner's word on what the environment may cost.",
    do="make the fleet smaller, or raise the ceiling.",
    source="budget of the environment; prices in the catalog",
)
def within_budget(facts: Facts) -> Iterator[Problem]:
    budget, cost = facts.environment.budget, facts.fleet.cost.total
    if budget is None:
        return
    yield from _compare("usd_per_month", "desired", budget.usd_per_month, cost.desired)
    if budget.usd_per_month_at_max is not None:
        yield from _compare("usd_per_month_at_max", "maximum", budget.usd_per_month_at_max, cost.maximum)


def _compare(field: str, size: str, ceiling: float, money: Money) -> Iterator[Problem]:
    low, high = money.usd_per_month.low, money.usd_per_month.high
    if low > ceiling:
        enough = high if high is not None else low
        raised = f"write at least {at_least(enough)}, or plan" if enough <= _MOST_USD else "plan"
        yield Problem(
            ("budget", field),
            f"GPU nodes cost at least {dollars(low, ceiling)} a month at the {size} size, "
            f"the ceiling is {dollars(ceiling, low)}",
            f"{raised} fewer nodes",
        )
    elif high is None or high > ceiling:
        upper = "an unknown amount" if high is None else dollars(high, ceiling)
        raised = f", or write at least {at_least(high)}" if high is not None and high <= _MOST_USD else ""
        yield Problem(
            ("budget", field),
            f"GPU nodes may cost up to {upper} a month at the {size} size, the ceiling is "
            f"{dollars(ceiling, high or 0.0)}",
            f"give your own prices under `prices.overlay`, plan fewer nodes{raised}",
            severity="warning",
        )


_MOST_USD = 1e12
"""What the format takes."""


def dollars(amount: float, beside: float) -> str:
    """Whole dollars, unless the two amounts would then read the same, or one of them as nothing."""
    if amount and (amount < 10 or round(amount) == round(beside)):
        return f"${plain(round(amount, 2) if amount >= 0.01 and round(amount, 2) != round(beside, 2) else amount)}"
    return f"${amount:,.0f}"


@rule(
    "IF-CST-002",
    "a price that nobody knows",
    severity="warning",
    joins=("cloud", "cost"),
    why="every sum that it enters has no upper end.",
    do="give your own price under `prices.overlay`.",
    source="prices in the catalog",
)
def prices_known(facts: Facts) -> Iterator[Problem]:
    seen: set[tuple[str, str, str, str]] = set()
    for pool in facts.fleet.pools:
        cell = facts.environment.cells[pool.cell]
        key = (cell.cloud, cell.region, pool.price.instance, pool.price.kind)
        if pool.price.basis == "unknown" and key not in seen:
            seen.add(key)  # one line of the overlay is a price for all of them
            if cell.racks is not None:
                fix = "add `usd_per_server_hour`, with write-off, power and room"
                yield Problem(("cells", pool.cell, "racks"), pool.price.how.partition(";")[0], fix, of_key=True)
                continue
            yield Problem(
                ("cells", pool.cell, "pools", pool.name),
                pool.price.how.partition(";")[0],
                "add under `prices.overlay`, with your own figure, source and date: "
                f"{{cloud: {cell.cloud}, instance: {pool.price.instance}, kind: {pool.price.kind}, "
                f'region: {cell.region}, usd_per_hour: 100, source: our contract, as_of: "{_as_of()}"}}',
                value=pool.price.instance,
                of_key=True,
            )


def _as_of() -> str:
    """The day of the catalog's own prices: an example that stays the same."""
    return price_file().provenance.retrieved.isoformat()


@rule(
    "IF-CST-003",
    "a price of your own that nothing uses",
    severity="warning",
    joins=("environment", "cost"),
    why="an overlay with a misspelled machine type leaves list prices in every sum.",
    do="correct it, or remove it.",
    source="inferfab's environment format",
)
def overlay_used(facts: Facts) -> Iterator[Problem]:
    groups = facts.fleet.node_groups
    for position, line in enumerate(facts.environment.prices.overlay):
        hit = any(
            (g.cloud, g.instance, g.capacity.kind) == (line.cloud, line.instance, line.kind)
            and line.region in (None, g.region)
            for g in groups
        )
        if not hit:
            yield Problem(
                ("prices", "overlay", position),
                f"no node group uses {line.instance} {line.kind} on {line.cloud}"
                + (f" in {line.region}" if line.region else ""),
                "correct or remove it",
            )
