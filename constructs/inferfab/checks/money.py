"""Budget and prices."""

import math
from collections.abc import Iterator

from inferfab.checks.facts import Facts
from inferfab.checks.registry import Problem, rule
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
        yield Problem(
            ("budget", field),
            f"GPU nodes cost at least ${low:,.0f} a month at the {size} size, the ceiling is ${ceiling:,.0f}",
            f"write at least {math.ceil(low):,}, or plan fewer nodes",
        )
    elif high is None or high > ceiling:
        upper = "an unknown amount" if high is None else f"${high:,.0f}"
        yield Problem(
            ("budget", field),
            f"GPU nodes may cost up to {upper} a month at the {size} size, the ceiling is ${ceiling:,.0f}",
            "give your own prices under `prices.overlay`, or plan fewer nodes",
            severity="warning",
        )


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
    for pool in facts.fleet.pools:
        if pool.price.basis == "unknown":
            yield Problem(
                ("cells", pool.cell, "pools", pool.name),
                pool.price.how,
                "add it to `prices.overlay`",
                value=pool.price.instance,
                of_key=True,
            )


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
