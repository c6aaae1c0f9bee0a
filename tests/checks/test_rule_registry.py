"""Every rule of the registry: complete in words, proven by examples, and its id never vanishes."""

import re
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest
from rule_examples import EXAMPLES, Fails, Passes, all_examples

from inferfab.checks.explain import all_rules, explain

# Importing a module of rules enters its examples.
RULE_FILES = tuple(import_module(path.stem) for path in sorted(Path(__file__).parent.glob("test_rules_*.py")))
GOLDEN = Path(__file__).with_name("rule_ids.txt")


def test_every_rule_that_runs_has_a_failing_and_a_passing_example() -> None:
    """A rule that this suite has not seen fail and pass is not proven."""
    runs = {rule.id for rule in all_rules() if rule.run is not None}
    assert {rule for rule, _ in all_examples(Fails)} == runs
    assert {rule for rule, _ in all_examples(Passes)} == runs


def test_every_group_of_examples_is_a_test() -> None:
    """Examples are proven by the test that the decorator makes of them; none is overwritten by one of its name."""
    tests = [
        value for module in RULE_FILES for name, value in vars(module).items()
        if name.startswith("test_") and str(getattr(value, "__doc__", "")).startswith("IF-")
    ]  # fmt: skip
    assert Counter(str(test.__doc__)[:10] for test in tests) == Counter({r: len(w) for r, w in EXAMPLES.items()})


def test_ids_and_words() -> None:
    """Ids look alike; each rule says why it matters, what to do and where it comes from, in sentences of its own."""
    for rule in all_rules():
        assert re.fullmatch(r"IF-[A-Z]{3}-\d{3}", rule.id)
        for words in (rule.title, rule.why, rule.do, rule.source):
            assert words.strip(), rule.id
            assert "  " not in words, (rule.id, words)
        assert rule.why.endswith("."), rule.id
        assert rule.do.endswith("."), rule.id
        assert rule.joins, rule.id
        assert rule.severity in ("error", "warning", "info")
        assert explain(rule.id.lower()) is rule
    titles = Counter(rule.title for rule in all_rules())
    assert not [title for title, count in titles.items() if count > 1]


def test_ids_never_vanish() -> None:
    """Ids stand in scripts, reviews and suppressions: the list only grows, and a new id is entered with its rule."""
    golden = GOLDEN.read_text(encoding="utf-8").split()
    assert golden == sorted(set(golden))
    now = [rule.id for rule in all_rules()]
    assert not set(golden) - set(now), "an id vanished; a rule that is given up stays with nothing to run"
    assert not set(now) - set(golden), f"enter new ids in {GOLDEN.name}"


@pytest.mark.parametrize(
    ("stage", "kinds"),
    [("file", 11), ("reference", 21), ("plan", 60), ("manifest file", 6), ("manifests", 19), ("change", 3)],
)
def test_stages(stage: str, kinds: int) -> None:
    """Only what is found while reading has nothing to run; each other stage runs over what it is about."""
    rules = [rule for rule in all_rules() if rule.stage == stage]
    assert len(rules) >= kinds
    assert all((rule.run is not None) == (stage in ("reference", "plan")) for rule in rules)
    assert all((rule.run_change is not None) == (stage == "change") for rule in rules)
    if stage == "manifests":
        assert all(rule.run_manifests is not None for rule in rules)
