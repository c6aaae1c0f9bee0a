"""Findings as GitHub's workflow commands: escaped as the runner undoes it, one line each."""

import re

from inferfab.findings import Finding, Location
from inferfab.render.github import github


def unescaped(text: str, *, of_property: bool) -> str:
    """As actions/runner reads it (ActionCommand.UnescapeProperty and UnescapeData)."""
    pairs = [("%0D", "\r"), ("%0A", "\n")] + ([("%3A", ":"), ("%2C", ",")] if of_property else []) + [("%25", "%")]
    for escaped, plain in pairs:
        text = text.replace(escaped, plain)
    return text


def test_one_line_each() -> None:
    """Severity, file, line, column and rule come back as they went in, whatever stands in them."""
    finding = Finding(
        rule="IF-XXX-001",
        severity="info",
        location=Location(file="a,b:c%2C.yaml", line=3, column=7),
        path=("x", 0),
        what="50% of\nthis\r::error::x",
        why="w",
        fix="f",
    )
    lines = github([finding, finding.model_copy(update={"severity": "warning"})]).splitlines()
    assert len(lines) == 2
    match = re.fullmatch(r"::(\w+) file=([^,]*),line=(\d+),col=(\d+),title=([^:]*)::(.*)", lines[0])
    assert match is not None
    assert match[1] == "notice"
    assert unescaped(match[2], of_property=True) == "a,b:c%2C.yaml"
    assert (match[3], match[4], match[5]) == ("3", "7", "IF-XXX-001")
    assert unescaped(match[6], of_property=False).startswith("x[0]: 50% of this")
    assert lines[1].startswith("::warning ")
