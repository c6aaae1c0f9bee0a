"""What a change breaks, buys, opens, and what could not be seen."""

from collections.abc import Iterator

from inferfab.render.review.sections import Cell, Note, Section, Table, code, note, number, strong
from inferfab.review.lines import Destruction
from inferfab.review.report import Report
from inferfab.review.words import seconds, span


def problems(report: Report) -> Iterator[Section]:
    table = Table(("what", "why"))
    for fleet in report.fleets:
        if fleet.state == "broken":
            table.add(code(fleet.file), "the environment has errors, which stand below: there is no plan of it")
    for stack in report.stacks:
        if stack.problem:
            table.add(code(stack.file), stack.problem)
        elif stack.incomplete:
            table.add(code(stack.file), stack.incomplete)
    if report.scanner_problem:
        table.add("checkov", report.scanner_problem)
    if table.rows:
        yield Section("problems", "Cannot be relied on", 0, columns=table.columns, rows=tuple(table.rows), keep_rows=20)


def destroyed(report: Report) -> Iterator[Section]:
    """Never folded. What needs a label first, then by GPUs."""
    lines = [d for f in report.fleets for d in f.destroyed] + [d for s in report.stacks for d in s.destroyed]
    if not lines:
        return
    table = Table(("what", "in", "action", "why", "GPUs lost", "for how long", "also lost"))
    for line in sorted(lines, key=lambda d: (d.harmless, not d.blocks, -d.gpus_lost.desired.low, d.stack, d.subject)):
        table.add(
            code(line.subject),
            code(line.stack),
            strong(line.action) if line.blocks else line.action,
            _why(line),
            number(span(line.gpus_lost), line.gpus_lost.desired.low),
            _how_long(line),
            line.keeps_data or ("nothing" if line.harmless else ""),
        )
    yield Section(
        "destroyed",
        "What it destroys",
        1,
        notes=_loss_notes(lines),
        columns=table.columns,
        rows=tuple(table.rows),
        right=frozenset({"GPUs lost"}),
        keep_rows=25,
    )


def _why(line: Destruction) -> Cell:
    """Reason and forcing attributes; both may hold a plan's own words."""
    forced = f": {', '.join(line.because_of)}" if line.because_of else ""
    return Cell(f"{line.reason}{forced}")


def _how_long(line: Destruction) -> Cell:
    none = line.seconds_without is not None and line.seconds_without.high == 0
    return number("–" if none else seconds(line.seconds_without), None)


def _loss_notes(lines: list[Destruction]) -> tuple[Note, ...]:
    with_gpus = [d for d in lines if d.gpus_lost.max.high != 0 or d.gpus_lost.desired.high != 0]
    said = dict.fromkeys(f"{d.action}: {d.seconds_basis}." for d in with_gpus)
    notes = tuple(note(f"{text[0].upper()}{text[1:]}") for text in said)
    if any(d.basis == "environment" for d in lines):
        says = "Rows of an environment are what its change will ask of Terraform; a plan of the stack says it exactly."
        notes = (*notes, note(says))
    return notes


def purchases(report: Report) -> Iterator[Section]:
    table = Table(("what", "in", "", "commitment", "GPUs", "at once"))
    for stack in report.stacks:
        for line in stack.purchases:
            cash = "not in the plan" if line.upfront_usd is None else f"${line.upfront_usd:,.2f}"
            table.add(
                code(line.subject),
                code(stack.name),
                strong(f"{line.action}, irreversible") if line.irreversible else line.action,
                line.what,
                number(span(line.gpus), line.gpus.desired.low),
                number(cash if line.action != "forget" and line.irreversible else "–", line.upfront_usd),
            )
    if table.rows:
        yield Section(
            "purchases",
            "Purchases that are not taken back",
            1,
            columns=table.columns,
            rows=tuple(table.rows),
            right=frozenset({"GPUs", "at once"}),
            keep_rows=25,
        )


def opened(report: Report) -> Iterator[Section]:
    lines = [o for f in report.fleets for o in f.opened] + [o for s in report.stacks for o in s.opened]
    if not lines:
        return
    table = Table(("what", "in", "kind", "opens"))
    for line in sorted(lines, key=lambda o: (o.kind, o.stack, o.subject)):
        table.add(code(line.subject), code(line.stack), line.kind, line.what)
    yield Section(
        "opened",
        "Network, IAM and protection that opens",
        2,
        columns=table.columns,
        rows=tuple(table.rows),
        keep_rows=10,
    )


def drift(report: Report) -> Iterator[Section]:
    table = Table(("what", "in", "", "attributes", "GPUs then", "GPUs now"))
    for stack in report.stacks:
        for line in stack.drift:
            more = f" and {line.more_changed} more" if line.more_changed else ""
            table.add(
                code(line.subject),
                code(stack.name),
                line.what,
                code(", ".join(line.changed) + more) if line.changed else "",
                *(number(span(g), g.desired.low) if g else Cell("") for g in (line.gpus_before, line.gpus_after)),
            )
    if table.rows:
        yield Section(
            "drift",
            "Changed outside of Terraform",
            5,
            columns=table.columns,
            rows=tuple(table.rows),
            right=frozenset({"GPUs then", "GPUs now"}),
            keep_rows=3,
        )


def unseen(report: Report) -> Iterator[Section]:
    """Listed rather than guessed."""
    table = Table(("what", "in", "could not be seen"))
    for fleet in report.fleets:
        for line in fleet.unseen:
            table.add(code(line.subject), code(fleet.environment), line.what)
    for stack in report.stacks:
        for line in stack.unseen:
            table.add(code(line.subject), code(stack.name), line.what)
        for check in stack.failed_checks:
            table.add(code(check), code(stack.name), "a check block of the configuration fails")
    notes = []
    if report.stacks and not report.fleets:
        notes.append(note("Dollars per million tokens and tiers need an environment: give ", code("--env"), "."))
    if table.rows:
        yield Section(
            "unseen",
            "Could not be seen",
            3,
            notes=tuple(notes),
            columns=table.columns,
            rows=tuple(table.rows),
            keep_rows=5,
        )
