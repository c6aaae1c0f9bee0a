"""Findings as text: complete, quoted from the file, one line a statement, and tame."""

from pathlib import Path

import pytest

from inferfab.checks.check import check
from inferfab.environment.loading import load_text
from inferfab.findings import Finding, Location
from inferfab.render.starter import starter
from inferfab.render.templates import NoTemplates, template_folder
from inferfab.render.text.findings import counted, findings_text, one_line, printable


def finding(severity: str = "error", **changed: object) -> Finding:
    values: dict[str, object] = {
        "rule": "IF-ENV-013",
        "severity": severity,
        "location": Location(file="e.yaml", line=2, column=7),
        "path": ("name",),
        "what": "is wrong",
        "why": "because",
        "fix": "write `x`",
    }
    return Finding.model_validate({**values, **changed})


def test_a_finding_has_place_rule_path_reason_and_fix() -> None:
    """An error prints its place, rule and path, then what, why, fix, and the line with a caret under the column."""
    assert findings_text([finding()], ["# c", "name: Dev"]).splitlines() == [
        "e.yaml:2:7  error  IF-ENV-013  name",
        "       is wrong",
        "  why  because",
        "  fix  write `x`",
        "      2 | name: Dev",
        "        |       ^",
        "",
    ]


def test_a_remark_is_short() -> None:
    """An info finding is one statement without reason and quote."""
    assert findings_text([finding("info")], ["", "name: Dev"]).splitlines() == [
        "e.yaml:2:7  info  IF-ENV-013  name",
        "       is wrong: write `x`",
        "",
    ]


@pytest.mark.parametrize("line", [0, 3, 10**9])
def test_a_line_that_the_file_does_not_have_is_not_quoted(line: int) -> None:
    """A place outside the text, a very long line and a finding about the whole file are not quoted."""
    outside = finding(location=Location(file="e.yaml", line=line, column=1))
    assert " | " not in findings_text([outside], ["a", "b"])
    assert " | " not in findings_text([finding()], ["", "x" * 5000])
    assert " | " not in findings_text([finding(path=())], ["", "name: Dev"])


def test_a_value_cannot_pose_as_a_finding() -> None:
    """Line breaks and control characters in what a file says stay inside their line, as visible signs."""
    evil = "x\ne.yaml:1:1  error  IF-FAKE\x1b[2J\r\x9b\u202e"
    text = findings_text([finding(what=evil, why=evil, fix=evil, path=(evil,))], ["", evil])
    assert not any(line.startswith("e.yaml:1:1") for line in text.splitlines())
    assert all(c == "\n" or c.isprintable() for c in text)
    assert one_line(evil).count("\n") == 0 and printable("a\tb\nc") == "a\tb\nc"


def test_counts() -> None:
    """Each severity with its number, worst first."""
    assert counted([]) == "no findings"
    assert counted([finding()]) == "1 error"
    assert counted([finding("info"), finding(), finding("warning"), finding()]) == "2 errors, 1 warning, 1 info"


def test_templates_are_found_or_their_absence_is_explained(tmp_path: Path) -> None:
    """Without templates the message says where they should be; another package's folder is not taken for ours."""
    assert (template_folder() / "environment").is_dir()
    package = tmp_path / "site-packages" / "inferfab"
    package.mkdir(parents=True)
    (tmp_path / "templates").mkdir()
    with pytest.raises(NoTemplates, match="inferfab/templates"):
        template_folder(package)
    (package / "templates").mkdir()
    assert template_folder(package) == package / "templates"


@pytest.mark.parametrize("cloud", ["aws", "gcp"])
def test_the_starter_quotes_its_name(cloud: str) -> None:
    """Quotes, braces and YAML words in a name stay one value: the file is sound except for that name."""
    for name in ('a"b', "a: b", "{{ x }}", "null", "#", "&a", "'"):
        found = check(load_text(starter(name, cloud))).findings
        assert [f.path for f in found] == ([] if name == "null" else [("name",)]), name
