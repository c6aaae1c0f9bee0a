"""Findings for people: worst first, the line of the file quoted, what to write instead."""

import os
import sys
from collections.abc import Mapping, Sequence

from inferfab.findings import SEVERITIES, Finding


def counted(findings: Sequence[Finding]) -> str:
    """``2 errors, 1 warning``."""
    parts = []
    for severity in SEVERITIES:
        number = sum(f.severity == severity for f in findings)
        if number:
            word = severity if severity == "info" or number == 1 else f"{severity}s"
            parts.append(f"{number} {word}")
    return ", ".join(parts) or "no findings"


_COLOUR = {"error": "\033[1;31m", "warning": "\033[33m", "info": "\033[36m"}
_BOLD, _DIM, _PATH, _OFF = "\033[1m", "\033[2m", "\033[35m", "\033[0m"


def findings_text(
    findings: Sequence[Finding],
    lines: Sequence[str] | Mapping[str, Sequence[str]],
    *,
    colour: bool = False,
    stderr: bool = False,
) -> str:
    """Each finding with the line that it is about. Colours only on a terminal (and not with ``NO_COLOR``).

    :param lines: of the one file, or by file.

    Written by hand rather than with Rich: `check` runs in editors and hooks, where 60 ms of import matter.
    """
    stream = sys.stderr if stderr else sys.stdout
    paint = colour and stream.isatty() and "NO_COLOR" not in os.environ

    def in_(style: str, text: str) -> str:
        # Made printable here, piece by piece: in the joined text our colours and a file's escapes look alike.
        return f"{style}{one_line(text)}{_OFF}" if paint else one_line(text)

    out = []
    for finding in findings:
        head = (
            f"{in_(_BOLD, str(finding.location))}  {in_(_COLOUR[finding.severity], finding.severity)}  {finding.rule}"
        )
        if finding.path:
            head += f"  {in_(_PATH, finding.dotted_path)}"
        out.append(head)
        parts = [("", finding.what), ("why", finding.why), ("fix", finding.fix)]
        if finding.lowered_from is not None:
            parts.append(("was", f"{finding.lowered_from}; accepted: {finding.accepted}"))
        elif finding.severity == "info":  # a remark is read in passing; `explain` has its reason
            parts = [("", f"{finding.what}: {finding.fix}")]
        out += [f"  {in_(_DIM, f'{label:<4}')} {one_line(text)}" for label, text in parts]
        if finding.severity != "info":
            of_file = lines.get(finding.location.file, ()) if isinstance(lines, Mapping) else lines
            out += [in_(_DIM, line) for line in _quoted(finding, of_file)]
        out.append("")
    return "\n".join(out) + ("\n" if out else "")


def switched_off_text(findings: Sequence[Finding]) -> str:
    """What the environment switched off, one line each: no reader shall miss that something was silenced."""
    lines = [
        f"off: {f.rule} at {one_line(str(f.location))}, {f.severity}: {one_line(f.what)} ({one_line(f.accepted)})\n"
        for f in findings
    ]
    return "".join(lines) + ("\n" if lines else "")


def printable(text: str) -> str:
    """Control characters from a hostile file must not reach the terminal."""
    return "".join(c if c in "\n\t" or c.isprintable() else "\ufffd" for c in text)


def one_line(text: str) -> str:
    """Printable, and without line breaks: a value must not look like a finding of ours."""
    return printable(text).replace("\n", " ")


def _quoted(finding: Finding, lines: Sequence[str]) -> list[str]:
    number = finding.location.line
    if not 1 <= number <= len(lines) or not finding.path:
        return []
    line = lines[number - 1].replace("\t", " ")
    if len(line) > 200:
        return []
    return [f"  {number:>5} | {line}", "        | " + " " * (finding.location.column - 1) + "^"]
