"""Two FleetPlans to the review of one environment. Works without a cloud, a plan or a cluster."""

from collections.abc import Callable, Iterable
from typing import Literal

from inferfab.environment.money import Budget
from inferfab.plan.cost import CostPlan, Money, TokenCost
from inferfab.plan.difference import FleetDifference, difference
from inferfab.plan.fleet import FleetPlan
from inferfab.plan.placement import NodeGroupPlan
from inferfab.plan.pools import PoolPlan
from inferfab.plan.quantities import Range
from inferfab.record import Record
from inferfab.review.engine import engine_changes
from inferfab.review.findings import FindingsReview
from inferfab.review.fleet_destruction import fleet_destruction
from inferfab.review.lines import (
    Axis,
    Destruction,
    EngineChange,
    GpuLine,
    MoneyLine,
    Opening,
    PriceLine,
    ServedLine,
    TokenLine,
    Unseen,
)
from inferfab.review.span import NOTHING, UNKNOWN, Span

State = Literal["new", "changed", "unchanged", "removed", "broken", "not compared"]
"""``not compared``: nothing is known of before; ``broken``: there is no plan of after."""


class FleetReview(Record):
    """What a change of the environment file does to its fleet."""

    environment: str
    file: str
    """Path of the environment file as people know it; empty for a saved plan."""
    base: str
    """What it is compared with, in words."""
    state: State
    gpus: tuple[GpuLine, ...] = ()
    money: tuple[MoneyLine, ...] = ()
    tokens: tuple[TokenLine, ...] = ()
    served: tuple[ServedLine, ...] = ()
    engine: tuple[EngineChange, ...] = ()
    other: tuple[EngineChange, ...] = ()
    """Decided values that differ and belong to no pool's engine: routing, cells, network, prices."""
    destroyed: tuple[Destruction, ...] = ()
    opened: tuple[Opening, ...] = ()
    prices: tuple[PriceLine, ...] = ()
    not_included: tuple[str, ...] = ()
    budget: Budget | None = None
    budget_before: Budget | None = None
    findings: FindingsReview
    unseen: tuple[Unseen, ...] = ()

    def cost(self, size: Literal["desired", "max"]) -> MoneyLine | None:
        return next((m for m in self.money if m.scope == "all" and m.size == size), None)


def fleet_review(
    before: FleetPlan | None,
    after: FleetPlan | None,
    *,
    file: str,
    base: str,
    findings: FindingsReview,
    unseen: tuple[Unseen, ...] = (),
    base_known: bool = True,
) -> FleetReview:
    """Review one environment. ``before`` None with ``base_known`` means that it is new.

    ``after`` None means that it was taken away (``before`` is then set).
    """
    only = after or before
    assert only is not None
    diff = difference(before, after) if before and after else None
    engine = engine_changes(before, after, diff)
    absent = NOTHING if base_known else Span(min=UNKNOWN, desired=UNKNOWN, max=UNKNOWN)
    return FleetReview(
        environment=only.ownership.name,
        file=file,
        base=base,
        state=_state(before, after, diff, base_known=base_known),
        gpus=tuple(_gpu_lines(before, after, absent)),
        money=tuple(_money_lines(before, after, absent.desired)),
        tokens=_token_lines(before, after),
        served=_served_lines(before, after),
        engine=engine.of_pools,
        other=engine.other,
        destroyed=fleet_destruction(before, after),
        opened=_opened(before, after),
        prices=_prices(before, after),
        not_included=only.cost.not_included,
        budget=after.cost.budget if after else None,
        budget_before=before.cost.budget if before else None,
        findings=findings,
        unseen=(*unseen, *_unseen(after)),
    )


def _state(
    before: FleetPlan | None, after: FleetPlan | None, diff: FleetDifference | None, *, base_known: bool
) -> State:
    if after is None:
        return "removed"
    if before is None:
        return "new" if base_known else "not compared"
    assert diff is not None
    return "unchanged" if diff.empty else "changed"


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


def _gpu_lines(before: FleetPlan | None, after: FleetPlan | None, absent: Span) -> Iterable[GpuLine]:
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


def _money_lines(before: FleetPlan | None, after: FleetPlan | None, absent: Range) -> Iterable[MoneyLine]:
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


def _token_lines(before: FleetPlan | None, after: FleetPlan | None) -> tuple[TokenLine, ...]:
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


def _served_lines(before: FleetPlan | None, after: FleetPlan | None) -> tuple[ServedLine, ...]:
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


def _opened(before: FleetPlan | None, after: FleetPlan | None) -> tuple[Opening, ...]:
    """Gateways and cluster endpoints that the internet reaches now and did not before."""
    if after is None:
        return ()
    name, was = after.ownership.name, {c.name: c for c in before.cells} if before else {}
    found = [
        Opening(subject=c.name, stack=name, kind="network", what="the gateway faces the internet")
        for c in after.cells
        if c.gateway.public and not (c.name in was and was[c.name].gateway.public)
    ]
    access = after.ownership.access
    if access.kind == "public" and (before is None or before.ownership.access != access):
        ranges = ", ".join(str(r) for r in access.allowed_cidrs)
        what = f"clusters' endpoints answer {ranges} from the internet"
        if (
            before is None
            or before.ownership.access.kind != "public"
            or not set(access.allowed_cidrs) <= set(before.ownership.access.allowed_cidrs)
        ):
            found.append(Opening(subject="access", stack=name, kind="network", what=what))
    return tuple(found)


def _prices(before: FleetPlan | None, after: FleetPlan | None) -> tuple[PriceLine, ...]:
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


def _unseen(after: FleetPlan | None) -> list[Unseen]:
    if after is None:
        return []
    found = [
        Unseen(subject=f"{p.cell}/{p.name}", what=f"no price is known: {p.price.how}")
        for p in after.pools
        if p.price.unknown
    ]
    found += [
        Unseen(
            subject=f"{p.cell}/{p.name}", what="a shared pool has no dollars per million tokens: its load is not said"
        )
        for p in after.pools
        if p.shared
    ]
    return found
