"""Examples of rules as environment files: for people who want to see a rule speak, and for other tools.

Written from the generators in ``test_rules_*.py`` (``python tests/checks/example_files.py``), and held current by a
test. Rules that only a bent plan can break have no file: no environment of today's catalog leads there.
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent / "examples"
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent / "manifests")]

from rule_examples import EXAMPLES, Fails, Passes  # noqa: E402
from test_rule_registry import RULE_FILES  # noqa: E402

from inferfab.checks.explain import explain  # noqa: E402

assert RULE_FILES


def example_files() -> dict[Path, str]:
    """Text by path: of each rule the first environment that breaks it and the first that keeps it."""
    files = {}
    for rule_id, writers in sorted(EXAMPLES.items()):
        examples = [e for write in writers for e in write()]
        fails = next((e for e in examples if isinstance(e, Fails) and e.bend is None), None)
        passes = next((e for e in examples if isinstance(e, Passes) and e.bend is None), None)
        rule = explain(rule_id)
        assert rule is not None
        if fails is None or passes is None:
            continue
        head = f"# {rule_id}: {rule.title}\n# Why: {rule.why}\n# Source: {rule.source}\n"
        place = f"# Found: {fails.severity} at {fails.at}\n"
        files[HERE / f"{rule_id}.fails.yaml"] = head + place + fails.env.text
        files[HERE / f"{rule_id}.passes.yaml"] = f"# {rule_id} is kept here.\n{passes.env.text}"
    return files


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    for path, text in example_files().items():
        path.write_text(text, encoding="utf-8", newline="\n")
