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
    """Those that were there; remarks are counted, `inferfab check` has them all."""
    found = [(name, f) for name, review in _reviews(report) for f in review.existing]
    lines = [(name, f) for name, f in found if f.severity != "info"]
    remarks = len(found) - len(lines)
    remarks += sum(f.severity == "info" for _, review in _reviews(report) for f in review.new)
    if lines or remarks:
        said = f"Besides {remarks} remark{'s' if remarks != 1 else ''}, which "
        yield Section(
            "existing",
            "Findings that were there already",
            8,
            notes=(note(said, code("inferfab check"), " lists."),) if remarks else (),
            columns=_COLUMNS if lines else (),
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
    return severity, code(finding.rule), code(where), Cell(what), Cell(finding.fix)
