"""What an environment says about rules: is there such a rule, may it be lowered, and then lowering it."""

from collections.abc import Iterable, Iterator

from inferfab.checks.facts import Facts
from inferfab.checks.registry import RULES, Problem, Rule, rule
from inferfab.environment.problems import meant
from inferfab.environment.rule_changes import RuleChange
from inferfab.findings import SEVERITIES, Finding, YamlPath

_FORMAT = "inferfab's environment format, section `checks`"
_CHANGES_NOTHING = "IF-CHK-003"


def may_be_lowered(each: Rule) -> bool:
    """Not what leaves nothing to plan, nor what is said about this very section."""
    refuses = each.stage == "file" or (each.stage == "reference" and each.severity == "error")
    return not refuses and not each.id.startswith("IF-CHK-")


@rule(
    "IF-CHK-001",
    "a change to a rule that is not there",
    stage="reference",
    joins=("environment",),
    why="a misspelled id or pool would switch nothing off, and the finding that it was meant for would stay.",
    do="write the id of a rule as `inferfab explain` lists it, and a pool of the file.",
    source=_FORMAT,
)
def changed_rules_exist(facts: Facts) -> Iterator[Problem]:
    for position, change in enumerate(facts.environment.checks):
        if change.rule not in RULES:
            ids = sorted(RULES)
            yield Problem(("checks", position, "rule"), f"there is no rule `{change.rule}`", meant(change.rule, ids))
        if change.pool is not None and not facts.declares("pools", change.pool):
            fix = meant(change.pool, list(facts.environment.pools))
            yield Problem(("checks", position, "pool"), f"no pool is called `{change.pool}`", fix)


@rule(
    "IF-CHK-002",
    "a rule that stays as it is",
    stage="reference",
    joins=("environment",),
    why="without what the rule asks for there is no plan to apply, so nothing would be left to accept.",
    do="mend what the rule finds, and remove the entry.",
    source=_FORMAT,
)
def changed_rules_may_change(facts: Facts) -> Iterator[Problem]:
    for position, change in enumerate(facts.environment.checks):
        known = RULES.get(change.rule)
        if known is not None and not may_be_lowered(known):
            what = f"`{change.rule}` ({known.title}) cannot be lowered"
            yield Problem(("checks", position, "rule"), what, "remove this entry")


@rule(
    _CHANGES_NOTHING,
    "a change to a rule that changes nothing",
    severity="warning",
    stage="plan",
    joins=("environment",),
    why="who reads it believes that a risk was accepted; and should the rule find something one day, nobody is told.",
    do="remove the entry.",
    source=_FORMAT,
)
def changes_change_something(facts: Facts) -> Iterator[Problem]:
    return iter(())  # known only after all other rules have run: `changed` below


def changed(findings: Iterable[Finding], facts: Facts, *, whole: bool) -> tuple[list[Finding], list[Finding]]:
    """(findings as the environment wants them, findings that it switched off).

    :param whole: the whole file was checked, so that a change without a finding changes nothing.
    """
    changes = facts.environment.checks
    kept: list[Finding] = []
    off: list[Finding] = []
    used: set[int] = set()
    for finding in findings:
        hit = next((n for n, c in enumerate(changes) if _applies(c, finding)), None)
        if hit is None:
            kept.append(finding)
            continue
        used.add(hit)
        change = changes[hit]
        update: dict[str, object] = {"lowered_from": finding.severity, "accepted": change.reason}
        if change.severity == "off":
            off.append(finding.model_copy(update=update))
        else:
            kept.append(finding.model_copy(update={**update, "severity": change.severity}))
    if whole:
        kept += _useless(changes, used, facts)
    return kept, off


def _applies(change: RuleChange, finding: Finding) -> bool:
    if change.rule != finding.rule or not may_be_lowered(RULES[change.rule]):
        return False
    lower = change.severity == "off" or SEVERITIES.index(change.severity) > SEVERITIES.index(finding.severity)
    return lower and change.pool in (None, pool_of(finding.path))


def pool_of(path: YamlPath) -> str | None:
    """The pool that a finding is about; None if it is about something else."""
    if len(path) > 1 and path[0] == "pools":
        return str(path[1])
    if len(path) > 3 and path[0] == "cells" and path[2] == "pools":
        return str(path[3])
    return None


def _same(one: RuleChange, other: RuleChange) -> bool:
    return (one.rule, one.pool) == (other.rule, other.pool)


def _useless(changes: tuple[RuleChange, ...], used: set[int], facts: Facts) -> Iterator[Finding]:
    this, source = RULES[_CHANGES_NOTHING], facts.loaded.source
    for position, change in enumerate(changes):
        known = RULES.get(change.rule)
        if position in used or known is None or not may_be_lowered(known):
            continue  # of the latter two the rules above speak
        if known.stage == "cluster":
            continue  # only a running cluster knows
        where = f" about pool `{change.pool}`" if change.pool else ""
        path: YamlPath = ("checks", position)
        what = f"`{change.rule}` finds nothing{where} that `severity: {change.severity}` would lower"
        fix = "remove the entry"
        before = next((n for n in range(position) if _same(changes[n], change)), None)
        if before is not None:
            what = (f"`{change.rule}`{where} stands here a second time: entry {before + 1} counts, with "
                    f"`severity: {changes[before].severity}`")  # fmt: skip
            fix = "keep one of the two"
        yield Finding(
            rule=this.id,
            severity=this.severity,
            location=source.location(path),
            path=path,
            value=change.rule,
            what=what,
            why=this.why,
            fix=fix,
        )
