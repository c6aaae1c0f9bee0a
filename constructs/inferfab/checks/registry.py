"""Rules and how to run them. A rule is a small function over a model; its id never changes."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from inferfab.findings import Finding, Severity, YamlPath

if TYPE_CHECKING:
    from inferfab.checks.facts import Facts

Layer = Literal["file", "environment", "cloud", "fabric", "cluster", "pod", "engine", "cost", "promise"]
Stage = Literal["file", "reference", "plan"]


@dataclass(frozen=True)
class Problem:
    """What a rule saw at one place of the environment file; the rule's own words complete it to a finding."""

    path: YamlPath
    what: str
    fix: str
    value: str = ""
    severity: Severity | None = None
    of_key: bool = False
    """The key is at fault, not its value."""


Run = Callable[["Facts"], Iterable[Problem]]


@dataclass(frozen=True)
class Rule:
    """One rule. ``file`` rules are found while reading and have nothing to run."""

    id: str
    title: str
    severity: Severity
    joins: tuple[Layer, ...]
    why: str
    do: str
    source: str
    stage: Stage
    run: Run | None = field(default=None, compare=False)


class DuplicateRule(Exception):
    """Two rules claim one id: our bug."""


RULES: dict[str, Rule] = {}


def declare(rule: Rule) -> Rule:
    """Enter a rule into the registry.

    :raises DuplicateRule: if the id is taken.
    """
    if rule.id in RULES:
        raise DuplicateRule(rule.id)
    RULES[rule.id] = rule
    return rule


def rule(
    id: str,
    title: str,
    *,
    joins: tuple[Layer, ...],
    why: str,
    do: str,
    source: str,
    severity: Severity = "error",
    stage: Stage = "plan",
) -> Callable[[Run], Run]:
    """Make a function over :class:`Facts` a rule."""

    def enter(run: Run) -> Run:
        declare(Rule(id, title, severity, joins, why, do, source, stage, run))
        return run

    return enter


def run_stage(stage: Stage, facts: "Facts") -> Iterator[Finding]:
    """Findings of every rule of a stage."""
    for each in sorted(RULES.values(), key=lambda r: r.id):
        if each.stage != stage or each.run is None:
            continue
        for problem in each.run(facts):
            source = facts.loaded.source
            yield Finding(
                rule=each.id,
                severity=problem.severity or each.severity,
                location=source.location(problem.path, of_key=problem.of_key),
                path=problem.path,
                value=problem.value or source.text(problem.path),
                what=problem.what,
                why=each.why,
                fix=problem.fix,
            )
