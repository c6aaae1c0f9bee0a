"""Findings for people: worst first, the line of the file quoted, what to write instead."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from inferfab.findings import SEVERITIES, Finding

if TYPE_CHECKING:
    from rich.console import Console

_STYLE = {"error": "bold red", "warning": "yellow", "info": "cyan"}


def counted(findings: Sequence[Finding]) -> str:
    """``2 errors, 1 warning``."""
    parts = []
    for severity in SEVERITIES:
        number = sum(f.severity == severity for f in findings)
        if number:
            word = severity if severity == "info" or number == 1 else f"{severity}s"
            parts.append(f"{number} {word}")
    return ", ".join(parts) or "no findings"


def print_findings(console: "Console", findings: Sequence[Finding], lines: Sequence[str]) -> None:
    """Print each finding with the line that it is about."""
    from rich.text import Text

    for finding in findings:
        head = Text()
        head.append(str(finding.location), style="bold")
        head.append("  ")
        head.append(finding.severity, style=_STYLE[finding.severity])
        head.append(f"  {finding.rule}")
        if finding.path:
            head.append(f"  {finding.dotted_path}", style="magenta")
        console.print(head, soft_wrap=True)
        for label, text in (("", finding.what), ("why", finding.why), ("fix", finding.fix)):
            console.print(Text(f"  {label:<5}", style="dim").append(text, style="default"), soft_wrap=True)
        quoted = _quoted(finding, lines)
        if quoted:
            console.print(Text(quoted, style="dim"), soft_wrap=True)
        console.print()


def _quoted(finding: Finding, lines: Sequence[str]) -> str:
    number = finding.location.line
    if not 1 <= number <= len(lines) or not finding.path:
        return ""
    line = lines[number - 1].replace("\t", " ")
    if len(line) > 200:
        return ""
    mark = " " * (finding.location.column - 1) + "^"
    return f"  {number:>5} | {line}\n        | {mark}"
