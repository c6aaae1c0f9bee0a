"""The example files are what the generators write, and the command finds in them what they say."""

import re
from pathlib import Path

import pytest
from example_files import HERE, example_files

from inferfab.checks.check import check

FILES = example_files()
RULES = sorted({path.name[: len("IF-ENG-001")] for path in FILES})


def test_files_are_current() -> None:
    """`python tests/checks/example_files.py` would change nothing."""
    assert set(HERE.iterdir()) == set(FILES)
    assert [p.name for p, text in FILES.items() if p.read_text(encoding="utf-8") != text] == []
    assert len(RULES) > 80


@pytest.mark.parametrize("rule", RULES)
def test_check_agrees(rule: str) -> None:
    """The rule speaks of the one file at the place named, and is silent about the other."""
    fails, passes = (Path(HERE / f"{rule}.{kind}.yaml") for kind in ("fails", "passes"))
    found = [f for f in check(fails).findings if f.rule == rule]
    said = re.search(r"^# Found: (\w+) at (.*)$", fails.read_text(encoding="utf-8"), re.MULTILINE)
    assert said is not None
    assert (said[1], said[2]) in {(f.severity, f.dotted_path) for f in found}
    assert [f for f in check(passes).findings if f.rule == rule] == []
