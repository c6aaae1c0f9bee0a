"""BLOCK, REVIEW or OK, why, and the exit code."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from inferfab.environment.money import Budget
from inferfab.review.fleet import FleetReview
from inferfab.review.lines import Axis, Destruction, GpuLine, Purchase
from inferfab.review.report import Reason, Verdict
from inferfab.review.stack import StackReview
from inferfab.review.words import joined, money, plural, usd_change

ALLOW_DESTROY = "inferfab:allow-destroy"
ALLOW_PURCHASE = "inferfab:allow-purchase"
_WEIGHT = {"BLOCK": 0, "REVIEW": 1, "OK": 2}


def verdict(
    fleets: Sequence[FleetReview],
    stacks: Sequence[StackReview],
    *,
    scanner_errors: int = 0,
    scanner_new: int = 0,
    scanner_problem: str = "",
    labels: Iterable[str] = (),
) -> Verdict:
    """Every reason, worst first. A label counts only for what it allows."""
    given = frozenset(labels)
    reasons = [*_invalid(fleets, stacks, scanner_problem), *_policy(fleets, stacks, scanner_errors)]
    destroyed = [*(d for f in fleets for d in f.destroyed), *(d for s in stacks for d in s.destroyed)]
    bought = [p for s in stacks for p in s.purchases]
    reasons += _destroys([d for d in destroyed if d.blocks], ALLOW_DESTROY in given)
    reasons += _buys([p for p in bought if p.irreversible], ALLOW_PURCHASE in given)
    reasons += _looks(fleets, stacks, destroyed, bought, scanner_new)
    reasons.sort(key=lambda r: (_WEIGHT[r.word], r.exit_code or 9))
    word = reasons[0].word if reasons else "OK"
    used = [label for label in (ALLOW_DESTROY, ALLOW_PURCHASE) if label in given]
    return Verdict(
        word=word,
        exit_code=min((r.exit_code for r in reasons if r.exit_code), default=0),
        why=" · ".join(r.what for r in reasons if r.word == word) if reasons else _nothing(fleets, stacks),
        reasons=tuple(reasons),
        labels=tuple(used),
    )


def _nothing(fleets: Sequence[FleetReview], stacks: Sequence[StackReview]) -> str:
    changed = any(f.state != "unchanged" for f in fleets) or any(s.changed for s in stacks)
    return "no GPUs change, nothing opens; what else costs was not looked at" if changed else "nothing changes"


def _invalid(fleets: Sequence[FleetReview], stacks: Sequence[StackReview], scanner_problem: str) -> Iterator[Reason]:
    for fleet in fleets:
        if fleet.state == "broken":
            errors = sum(
                f.severity == "error" and not f.suppressed_because
                for f in (*fleet.findings.new, *fleet.findings.existing)
            )
            yield Reason(
                word="BLOCK", exit_code=2, what=f"{fleet.environment} cannot be planned: {plural(errors, 'error')}"
            )
        if fleet.base_broken:
            what = f"{fleet.environment} has errors at the base, so nothing tells what it destroys or adds: incomplete"
            yield Reason(word="REVIEW", exit_code=2, what=what)
    for stack in stacks:
        if stack.problem:
            yield Reason(word="BLOCK", exit_code=2, what=f"the plan of {stack.name} cannot be read")
        elif stack.incomplete:
            yield Reason(word="BLOCK", exit_code=2, what=f"the plan of {stack.name} is incomplete")
    if scanner_problem:
        yield Reason(word="BLOCK", exit_code=2, what=scanner_problem)


def _policy(fleets: Sequence[FleetReview], stacks: Sequence[StackReview], scanner_errors: int) -> Iterator[Reason]:
    for fleet in fleets:
        yield from _budget(fleet)
        errors = [f for f in fleet.findings.new_errors if f.rule != "IF-CST-001"]
        if errors and fleet.state != "broken":
            yield Reason(word="BLOCK", exit_code=3, what=f"{plural(len(errors), 'new error')} in {fleet.environment}")
        old = [f for f in fleet.findings.existing if f.severity == "error" and f.rule != "IF-CST-001"]
        old = [f for f in old if not f.suppressed_because]
        if old and fleet.state != "broken":
            yield Reason(
                word="BLOCK", exit_code=3, what=f"{plural(len(old), 'error')} in {fleet.environment} before already"
            )
    if scanner_errors:
        yield Reason(word="BLOCK", exit_code=3, what=f"{plural(scanner_errors, 'new error')} of checkov")


def _budget(fleet: FleetReview) -> Iterator[Reason]:
    """Ceilings of the environment. What may be above one because of an unknown price is a matter to look at."""
    own, before = fleet.budget, fleet.budget_before
    if own is not None:
        yield from _ceilings(fleet, own, "the budget is")
    # A change does not raise its own ceiling: that is a change before it.
    if before is not None and before != own and fleet.state != "removed":
        yield from _ceilings(fleet, before, "the budget at the base is")


def _ceilings(fleet: FleetReview, budget: Budget, said: str) -> Iterator[Reason]:
    name = fleet.environment
    for size, ceiling in (("desired", budget.usd_per_month), ("max", budget.usd_per_month_at_max)):
        line = fleet.cost("desired" if size == "desired" else "max")
        if ceiling is None or line is None:
            continue
        after = line.after.usd_per_month
        if after.low > ceiling:
            yield Reason(
                word="BLOCK",
                exit_code=3,
                what=f"{name} costs {money(after)} a month at the {size} size, {said} ${ceiling:,.0f}",
            )
        elif after.high is None or after.high > ceiling:
            yield Reason(
                word="REVIEW",
                exit_code=0,
                what=f"{name} may cost {money(after)} a month at the {size} size, {said} ${ceiling:,.0f}",
            )
    line = fleet.cost("desired")
    if budget.usd_per_month_rise is not None and line is not None and fleet.state == "changed":
        rise = line.after.usd_per_month.low - line.before.usd_per_month.low
        if rise > budget.usd_per_month_rise:
            yield Reason(
                word="BLOCK",
                exit_code=3,
                what=f"{name} rises by ${rise:,.0f} a month, one change may add ${budget.usd_per_month_rise:,.0f}",
            )


def _destroys(lines: Sequence[Destruction], allowed: bool) -> Iterator[Reason]:
    if not lines:
        return
    gpus = int(sum(d.gpus_lost.desired.low for d in lines))
    what = f"destroys {plural(len(lines), 'thing')}" + (f" with {plural(gpus, 'GPU')}" if gpus else "")
    if allowed:
        yield Reason(word="REVIEW", exit_code=0, what=f"{what} (allowed by label)")
    else:
        yield Reason(word="BLOCK", exit_code=4, what=f"{what}; the label {ALLOW_DESTROY} allows it")


def _buys(lines: Sequence[Purchase], allowed: bool) -> Iterator[Reason]:
    if not lines:
        return
    cash = sum(p.upfront_usd or 0 for p in lines)
    what = f"{plural(len(lines), 'irreversible purchase')}" + (f" for at least ${cash:,.0f} at once" if cash else "")
    if allowed:
        yield Reason(word="REVIEW", exit_code=0, what=f"{what} (allowed by label)")
    else:
        yield Reason(word="BLOCK", exit_code=4, what=f"{what}; the label {ALLOW_PURCHASE} allows it")


def _looks(
    fleets: Sequence[FleetReview],
    stacks: Sequence[StackReview],
    destroyed: Sequence[Destruction],
    bought: Sequence[Purchase],
    scanner_new: int,
) -> Iterator[Reason]:
    """What somebody has to look at and nothing forbids."""

    def look(what: str) -> Reason:
        return Reason(word="REVIEW", exit_code=0, what=what)

    opened = [*(o for f in fleets for o in f.opened), *(o for s in stacks for o in s.opened)]
    lowered = [o for o in opened if o.kind == "protection"]
    if len(opened) > len(lowered):
        yield look(f"opens network or IAM in {plural(len(opened) - len(lowered), 'place')}")
    if lowered:
        yield look(f"lowers protection in {plural(len(lowered), 'place')}")
    for fleet in fleets:
        yield from (look(f"{fleet.environment}: {what}") for what in fleet.gates)
    if any(not p.irreversible for p in bought):
        yield look("buys or gives back a reservation")
    gentle = [d for d in destroyed if not d.blocks and not d.harmless]
    if gentle:
        yield look("; ".join(dict.fromkeys(f"{_PLURAL[d.action]}" for d in gentle)))
    for fleet in fleets:
        if fleet.state == "new":
            yield look(f"{fleet.environment} is new")
        if fleet.state == "not compared" and not fleet.base_broken:
            yield look(f"{fleet.environment} was compared with nothing")
        moved = _moved(fleet.gpus)
        if fleet.state == "changed" and moved:
            yield look(f"{joined(moved)} of {fleet.environment} change")
        line = fleet.cost("desired")
        if fleet.state == "changed" and line and line.changed:
            yield look(f"cost of {fleet.environment} changes by {usd_change(line)} a month")
        # An estimated availability moves with every node; a promise is what the file says.
        if any(e.section == "promises" and not e.what.startswith("availability of ") for e in fleet.engine):
            yield look(f"promises of {fleet.environment} change")
        if any(e.section in ("pool", "flags", "models", "environment", "serving") for e in fleet.engine):
            yield look(f"engines of {fleet.environment} change")
        new = [f for f in fleet.findings.new if f.severity == "warning" and not f.suppressed_because]
        if new and fleet.state != "broken" and fleet.findings.compared:
            yield look(f"{plural(len(new), 'new warning')} in {fleet.environment}")
    if scanner_new:
        yield look(f"{plural(scanner_new, 'new finding')} of checkov")
    yield from _stack_looks(stacks)


_AXES: dict[Axis, str] = {"all": "GPUs", "type": "GPU type", "region": "region", "capacity": "capacity"}


def _moved(lines: Sequence[GpuLine]) -> tuple[str, ...]:
    """What of the GPUs changes: their number; and, also where the number stays, which, where and how bought.

    More or fewer of one name is a number alone; two names that change are another choice.
    """
    changed = Counter(line.axis for line in lines if line.changed)
    return tuple(word for axis, word in _AXES.items() if changed[axis] > (axis != "all" and changed["all"]))


_PLURAL = {
    "roll nodes": "replaces nodes one after another",
    "shrink": "gives nodes back",
    "forget": "forgets resources",
}


def _stack_looks(stacks: Sequence[StackReview]) -> Iterator[Reason]:
    def total(number: int, what: str) -> Iterator[Reason]:
        if number:
            yield Reason(word="REVIEW", exit_code=0, what=plural(number, what))

    named: dict[tuple[str, ...], list[str]] = {}
    for stack in stacks:
        moved = _moved(stack.gpus)
        # Another number of GPUs costs something else as a matter of course.
        if "GPUs" not in moved and any(m.scope == "all" and m.changed for m in stack.money):
            moved = (*moved, "cost")
        if moved:
            named.setdefault(moved, []).append(stack.name)
    for moved, names in named.items():
        yield Reason(word="REVIEW", exit_code=0, what=f"{joined(moved)} change in {', '.join(names)}")
    yield from total(sum(len(s.drift) for s in stacks), "drifted resource")
    yield from total(sum(len(s.failed_checks) for s in stacks), "failed check")
    unseen = [u for s in stacks for u in s.unseen]
    if unseen:
        yield Reason(word="REVIEW", exit_code=0, what=f"{plural(len(unseen), 'thing')} could not be seen")
