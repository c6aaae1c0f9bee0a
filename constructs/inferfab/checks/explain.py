"""What a rule means, by its id."""

import inferfab.checks.check  # noqa: F401 - enters every rule
from inferfab.checks.registry import RULES, Rule


def explain(rule_id: str) -> Rule | None:
    """The rule of that id, in any case of letters; None if there is none."""
    return RULES.get(rule_id.upper())


def all_rules() -> tuple[Rule, ...]:
    return tuple(RULES[name] for name in sorted(RULES))
