"""All rules over one file: every error at once, also behind parts that are broken."""

from collections.abc import Iterable
from dataclasses import dataclass

import inferfab.checks.engine
import inferfab.checks.fabric
import inferfab.checks.file_rules
import inferfab.checks.memory
import inferfab.checks.money
import inferfab.checks.names
import inferfab.checks.networks
import inferfab.checks.offers
import inferfab.checks.placement
import inferfab.checks.promises
import inferfab.checks.references  # noqa: F401 - importing a module enters its rules
from inferfab.catalog.engines import engine_pairs
from inferfab.checks.facts import Facts
from inferfab.checks.registry import run_stage
from inferfab.environment.engine import Engine
from inferfab.environment.environment import Environment
from inferfab.environment.loading import Loaded
from inferfab.environment.pools import SharedPool
from inferfab.findings import Finding, has_errors, ranked
from inferfab.plan.fleet import FleetPlan, plan


@dataclass(frozen=True)
class Checked:
    """Findings, and the plan of the whole file where it could be made."""

    findings: tuple[Finding, ...]
    plan: FleetPlan | None
    """None when a part of the file is broken: a plan of the rest would not be what the file asks for."""

    @property
    def ok(self) -> bool:
        return not has_errors(self.findings)


def check(loaded: Loaded) -> Checked:
    """Run every rule. Never raises for what stands in the file."""
    findings = list(loaded.findings)
    environment = loaded.environment
    if environment is None:
        return Checked(ranked(findings), None)
    references = list(run_stage("reference", Facts(loaded, environment)))
    findings += references
    whole = not has_errors(findings)
    sound = environment if whole else sound_part(environment, [f for f in references if f.severity == "error"])
    if sound is None:
        return Checked(ranked(findings), None)
    fleet = plan(sound)
    found = run_stage("plan", Facts(loaded, sound, fleet))
    # What is broken elsewhere makes sums, shares and budgets of the rest meaningless.
    findings += [f for f in found if whole or f.rule.split("-")[1] not in _OF_THE_WHOLE]
    return Checked(ranked(findings), fleet if whole else None)


_OF_THE_WHOLE = ("CST", "PRM")


def sound_part(environment: Environment, errors: Iterable[Finding]) -> Environment | None:
    """What can still be planned without the entries that the errors name; None if nothing is left."""
    bad: dict[str, set[str]] = {"models": set(), "pools": set(), "cells": set()}
    overrides: set[tuple[str, str]] = set()
    update: dict[str, object] = {}
    for finding in errors:
        section = str(finding.path[0]) if finding.path else ""
        if section == "cells" and len(finding.path) >= 4 and finding.path[2] == "pools":
            overrides.add((str(finding.path[1]), str(finding.path[3])))
        elif section in bad and len(finding.path) >= 2:
            bad[section].add(str(finding.path[1]))
        elif section == "engine":
            update["engine"] = Engine(dynamo=next(iter(engine_pairs())))
        elif section == "routing":
            update["routing"] = None
    models = {n: m for n, m in environment.models.items() if n not in bad["models"]}
    tiers = environment.tiers
    pools = {}
    for name, pool in environment.pools.items():
        needs = [m.model for m in pool.models] if isinstance(pool, SharedPool) else [pool.model]
        known_tier = pool.tier in tiers if tiers else True
        if name not in bad["pools"] and all(m in models for m in needs) and known_tier:
            pools[name] = pool
    cells = {}
    for name, cell in environment.cells.items():
        here = {p: o for p, o in cell.pools.items() if p in pools and (name, p) not in overrides}
        if name not in bad["cells"] and here:
            cells[name] = cell.model_copy(update={"pools": here})
    if not (models and pools and cells):
        return None
    return environment.model_copy(update={**update, "models": models, "pools": pools, "cells": cells})
