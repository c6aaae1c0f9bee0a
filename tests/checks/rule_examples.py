"""Failing and passing examples of rules, written as generators and collected for the tests over all rules.

``@examples("IF-MEM-001")`` makes a generator of :class:`Fails` and :class:`Passes` a test. Every rule needs both.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

import yaml

from environments import Env, Path
from inferfab.checks.facts import Facts
from inferfab.checks.registry import RULES, run_stage
from inferfab.environment.loading import load_text
from inferfab.findings import Finding, dotted
from inferfab.plan.fleet import FleetPlan, plan

Bend = Callable[[FleetPlan], FleetPlan]
"""Changes a plan into one that no environment of today's catalog leads to."""


def findings_of(env: Env, rule: str, bend: Bend | None, as_of: date | None = None) -> list[Finding]:
    if bend is None:
        return [f for f in env.check().findings if f.rule == rule]
    loaded = load_text(env.text)
    assert loaded.environment is not None
    facts = Facts(loaded, loaded.environment, bend(plan(loaded.environment)), as_of)
    return [f for f in run_stage(RULES[rule].stage, facts) if f.rule == rule]


def lines_of(text: str, path: Path) -> set[int]:
    """Lines at which a finding about ``path`` may stand: its key's, or its value's first.

    Of a path that the text lacks: the nearest key above. Read with PyYAML's node tree, not with our own composer.
    """
    node: Any = yaml.compose(text, Loader=yaml.SafeLoader)
    lines = {1}
    for part in path:
        if isinstance(node, yaml.MappingNode):
            hit = next(((k, v) for k, v in node.value if k.value == str(part)), None)
            if hit is None:
                return {min(lines)}
            node = hit[1]
            lines = {hit[0].start_mark.line + 1, hit[1].start_mark.line + 1}
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            lines = {node.start_mark.line + 1}
        else:
            return {min(lines)}
    return lines


@dataclass(frozen=True)
class Fails:
    """The environment breaks the rule at ``at``, and the finding's ``what`` says all of ``says``."""

    env: Env
    at: str
    says: tuple[str, ...]
    severity: str = "error"
    count: int = 1
    """Findings of the rule in all; the one at ``at`` that says ``says`` is one of them."""
    fix_says: tuple[str, ...] = ()
    bend: Bend | None = None
    as_of: date | None = None
    """With ``bend`` only: no example file can name a day."""

    def finding(self, rule: str) -> Finding:
        found = findings_of(self.env, rule, self.bend, self.as_of)
        hits = [f for f in found if f.dotted_path == self.at and all(word in f.what for word in self.says)]
        shown = "\n".join(f"{f.severity} {f.dotted_path}: {f.what} -> {f.fix}" for f in found)
        assert len(hits) == 1, f"{rule} at {self.at} saying {self.says}: {len(hits)} of\n{shown}"
        assert len(found) == self.count, shown
        return hits[0]

    def prove(self, rule: str) -> None:
        finding = self.finding(rule)
        assert finding.severity == self.severity, finding
        assert dotted(finding.path) == self.at
        assert finding.location.line in lines_of(self.env.text, finding.path), finding.location
        for word in self.fix_says:
            assert word in finding.fix, finding.fix


@dataclass(frozen=True)
class Passes:
    """The environment keeps the rule: no finding of it."""

    env: Env
    bend: Bend | None = None
    as_of: date | None = None
    """With ``bend`` only: no example file can name a day."""

    def prove(self, rule: str) -> None:
        found = findings_of(self.env, rule, self.bend, self.as_of)
        assert not found, "\n".join(f"{f.severity} {f.dotted_path}: {f.what} -> {f.fix}" for f in found)
        # A neighbour that does not even load would pass anything.
        assert not [f for f in self.env.check().findings if f.rule.startswith("IF-ENV")]


Example = Fails | Passes
Write = Callable[[], Iterator[Example]]
EXAMPLES: dict[str, list[Write]] = {}


def examples(rule: str) -> Callable[[Write], Callable[[], None]]:
    """Enter a generator of examples for a rule, and make it a test that proves them."""

    def enter(write: Write) -> Callable[[], None]:
        EXAMPLES.setdefault(rule, []).append(write)

        def test() -> None:
            kinds = set()
            for example in write():
                example.prove(rule)
                kinds.add(type(example))
            assert kinds == {Fails, Passes}, f"{rule} needs a failing and a passing example"

        test.__name__, test.__qualname__, test.__module__ = write.__name__, write.__qualname__, write.__module__
        test.__doc__ = f"{rule}: {write.__doc__}"
        return test

    return enter


def all_examples(kind: type[Fails] | type[Passes]) -> list[tuple[str, Any]]:
    return [
        (rule, each)
        for rule, writers in sorted(EXAMPLES.items())
        for write in writers
        for each in write()
        if isinstance(each, kind)
    ]


def bend_groups(**update: Any) -> Bend:
    """Every node group of the plan with other figures."""

    def bend(fleet: FleetPlan) -> FleetPlan:
        cells = tuple(
            c.model_copy(update={"node_groups": tuple(g.model_copy(update=update) for g in c.node_groups)})
            for c in fleet.cells
        )
        return fleet.model_copy(update={"cells": cells})

    return bend
