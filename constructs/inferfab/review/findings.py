"""Findings of a change: what is new, what was there already, what is gone. Ours and checkov's in one shape."""

from collections import Counter
from collections.abc import Iterable, Sequence

from inferfab.findings import SEVERITIES, Finding, Severity
from inferfab.record import Record


class PolicyFinding(Record):
    """One finding of a tool, with the key by which it is found again in another revision."""

    tool: str
    rule: str
    severity: Severity
    subject: str
    """Dotted path in the environment file, or address in a plan."""
    construct_path: str = ""
    """Path of the construct that made the resource, where it is known."""
    what: str
    fix: str = ""
    file: str = ""
    line: int = 1
    suppressed_because: str = ""
    """Reason for which somebody switched the rule off at this place; shown, and never counted against a change."""

    @property
    def key(self) -> tuple[str, str, str]:
        """The line and the numbers of a message may change without the problem being another one."""
        return (self.tool, self.rule, self.subject)


class FindingsReview(Record):
    """Findings of a change, worst first."""

    new: tuple[PolicyFinding, ...] = ()
    existing: tuple[PolicyFinding, ...] = ()
    gone: tuple[PolicyFinding, ...] = ()
    compared: bool = True
    """False where nothing before is known: every finding then counts as new."""

    @property
    def new_errors(self) -> tuple[PolicyFinding, ...]:
        return tuple(f for f in self.new if f.severity == "error" and not f.suppressed_because)


def ours(findings: Iterable[Finding], *, switched_off: Sequence[Finding] = ()) -> tuple[PolicyFinding, ...]:
    """Findings of `inferfab check`; what the environment switched off stands there with its reason and never counts."""
    off = (
        one.model_copy(update={"suppressed_because": f.accepted or "no reason"})
        for f, one in zip(switched_off, _ours(switched_off), strict=True)
    )
    return (*_ours(findings), *off)


def _ours(findings: Iterable[Finding]) -> tuple[PolicyFinding, ...]:
    return tuple(
        PolicyFinding(
            tool="inferfab",
            rule=f.rule,
            severity=f.severity,
            subject=f.dotted_path,
            what=f.what + (f" (lowered from {f.lowered_from}: {f.accepted})" if f.lowered_from else ""),
            fix=f.fix,
            file=f.location.file,
            line=f.location.line,
        )
        for f in findings
    )


def compare(before: Iterable[PolicyFinding] | None, after: Iterable[PolicyFinding]) -> FindingsReview:
    """New against existing, by tool, rule and place; as often as each occurs. ``before`` None: nothing is known."""
    left = Counter(f.key for f in before or ())
    new, existing = [], []
    for finding in ranked(after):
        if left[finding.key] > 0:
            left[finding.key] -= 1
            existing.append(finding)
        else:
            new.append(finding)
    gone = []
    for finding in ranked(before or ()):
        if left[finding.key] > 0:
            left[finding.key] -= 1
            gone.append(finding)
    return FindingsReview(new=tuple(new), existing=tuple(existing), gone=tuple(gone), compared=before is not None)


def ranked(findings: Iterable[PolicyFinding]) -> list[PolicyFinding]:
    return sorted(findings, key=lambda f: (SEVERITIES.index(f.severity), f.tool, f.rule, f.subject, f.what))
