"""Two FleetPlans to the review of one environment. Works without a cloud, a plan or a cluster."""

from typing import Literal

from inferfab.environment.money import Budget
from inferfab.plan.difference import FleetDifference, difference
from inferfab.plan.fleet import FleetPlan
from inferfab.record import Record
from inferfab.review.engine import engine_changes
from inferfab.review.findings import FindingsReview
from inferfab.review.fleet_destruction import fleet_destruction
from inferfab.review.fleet_lines import fleet_prices, gpu_lines, money_lines, served_lines, token_lines
from inferfab.review.fleet_openings import fleet_openings
from inferfab.review.gates import gates
from inferfab.review.lines import (
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
    gates: tuple[str, ...] = ()
    """What the change does to what judges it: its budget, its rules, its own prices."""
    base_broken: bool = False
    """The environment was there and had errors, so that nothing can be told from it."""
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
    base_broken: bool = False,
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
        gpus=tuple(gpu_lines(before, after, absent)),
        money=tuple(money_lines(before, after, absent.desired)),
        tokens=token_lines(before, after),
        served=served_lines(before, after),
        engine=engine.of_pools,
        other=engine.other,
        destroyed=fleet_destruction(before, after),
        opened=fleet_openings(before, after),
        prices=fleet_prices(before, after),
        not_included=only.cost.not_included,
        budget=after.cost.budget if after else None,
        budget_before=before.cost.budget if before else None,
        findings=findings,
        gates=gates(before, after),
        base_broken=base_broken,
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
