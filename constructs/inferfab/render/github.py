"""Findings as workflow commands, which GitHub shows beside the changed lines without any further tool."""

from collections.abc import Sequence

from inferfab.findings import Finding
from inferfab.render.text.findings import one_line

_COMMAND = {"error": "error", "warning": "warning", "info": "notice"}


def github(findings: Sequence[Finding]) -> str:
    """One line a finding.

    Source: docs.github.com/actions/reference/workflows-and-actions/workflow-commands; the escapes are those of
    actions/toolkit packages/core/src/command.ts (``escapeData``, ``escapeProperty``).
    """
    return "".join(_line(finding) + "\n" for finding in findings)


def _line(finding: Finding) -> str:
    at = finding.location
    place = f"{finding.dotted_path}: " if finding.path else ""
    message = f"{place}{finding.what}. Fix: {finding.fix}. Why: {finding.why}"
    properties = {
        "file": at.file,
        "line": str(at.line),
        "col": str(at.column),
        "title": finding.rule,
    }
    shown = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{_COMMAND[finding.severity]} {shown}::{_data(message)}"


def _data(text: str) -> str:
    return one_line(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
