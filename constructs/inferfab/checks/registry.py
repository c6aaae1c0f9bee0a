"""Rules and how to run them. A rule is a small function over a model; its id never changes."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from inferfab.findings import Finding, Location, Severity, YamlPath

if TYPE_CHECKING:
    from inferfab.checks.changes import Change
    from inferfab.checks.facts import Facts
    from inferfab.manifests.model import Manifests

Layer = Literal["file", "environment", "cloud", "fabric", "cluster", "pod", "engine", "cost", "promise"]
Stage = Literal["file", "reference", "plan", "manifest file", "manifests", "change", "cluster"]
"""When a rule of an environment runs: while reading, before planning, on the plan. Or what it needs: nothing but
manifests, two plans, or a running cluster. Rules of plans and of changes may run on manifests as well."""


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
    at: Location | None = None
    """Of a manifest: the very place, which may be a word inside of a scalar. None in an environment file, where the
    path says it."""


Run = Callable[["Facts"], Iterable[Problem]]
RunManifests = Callable[["Manifests"], Iterable[Problem]]
RunChange = Callable[["Change"], Iterable[Problem]]
RunChangeManifests = Callable[["Manifests", "Manifests"], Iterable[Problem]]


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
    run_manifests: RunManifests | None = field(default=None, compare=False)
    run_change: RunChange | None = field(default=None, compare=False)
    run_change_manifests: RunChangeManifests | None = field(default=None, compare=False)


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


def manifest_rule(
    id: str, title: str, *, joins: tuple[Layer, ...], why: str, do: str, source: str, severity: Severity = "error"
) -> Callable[[RunManifests], RunManifests]:
    """Make a function over manifests a rule of its own."""

    def enter(run: RunManifests) -> RunManifests:
        declare(Rule(id, title, severity, joins, why, do, source, "manifests", run_manifests=run))
        return run

    return enter


def on_manifests(id: str) -> Callable[[RunManifests], RunManifests]:
    """Let a rule of environments judge manifests too: one kind of mistake has one id.

    :raises KeyError: if there is no such rule yet: our bug.
    """

    def enter(run: RunManifests) -> RunManifests:
        RULES[id] = replace(RULES[id], run_manifests=run)
        return run

    return enter


def on_plan(id: str) -> Callable[[Run], Run]:
    """Let a rule of manifests judge plans too."""

    def enter(run: Run) -> Run:
        RULES[id] = replace(RULES[id], run=run, stage="plan")
        return run

    return enter


def run_on_manifests(manifests: "Manifests") -> Iterator[Finding]:
    """Findings of every rule that judges manifests."""
    for each in sorted(RULES.values(), key=lambda r: r.id):
        if each.run_manifests is not None:
            for problem in each.run_manifests(manifests):
                yield finding_in_manifests(each, problem)


def finding_in_manifests(each: Rule, problem: Problem) -> Finding:
    """A problem completed by its rule's words."""
    assert problem.at is not None, f"{each.id} does not say where in the manifests"
    return Finding(
        rule=each.id,
        severity=problem.severity or each.severity,
        location=problem.at,
        path=problem.path,
        value=problem.value,
        what=problem.what,
        why=each.why,
        fix=problem.fix,
    )


def run_stage(stage: Stage, facts: "Facts") -> Iterator[Finding]:
    """Findings of every rule of a stage."""
    for each in sorted(RULES.values(), key=lambda r: r.id):
        if each.stage != stage or each.run is None:
            continue
        for problem in each.run(facts):
            yield finding_in_plan(each, problem, facts)


def finding_in_plan(each: Rule, problem: Problem, facts: "Facts") -> Finding:
    """A problem of a plan, with its place in the environment file."""
    source = facts.loaded.source
    return Finding(
        rule=each.id,
        severity=problem.severity or each.severity,
        location=source.location(problem.path, of_key=problem.of_key),
        path=problem.path,
        value=problem.value or source.text(problem.path),
        what=problem.what,
        why=each.why,
        fix=problem.fix,
    )
