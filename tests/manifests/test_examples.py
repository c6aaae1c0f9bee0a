"""Each rule that judges manifests: files that it must speak of, at the very place, and files that it must not."""

import re
from collections import Counter
from pathlib import Path

import pytest

from inferfab.checks.explain import all_rules
from inferfab.checks.manifests import check_manifests
from inferfab.findings import Finding
from inferfab.manifests.read import read_manifests

HERE = Path(__file__).parent / "examples"
FAILS = sorted(HERE.glob("*.fails.yaml"))
PASSES = sorted(HERE.glob("*.passes.yaml"))
EXPECT = re.compile(r"^# expect: (\d+) (error|warning|info) at: (.+)$", re.MULTILINE)


def rule_of(path: Path) -> str:
    return path.name[: len("IF-ENG-001")]


def findings(path: Path, rule: str) -> list[Finding]:
    return [f for f in check_manifests(read_manifests([path])).findings if f.rule == rule]


@pytest.mark.parametrize("path", FAILS, ids=lambda p: p.name.removesuffix(".fails.yaml"))
def test_fails(path: Path) -> None:
    """As many findings as the file announces, of that severity, and one begins at the text that it quotes."""
    text = path.read_text(encoding="utf-8")
    expected = EXPECT.search(text)
    assert expected is not None
    number, severity, quoted = int(expected[1]), expected[2], expected[3]
    found = findings(path, rule_of(path))
    shown = [(str(f.location), f.severity, f.what) for f in found]
    assert len(found) == number, shown
    assert severity in {f.severity for f in found}, shown
    lines = text.split("\n")
    starts = [lines[f.location.line - 1][f.location.column - 1 :] for f in found]
    assert any(start.startswith(quoted) for start in starts), (quoted, shown, starts)
    for finding in found:
        assert finding.fix.strip()
        assert finding.path
        assert len(finding.what) < 400
    assert "# Why" in text, "an example says by which source it is bad"


@pytest.mark.parametrize("path", PASSES, ids=lambda p: p.name.removesuffix(".passes.yaml"))
def test_passes(path: Path) -> None:
    """No finding of the rule in the file without the fault."""
    assert findings(path, rule_of(path)) == []


def test_every_rule_has_both() -> None:
    """A rule that was not seen to speak and to stay silent is not proven."""
    judging = {r.id for r in all_rules() if r.run_manifests is not None}
    fails, passes = (Counter(map(rule_of, paths)) for paths in (FAILS, PASSES))
    assert set(fails) == judging
    assert set(passes) == judging
