"""GPUs, dollars, dollars per million tokens, load served: before and after."""

from collections.abc import Iterator

from inferfab.plan.quantities import Range
from inferfab.render.review.sections import Cell, Section, Table, code, note, number
from inferfab.render.text.numbers import range_
from inferfab.review.lines import GpuLine, MoneyLine
from inferfab.review.report import Report
from inferfab.review.span import Span
from inferfab.review.words import change_of, per_million, span
from inferfab.review.words import money as in_usd

_RIGHT = frozenset({"before", "after", "change"})


def gpus(report: Report) -> Iterator[Section]:
    """Every axis of a fleet that changes; of one that does not, the total alone."""
    table = Table(("fleet", "GPUs by", "", "before", "after", "change"))
    for name, lines in _by_fleet(report):
        changes = any(g.changed for g in lines)
        shown = [g for g in lines if g.axis == "all" or changes]
        for line in shown:
            axis = "total" if line.axis == "all" else line.axis
            label = Cell("") if line.axis == "all" else code(line.name)
            table.add(code(name), axis, label, _span(line.before), _span(line.after), _change(line))
    if table.rows:
        yield Section(
            "gpus",
            "GPUs",
            1,
            columns=table.columns,
            rows=tuple(table.rows),
            right=_RIGHT,
            notes=(note("Desired, in brackets between minimum and maximum."),),
            keep_rows=20,
        )


def _by_fleet(report: Report) -> Iterator[tuple[str, tuple[GpuLine, ...]]]:
    """Environments, then Terraform plans that hold GPUs. What does not change is left out of a long list."""
    for fleet in report.fleets:
        if fleet.state != "broken":
            yield fleet.environment, fleet.gpus
    for stack in report.stacks:
        if any(g.changed for g in stack.gpus) or (stack.gpus and len(report.stacks) == 1):
            yield f"plan of {stack.name}", stack.gpus


def _span(value: Span) -> Cell:
    return number(span(value), value.desired.low)


def _change(line: GpuLine) -> Cell:
    before, after = line.before.desired, line.after.desired
    if not line.changed:
        return number("=", 0)
    if not (before.known and after.known):
        return Cell("unknown")
    delta = after.low - before.low
    return number(f"{delta:+,.0f}" if delta else "bounds", delta)


def money(report: Report) -> Iterator[Section]:
    table = Table(("fleet", "GPU nodes", "$ an hour", "$ a month before", "$ a month after", "change"))
    for name, lines in _money_by_fleet(report):
        changes = any(m.changed for m in lines)
        for line in lines:
            if line.scope != "all" and not changes:
                continue
            size = "desired size" if line.size == "desired" else "maximum size"
            scope = size if line.scope == "all" else f"{line.scope}, {size}"
            before, after = line.before, line.after
            table.add(
                code(name),
                code(scope) if line.scope != "all" else scope,
                number(_hours(before.usd_per_hour, after.usd_per_hour), after.usd_per_hour.low),
                number(in_usd(before.usd_per_month), before.usd_per_month.low),
                number(in_usd(after.usd_per_month), after.usd_per_month.low),
                number(
                    change_of(before.usd_per_month, after.usd_per_month),
                    after.usd_per_month.low - before.usd_per_month.low,
                ),
            )
    if table.rows:
        notes = [
            note("List prices or your own (", code("prices.overlay"), "), 730 hours a month; sources and dates below.")
        ]
        for fleet in report.fleets:
            if fleet.budget is not None:
                at_max = fleet.budget.usd_per_month_at_max
                ceiling = f", ${at_max:,.0f} at the maximum" if at_max else ""
                raised = ""
                if fleet.budget_before and fleet.budget_before.usd_per_month != fleet.budget.usd_per_month:
                    raised = f" (before: ${fleet.budget_before.usd_per_month:,.0f})"
                amount = f": ${fleet.budget.usd_per_month:,.0f} a month at the desired size{raised}{ceiling}."
                notes.append(note("Budget of ", code(fleet.environment), amount))
        yield Section(
            "money",
            "Cost",
            1,
            notes=tuple(notes),
            columns=table.columns,
            rows=tuple(table.rows),
            right=frozenset(table.columns[2:]),
            keep_rows=12,
        )


def _hours(before: Range, after: Range) -> str:
    return in_usd(after) if before == after else f"{in_usd(before)} → {in_usd(after)}"


def _money_by_fleet(report: Report) -> Iterator[tuple[str, tuple[MoneyLine, ...]]]:
    for fleet in report.fleets:
        yield fleet.environment, fleet.money
    for stack in report.stacks:
        if any(m.changed for m in stack.money) or (stack.money and len(report.stacks) == 1):
            yield f"plan of {stack.name}", stack.money


def tokens(report: Report) -> Iterator[Section]:
    columns = ("fleet", "pool", "tier", "output tokens, before", "after", "all tokens, before", "after ")
    table = Table(columns)
    same = 0
    for fleet in report.fleets:
        for line in fleet.tokens:
            if not line.changed:
                same += fleet.state != "unchanged"
                continue
            cells = [line.output_before, line.output_after, line.total_before, line.total_after]
            table.add(
                code(fleet.environment),
                code(f"{line.cell}/{line.pool}"),
                code(line.tier),
                *(number(per_million(c), c.low if c else None) for c in cells),
            )
    if table.rows or same:
        unchanged = (note(f"The same as before in {same} pool{'s' if same != 1 else ''}."),) if same else ()
        yield Section(
            "tokens",
            "Dollars per million tokens",
            3,
            notes=(
                note(
                    "At the planned utilization. Output tokens: all cost over answer tokens alone. All tokens: over "
                    "prompt and answer. An estimate from the roofline, shown as a range."
                ),
                *unchanged,
            ),
            columns=columns,
            rows=tuple(table.rows),
            right=frozenset(columns[3:]),
            keep_rows=4,
        )


def served(report: Report) -> Iterator[Section]:
    table = Table(("fleet", "pool", "tier", "before", "after"))
    for fleet in report.fleets:
        for line in fleet.served:
            if line.changed:
                table.add(
                    code(fleet.environment),
                    code(f"{line.cell}/{line.pool}"),
                    code(line.tier),
                    *(number(range_(v) if v else "–", v.low if v else None) for v in (line.before, line.after)),
                )
    if table.rows:
        yield Section(
            "served",
            "Requests a second at the planned utilization",
            4,
            columns=table.columns,
            rows=tuple(table.rows),
            right=_RIGHT,
            keep_rows=2,
        )


def prices(report: Report) -> Iterator[Section]:
    """Provenance of every price that a sum uses, each once."""
    table = Table(("machine", "region", "bought", "$ an hour", "basis", "source and date"))
    lines = [p for f in report.fleets for p in f.prices] + [p for s in report.stacks for p in s.prices]
    for line in dict.fromkeys(lines):
        table.add(
            code(line.instance),
            code(line.region),
            line.kind,
            number(in_usd(line.usd_per_hour), line.usd_per_hour.low),
            line.basis,
            line.how,
        )
    if table.rows:
        missing = dict.fromkeys(n for f in report.fleets for n in f.not_included)
        yield Section(
            "prices",
            "Where prices come from",
            9,
            notes=(note(f"Not in any sum: {'; '.join(missing)}." if missing else "GPU nodes only."),),
            columns=table.columns,
            rows=tuple(table.rows),
            right=frozenset({"$ an hour"}),
            folded=True,
        )
