"""A review as SARIF 2.1.0: what blocks and what to look at, beside the environment file or the plan."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from inferfab.render.sarif import SCHEMA
from inferfab.render.text.findings import one_line
from inferfab.review.findings import PolicyFinding
from inferfab.review.lines import Destruction
from inferfab.review.report import Report
from inferfab.review.words import span

_LEVEL = {"error": "error", "warning": "warning", "info": "note"}
_MOST_RESULTS = 5_000
"""GitHub shows 5,000 results of a run, the worst first (docs.github.com, SARIF support for code scanning)."""
_RULES = {
    "review/plan-invalid": ("A plan cannot be relied on", "error"),
    "review/destroys": ("Something is destroyed", "error"),
    "review/disrupts": ("Nodes are replaced, given back or forgotten", "warning"),
    "review/buys": ("A purchase that is not taken back", "error"),
    "review/opens": ("Network or IAM opens", "warning"),
    "review/drift": ("Changed outside of Terraform", "warning"),
    "review/budget": ("A budget or a policy is breached", "error"),
    "review/unseen": ("Could not be seen", "note"),
}


@dataclass(frozen=True)
class _Result:
    rule: str
    level: str
    message: str
    file: str
    line: int
    subject: str


def review_sarif(report: Report, *, version: str) -> dict[str, Any]:
    """One run. Addresses are logical locations; the file is the environment's, or the plan's own."""
    found = sorted(_results(report), key=lambda r: ("error", "warning", "note").index(r.level))[:_MOST_RESULTS]
    names = list(dict.fromkeys(r.rule for r in found))
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "inferfab review",
                        "semanticVersion": version,
                        "rules": [_rule(name) for name in names],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [_result(r, names.index(r.rule)) for r in found],
            }
        ],
    }


def _rule(name: str) -> dict[str, Any]:
    title, level = _RULES.get(name, (name, "warning"))
    return {"id": name, "shortDescription": {"text": title}, "defaultConfiguration": {"level": level}}


def _result(result: _Result, index: int) -> dict[str, Any]:
    file = PurePath(result.file or "plan.json")
    uri = file.as_uri() if file.is_absolute() else quote(os.fsencode(file.as_posix()))
    return {
        "ruleId": result.rule,
        "ruleIndex": index,
        "level": result.level,
        "message": {"text": one_line(result.message)},
        "locations": [
            {
                "physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": result.line}},
                "logicalLocations": [{"fullyQualifiedName": one_line(result.subject), "kind": "resource"}],
            }
        ],
        "partialFingerprints": {"inferfab/review": one_line(f"{result.rule}:{result.subject}")[:500]},
    }


def _results(report: Report) -> Iterator[_Result]:
    for reason in report.verdict.reasons:
        if reason.exit_code == 3:
            file = next((f.file for f in report.fleets), "")
            yield _Result("review/budget", "error", reason.what, file, 1, reason.what)
    for fleet in report.fleets:
        for finding in fleet.findings.new:
            yield _finding(finding, fleet.file)
        for line in fleet.destroyed:
            yield _destroyed(line, fleet.file)
        for one in fleet.opened:
            yield _Result("review/opens", "warning", f"{one.subject}: {one.what}", fleet.file, 1, one.subject)
    for stack in report.stacks:
        if stack.problem or stack.incomplete:
            what = f"the plan of {stack.name} {stack.problem or 'is incomplete: ' + stack.incomplete}"
            yield _Result("review/plan-invalid", "error", what, stack.file, 1, stack.name)
        for line in stack.destroyed:
            yield _destroyed(line, stack.file)
        for buy in stack.purchases:
            level = "error" if buy.irreversible else "warning"
            yield _Result("review/buys", level, f"{buy.subject}: {buy.what}", stack.file, 1, buy.subject)
        for one in stack.opened:
            yield _Result("review/opens", "warning", f"{one.subject}: {one.what}", stack.file, 1, one.subject)
        for drift in stack.drift:
            yield _Result("review/drift", "warning", f"{drift.subject} {drift.what}", stack.file, 1, drift.subject)
        for unseen in stack.unseen:
            yield _Result("review/unseen", "note", f"{unseen.subject}: {unseen.what}", stack.file, 1, unseen.subject)
    for finding in report.scanner.new if report.scanner else ():
        yield _finding(finding, finding.file)


def _finding(finding: PolicyFinding, file: str) -> _Result:
    fix = f". Fix: {finding.fix}" if finding.fix else ""
    where = f" ({finding.construct_path})" if finding.construct_path else ""
    return _Result(
        finding.rule,
        _LEVEL[finding.severity],
        f"{finding.what}{where}{fix}",
        finding.file or file,
        finding.line,
        finding.subject,
    )


def _destroyed(line: Destruction, file: str) -> _Result:
    rule, level = ("review/destroys", "error") if line.blocks else ("review/disrupts", "warning")
    if line.harmless:
        level = "note"
    gpus = f"; GPUs lost: {span(line.gpus_lost)}" if line.gpus_lost.max.high != 0 else ""
    forced = f" ({', '.join(line.because_of)})" if line.because_of else ""
    return _Result(rule, level, f"{line.subject}: {line.action}, {line.reason}{forced}{gpus}", file, 1, line.subject)
