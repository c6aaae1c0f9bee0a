"""A review as one self-contained page: no network, works from a file, on a phone and in the dark."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from inferfab.plan.fleet import FleetPlan
from inferfab.plan.quantities import Range
from inferfab.render.picture import render_svg
from inferfab.render.review.sections import pieces, sections
from inferfab.render.templates import render
from inferfab.render.text.findings import one_line
from inferfab.review.report import Report
from inferfab.review.review import Reviewed
from inferfab.review.words import change_of, money, per_million, plural, span

_AFTER = ("problems", "gpus", "money", "destroyed", "purchases", "opened")
"""The picture follows these sections: numbers and dangers first."""
_LONGEST = 2_000


@dataclass(frozen=True)
class Card:
    """One figure of the summary."""

    what: str
    value: str
    note: str
    tone: str = ""


@dataclass(frozen=True)
class Bar:
    """A tier's cost before and after, as shares of the largest."""

    fleet: str
    tier: str
    before: str
    after: str
    before_percent: str
    after_percent: str


@dataclass(frozen=True)
class Picture:
    """Both pictures of an environment, as SVG; the same one is drawn once."""

    environment: str
    before: str
    after: str
    same: bool


def html(reviewed: Reviewed) -> str:
    """The page."""
    report = reviewed.report
    parts = list(sections(report))
    places = [n for n, part in enumerate(parts, start=1) if part.id in _AFTER]
    return render(
        "review/page.html.j2",
        verdict=report.verdict,
        revision=report.revision,
        cards=list(_cards(report)),
        tiers=list(_bars(report)),
        parts=parts,
        pictures=list(_pictures(reviewed)),
        pictures_after=max(places, default=1),
        clean=_clean,
        pieces=pieces,
    )


def _clean(text: str) -> str:
    """One line without signs that a browser obeys (bidirectional overrides, controls)."""
    text = text if text.isprintable() else one_line(text)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _cards(report: Report) -> Iterator[Card]:
    for fleet in report.fleets:
        if fleet.state == "unchanged" and len(report.fleets) > 1:
            continue
        total = next((g for g in fleet.gpus if g.axis == "all"), None)
        if total is not None:
            shown = span(total.after) if not total.changed else f"{span(total.before)} → {span(total.after)}"
            yield Card(f"GPUs of {fleet.environment}", shown, fleet.state)
        for size, title in (("desired", "at the desired size"), ("max", "at the maximum")):
            line = fleet.cost("desired" if size == "desired" else "max")
            if line is not None:
                before, after = line.before.usd_per_month, line.after.usd_per_month
                yield Card(
                    f"{fleet.environment}, a month {title}", money(after), f"{change_of(before, after)} by this change"
                )
        changed = next((t for t in fleet.tokens if t.changed and t.output_before and t.output_after), None)
        if changed is not None:
            value = f"{per_million(changed.output_before)} → {per_million(changed.output_after)}"
            yield Card(
                f"$ per million output tokens, {changed.cell}/{changed.pool}", value, "at the planned utilization"
            )
    for stack in report.stacks:
        total = next((g for g in stack.gpus if g.axis == "all"), None)
        if total is not None and total.changed and len(report.stacks) <= 4:
            yield Card(
                f"GPUs in the plan of {stack.name}", f"{span(total.before)} → {span(total.after)}", "Terraform plan"
            )
    yield from _risk_cards(report)


def _risk_cards(report: Report) -> Iterator[Card]:
    destroyed = [*(d for f in report.fleets for d in f.destroyed), *(d for s in report.stacks for d in s.destroyed)]
    hard = [d for d in destroyed if d.blocks]
    gpus = int(sum(d.gpus_lost.desired.low for d in hard))
    rest = f"{plural(len(destroyed) - len(hard), 'gentler disruption')}" if len(destroyed) > len(hard) else ""
    yield Card("Destroys", f"{len(hard):,}", plural(gpus, "GPU") if gpus else rest or "nothing", "bad" if hard else "")
    bought = [p for s in report.stacks for p in s.purchases if p.irreversible]
    if bought:
        yield Card("Irreversible purchases", f"{len(bought):,}", "no later plan takes them back", "bad")
    unseen = sum(len(f.unseen) for f in report.fleets) + sum(len(s.unseen) for s in report.stacks)
    if unseen:
        yield Card("Could not be seen", f"{unseen:,}", "listed below, not guessed")


def _bars(report: Report) -> Iterator[Bar]:
    rows = [
        (f.environment, m)
        for f in report.fleets
        for m in f.money
        if m.size == "desired" and m.scope.startswith("tier ")
    ]
    if not rows:
        rows = [(f"plan of {s.name}", m) for s in report.stacks for m in s.money if m.size == "desired"]
        rows = [row for row in rows if row[1].changed] or rows[:1]
    sides = [side.usd_per_month for _, m in rows for side in (m.before, m.after)]
    largest = max((_middle(r) for r in sides), default=0.0)
    for fleet, line in rows[:40]:
        before, after = line.before.usd_per_month, line.after.usd_per_month
        yield Bar(
            fleet=fleet,
            tier=line.scope.removeprefix("tier ") if line.scope != "all" else "all tiers",
            before=money(before),
            after=money(after),
            before_percent=_percent(before, largest),
            after_percent=_percent(after, largest),
        )


def _middle(value: Range) -> float:
    return value.low if value.high is None else (value.low + value.high) / 2


def _percent(value: Range, largest: float) -> str:
    return f"{70 * _middle(value) / largest:.1f}" if largest else "0"


_HEAD = re.compile(r'<svg (?P<rest>[^>]*viewBox="0 0 (?P<width>[0-9.]+)[^>]*)>')
_ID = re.compile(r'(id="|aria-labelledby="| )(?=fleet-[^"]*-(?:title|desc))')


def _pictures(reviewed: Reviewed) -> Iterator[Picture]:
    changed = {f.environment for f in reviewed.report.fleets if f.state != "unchanged"}
    for pair in reviewed.fleets:
        if pair.environment not in changed and len(reviewed.fleets) > 1:
            continue
        before, after = (_drawn(plan, side) for side, plan in (("before", pair.before), ("after", pair.after)))
        if before or after:
            same = pair.before == pair.after
            yield Picture(pair.environment, before, after, same=same)


def _drawn(plan: FleetPlan | None, side: str) -> str:
    """The SVG, never larger than it was drawn, with ids that the other side does not have."""
    if plan is None:
        return ""
    head, _, rest = render_svg(plan).partition("<g>")
    head = _ID.sub(lambda found: f"{found[1]}{side}-", head)
    sized = _HEAD.sub(lambda m: f'<svg {m["rest"]} style="max-width: {m["width"]}px">', head, count=1)
    return f"{sized}<g>{rest}"
