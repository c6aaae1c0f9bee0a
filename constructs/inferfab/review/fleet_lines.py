"""Rows of two FleetPlans side by side: GPUs, dollars, dollars per million tokens, load served, prices."""

from collections.abc import Callable, Iterable

from inferfab.plan.cost import CostPlan, Money, TokenCost
from inferfab.plan.fleet import FleetPlan
from inferfab.plan.placement import NodeGroupPlan
from inferfab.plan.pools import PoolPlan
from inferfab.plan.quantities import Range
from inferfab.review.lines import Axis, GpuLine, MoneyLine, PriceLine, ServedLine, TokenLine
from inferfab.review.span import NOTHING, Span

Key = Callable[[FleetPlan, NodeGroupPlan], str]
_AXES: tuple[tuple[Axis, Key], ...] = (
    ("all", lambda f, g: "all"),
    ("type", lambda f, g: g.gpu),
    ("tier", lambda f, g: _pool(f, g).tier),
    ("role", lambda f, g: g.role),
    ("region", lambda f, g: f"{g.cloud}:{g.region}"),
    ("capacity", lambda f, g: g.capacity.kind.replace("_", " ")),
)


def _pool(fleet: FleetPlan, group: NodeGroupPlan) -> PoolPlan:
    return next(p for p in fleet.pools if (p.cell, p.name) == (group.cell, group.pool))


def gpu_lines(before: FleetPlan | None, after: FleetPlan | None, absent: Span) -> Iterable[GpuLine]:
    """Every axis; ``absent`` stands for a plan before that is not known."""
    for axis, key in _AXES:
        sums: list[dict[str, Span]] = []
        for fleet in (before, after):
            found: dict[str, Span] = {}
            for group in fleet.node_groups if fleet else ():
                assert fleet is not None
                name = key(fleet, group)
                found[name] = found.get(name, NOTHING).plus(Span.of(group.gpus))
            sums.append(found)
        for name in dict.fromkeys([*sums[0], *sums[1]]):
            was = sums[0].get(name, NOTHING if before else absent)
            yield GpuLine(axis=axis, name=name, before=was, after=sums[1].get(name, NOTHING))


_FREE = Money.hourly(Range.exact(0.0))
_NO_COST = CostPlan(desired=_FREE, maximum=_FREE)


def money_lines(before: FleetPlan | None, after: FleetPlan | None, absent: Range) -> Iterable[MoneyLine]:
    """The whole and each tier, at both sizes; ``absent`` as above, USD an hour."""
    nothing = Money.hourly(absent)
    blank = (_NO_COST if before else CostPlan(desired=nothing, maximum=nothing), _NO_COST)
    sums = [
        {"all": f.cost.total, **{f"tier {t}": c for t, c in f.cost.by_tier.items()}} if f else {}
        for f in (before, after)
    ]
    for scope in dict.fromkeys([*sums[0], *sums[1]]):
        old, new = (s.get(scope, b) for s, b in zip(sums, blank, strict=True))
        yield MoneyLine(scope=scope, size="desired", before=old.desired, after=new.desired)
        yield MoneyLine(scope=scope, size="max", before=old.maximum, after=new.maximum)


def _by_place(fleet: FleetPlan | None) -> dict[tuple[str, str], PoolPlan]:
    return {(p.cell, p.name): p for p in fleet.pools} if fleet else {}


def token_lines(before: FleetPlan | None, after: FleetPlan | None) -> tuple[TokenLine, ...]:
    """Pools that serve on either side."""
    old, new = _by_place(before), _by_place(after)

    def cost(pool: PoolPlan | None) -> TokenCost | None:
        return pool.token_cost if pool else None

    lines = []
    for place in dict.fromkeys([*old, *new]):
        was, is_ = cost(old.get(place)), cost(new.get(place))
        if was is None and is_ is None:
            continue
        lines.append(
            TokenLine(
                cell=place[0],
                pool=place[1],
                tier=(new.get(place) or old[place]).tier,
                output_before=was and was.usd_per_million_output_tokens,
                output_after=is_ and is_.usd_per_million_output_tokens,
                total_before=was and was.usd_per_million_total_tokens,
                total_after=is_ and is_.usd_per_million_total_tokens,
            )
        )
    return tuple(lines)


def served_lines(before: FleetPlan | None, after: FleetPlan | None) -> tuple[ServedLine, ...]:
    """Requests a second at the planned utilization, of pools with workers."""
    old, new = _by_place(before), _by_place(after)

    def rate(pool: PoolPlan | None) -> Range | None:
        if pool is None or not pool.roles:
            return None
        return pool.requests_per_second.times(pool.workload.utilization)

    return tuple(
        ServedLine(
            cell=place[0],
            pool=place[1],
            tier=(new.get(place) or old[place]).tier,
            before=rate(old.get(place)),
            after=rate(new.get(place)),
        )
        for place in dict.fromkeys([*old, *new])
        if rate(old.get(place)) or rate(new.get(place))
    )


def fleet_prices(before: FleetPlan | None, after: FleetPlan | None) -> tuple[PriceLine, ...]:
    """Each price once; of the plan before only those that the plan after no longer has."""
    found: dict[PriceLine, None] = {}
    for fleet in (after, before):
        regions = {c.name: f"{c.cloud}:{c.region}" for c in fleet.cells} if fleet else {}
        for pool in fleet.pools if fleet else ():
            price = pool.price
            found[
                PriceLine(
                    instance=price.instance,
                    region=regions[pool.cell],
                    kind=price.kind.replace("_", " "),
                    usd_per_hour=price.usd,
                    basis=price.basis,
                    how=price.how,
                )
            ] = None
    return tuple(found)
