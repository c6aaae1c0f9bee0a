"""Findings in the format that was asked for."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from inferfab.findings import Finding


class CheckFormat(StrEnum):
    text = "text"
    json = "json"
    sarif = "sarif"
    github = "github"


@dataclass(frozen=True)
class Report:
    """What a check found, and what it was held against."""

    subject: str
    """Name of what was checked, for the last line."""
    findings: Sequence[Finding]
    switched_off: Sequence[Finding]
    lines: Mapping[str, Sequence[str]]
    """Text of each file by line, to quote from."""
    ok: bool
    facts: dict[str, Any]
    """What JSON says beside the findings."""
    seen: Sequence[str] = field(default=())
    """What was judged and what could not be, for people."""


def deliver_report(report: Report, format: CheckFormat, out: Path | None) -> None:
    """Write or print it."""
    from inferfab.cli.output import deliver, for_encoding

    if format is CheckFormat.json:
        body = {
            **report.facts,
            "ok": report.ok,
            "findings": [_as_json(f) for f in report.findings],
            "switched_off": [_as_json(f) for f in report.switched_off],
        }
        deliver(json.dumps(body, indent=1, ensure_ascii=False), out)
    elif format is CheckFormat.sarif:
        from importlib.metadata import version

        from inferfab.render.sarif import sarif

        body = sarif(report.findings, version=version("inferfab"), switched_off=report.switched_off)
        deliver(json.dumps(body, indent=1, ensure_ascii=False), out)
    elif format is CheckFormat.github:
        from inferfab.render.github import github

        deliver(github(report.findings), out)
    else:
        from inferfab.render.text.findings import counted, findings_text, one_line, switched_off_text

        text = findings_text(report.findings, report.lines, colour=out is None)
        text += switched_off_text(report.switched_off)
        text += "".join(f"{one_line(line)}\n" for line in report.seen)
        off = f" ({len(report.switched_off)} more switched off)" if report.switched_off else ""
        text += f"{one_line(report.subject)}: {counted(report.findings)}{off}"
        deliver(text if out is not None else for_encoding(text, sys.stdout.encoding), out)


def _as_json(finding: Finding) -> dict[str, Any]:
    return {**finding.model_dump(mode="json"), "dotted_path": finding.dotted_path}
