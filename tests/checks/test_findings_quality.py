"""Findings say a number or a name, tell what to write, and stand in the file; what they suggest works."""

import re
from typing import Any

import pytest
from mechanic import follow
from rule_examples import Fails, Passes, all_examples, findings_of
from test_rule_registry import RULE_FILES

from inferfab.findings import Finding

assert RULE_FILES
FAILING: list[tuple[str, Fails]] = all_examples(Fails)
REPRS = re.compile(
    r"PosixPath\(|<class|Annotated|<[\w.]+ object at|\bNone\b|\bTrue\b|\bFalse\b|frozenset\(|dict_keys|\{[\w.!:]*\}"
    r"|Quantity\(|Range\(|\bnan\b|\binf\b|e[+-]\d\d"
)
MECHANICAL = {
    "IF-CLD-001", "IF-CLD-002", "IF-CST-001", "IF-CST-003", "IF-ENG-001", "IF-ENG-003", "IF-ENG-004", "IF-ENG-005",
    "IF-ENG-006", "IF-ENG-007", "IF-FAB-001", "IF-FAB-003", "IF-MEM-001", "IF-MEM-002", "IF-MEM-003", "IF-MEM-004",
    "IF-MEM-005", "IF-MEM-006", "IF-MEM-007", "IF-MEM-008", "IF-NET-001", "IF-NET-002", "IF-NET-004", "IF-PLC-001",
    "IF-PLC-003", "IF-PLC-007", "IF-PRM-006", "IF-REF-001", "IF-REF-002", "IF-REF-003", "IF-REF-005", "IF-REF-007",
}  # fmt: skip
"""Rules of which at least one failing example has a fix that can be followed without thinking."""


def findings() -> list[Any]:
    return [pytest.param(rule, each, id=f"{rule}-{n}") for n, (rule, each) in enumerate(FAILING)]


def named(finding: Finding, example: Fails) -> bool:
    """A number, something quoted, or a name of the file."""
    sections = ("models", "pools", "cells", "tiers")
    names = {"aws", "gcp"} | {name for section in sections for name in example.env.tree.get(section, ())}
    return bool(re.search(r"\d|`[^`]+`", finding.what)) or any(name in finding.what for name in names)


UNNAMED = {
    # The place says it all: there is one draft, one offload, one pipeline.
    "IF-REF-004", "IF-REF-009", "IF-ENG-004", "IF-ENG-006", "IF-ENG-007", "IF-CLD-002",
}  # fmt: skip


@pytest.mark.parametrize(("rule", "example"), findings())
def test_words(rule: str, example: Fails) -> None:
    """What is wrong with numbers or names; a fix that is an instruction; no leftovers of Python."""
    finding = example.finding(rule)
    if rule not in UNNAMED:
        assert named(finding, example), finding.what
    assert finding.fix.strip()
    assert finding.fix != finding.what
    for words in (finding.what, finding.fix, finding.why, finding.value):
        assert not REPRS.search(words), words
        assert "  " not in words, words
        assert words == words.strip()
    assert len(finding.what) < 400, finding.what
    assert not finding.what.endswith("."), finding.what


@pytest.mark.parametrize(("rule", "example"), findings())
def test_place(rule: str, example: Fails) -> None:
    """Line and column lie in the file, on the key or value that the path names."""
    finding = example.finding(rule)
    lines = example.env.text.splitlines()
    assert 1 <= finding.location.line <= len(lines)
    line = lines[finding.location.line - 1]
    assert 1 <= finding.location.column <= len(line)
    assert line[finding.location.column - 1].strip(), (line, finding.location)


@pytest.mark.parametrize(("rule", "example"), findings())
def test_following_the_fix(rule: str, example: Fails) -> None:
    """Where a fix can be followed to the letter, the finding is gone afterwards, and no file rule complains."""
    finding = example.finding(rule)
    if example.bend is not None:
        return  # no environment leads there
    mended = follow(example.env, finding)
    if mended is None:
        return
    left = [f for f in findings_of(mended, rule, None) if (f.path, f.what) == (finding.path, finding.what)]
    at_place = [f for f in findings_of(mended, rule, None) if f.path == finding.path and f.severity == "error"]
    assert not left, f"{finding.fix}: {left[0].what}"
    assert not at_place or example.count > 1, f"{finding.fix}: still {at_place[0].what}"
    broken = [f for f in mended.check().findings if f.rule.startswith("IF-ENV")]
    assert not broken, broken


def test_enough_fixes_are_mechanical() -> None:
    """The followed fixes are of many rules; those rules keep fixes that can be followed."""
    plain = [(rule, each) for rule, each in FAILING if each.bend is None]
    followed = {rule for rule, each in plain if follow(each.env, each.finding(rule)) is not None}
    assert len(followed) >= 12
    assert followed >= MECHANICAL, MECHANICAL - followed


def test_passing_examples_are_sound_environments() -> None:
    """A passing example plans: it is a neighbour on the right side, not a file that another error cut short."""
    broken = {
        rule: [f"{f.rule} {f.dotted_path}: {f.what}" for f in each.env.check().findings if f.severity == "error"]
        for rule, each in all_examples(Passes)
        if each.env.check().plan is None
    }
    assert not broken
