"""What else changes: engines by pool, node groups, every resource of a plan; folded, for who wants to know."""

from collections.abc import Iterator

from inferfab.render.review.sections import Cell, Section, Table, code, note, number
from inferfab.review.report import Report
from inferfab.review.words import span

_MOST_TEXT = 400


def engine(report: Report) -> Iterator[Section]:
    table = Table(("pool", "of", "what", "before", "after"))
    for fleet in report.fleets:
        for line in fleet.engine:
            table.add(
                code(_in(report, fleet.environment, line.pool)),
                line.section,
                code(line.what),
                *_values(line.before, line.after),
            )
    if table.rows:
        yield Section(
            "engine",
            "Engines, promises and sizes by pool",
            4,
            columns=table.columns,
            rows=tuple(table.rows),
            keep_rows=8,
        )


def _in(report: Report, environment: str, subject: str) -> str:
    return subject if len(report.fleets) == 1 else f"{environment}: {subject}"


def _values(before: str | None, after: str | None) -> tuple[Cell, Cell]:
    return _value(before), _value(after)


def _value(text: str | None) -> Cell:
    if text is None:
        return Cell("–")
    return code(text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}…")


def other(report: Report) -> Iterator[Section]:
    table = Table(("subject", "of", "what", "before", "after"))
    for fleet in report.fleets:
        for line in fleet.other:
            table.add(
                code(_in(report, fleet.environment, line.pool)),
                line.section,
                code(line.what),
                *_values(line.before, line.after),
            )
    if table.rows:
        yield Section("other", "Other decided values", 7, columns=table.columns, rows=tuple(table.rows), folded=True)


def groups(report: Report) -> Iterator[Section]:
    table = Table(("group", "in", "kind", "pool", "machines", "bought", "nodes before", "nodes after", "GPUs after"))
    for stack in report.stacks:
        for g in stack.groups:
            if g.changed:
                table.add(
                    code(g.subject),
                    code(stack.name),
                    g.kind,
                    code(g.pool) if g.pool else "",
                    code(_arrow(g.machines_before, g.machines_after)),
                    _arrow(g.capacity_before, g.capacity_after),
                    number(span(g.nodes_before), g.nodes_before.desired.low),
                    number(span(g.nodes_after), g.nodes_after.desired.low),
                    number(span(g.gpus_after), g.gpus_after.desired.low),
                )
    if table.rows:
        yield Section(
            "groups",
            "Groups of GPU nodes that change",
            6,
            columns=table.columns,
            rows=tuple(table.rows),
            right=frozenset(table.columns[6:]),
            folded=True,
        )


def _arrow(before: str, after: str) -> str:
    return after or before if not before or not after or before == after else f"{before} → {after}"


def updates(report: Report) -> Iterator[Section]:
    """Every resource that is not left alone, by stack."""
    table = Table(("resource", "in", "action", "attributes"))
    for stack in report.stacks:
        for line in stack.updates:
            more = f" and {line.more_changed} more" if line.more_changed else ""
            moved = f"from {line.moved_from}" if line.moved_from else ""
            shown = ", ".join(filter(None, (moved, ", ".join(line.changed) + more)))
            table.add(code(line.subject), code(stack.name), line.action, code(shown) if shown else "")
        for name in stack.outputs_changed:
            table.add(code(f"output {name}"), code(stack.name), "output", "")
    if table.rows:
        yield Section(
            "updates",
            "Every resource that changes",
            10,
            columns=table.columns,
            rows=tuple(table.rows),
            folded=True,
        )


def quiet(report: Report) -> Iterator[Section]:
    """Unchanged stacks and environments in one line."""
    names = [f.environment for f in report.fleets if f.state == "unchanged"]
    names += [f"plan of {s.name}" for s in report.stacks if not s.changed]
    if names:
        pieces: list[Cell | str] = []
        for name in names[:20]:
            pieces += [", " if pieces else "", code(name)]
        rest = f" and {len(names) - 20} more." if len(names) > 20 else "."
        yield Section("quiet", "Unchanged", 5, notes=(note(*pieces, rest),))
