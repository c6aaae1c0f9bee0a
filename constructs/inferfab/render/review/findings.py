"""Findings of our rules and of checkov, new against existing."""

from collections.abc import Iterator, Sequence

from inferfab.render.review.sections import Cell, Note, Section, code, note
from inferfab.review.findings import FindingsReview, PolicyFinding
from inferfab.review.report import Report


def new(report: Report) -> Iterator[Section]:
    """What the change brings; of a first look everything is new."""
    lines = [(name, f) for name, review in _reviews(report) for f in review.new if f.severity != "info"]
    gone = sum(len(review.gone) for _, review in _reviews(report))
    old = sum(len(review.existing) for _, review in _reviews(report))
    told = ", ".join(f"{n} {what}" for n, what in ((old, "there already"), (gone, "gone")) if n)
    if not lines and not gone:
        return
    yield Section(
        "findings",
        "New findings",
        2,
        notes=(*((note(f"{told}."),) if told else ()), *_first_look(report)),
        columns=_COLUMNS if lines else (),
        rows=tuple(_row(name, f) for name, f in lines),
        keep_rows=10,
    )


_COLUMNS = ("severity", "rule", "where", "what", "fix")


def _first_look(report: Report) -> Iterator[Note]:
    if any(not review.compared and review.new for _, review in _reviews(report)):
        yield note("There is nothing to compare some of them with, so all of those count as new.")


def existing(report: Report) -> Iterator[Section]:
    """Those that were there, and remarks."""
    lines = [
        (name, f) for name, r in _reviews(report) for f in (*r.existing, *(n for n in r.new if n.severity == "info"))
    ]
    if lines:
        yield Section(
            "existing",
            "Findings that were there already, and remarks",
            8,
            columns=_COLUMNS,
            rows=tuple(_row(name, f) for name, f in lines),
            folded=True,
        )


def _reviews(report: Report) -> Sequence[tuple[str, FindingsReview]]:
    found = [(f.environment, f.findings) for f in report.fleets]
    return [*found, ("", report.scanner)] if report.scanner else found


def _row(name: str, finding: PolicyFinding) -> tuple[Cell, ...]:
    where = ": ".join(filter(None, (name, finding.subject)))
    if finding.construct_path:
        where += f" ({finding.construct_path})"
    what = finding.what
    if finding.suppressed_because:
        what += f" (switched off: {finding.suppressed_because})"
    severity = Cell(finding.severity, strong=finding.severity == "error")
    return severity, code(finding.rule), code(where), code(what), code(finding.fix)
