"""All rules over one file: every error at once, also behind parts that are broken."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import inferfab.checks.adapters
import inferfab.checks.autoscaling
import inferfab.checks.availability
import inferfab.checks.capacity
import inferfab.checks.capacity_dates
import inferfab.checks.catalog_references
import inferfab.checks.changes
import inferfab.checks.delivery
import inferfab.checks.engine
import inferfab.checks.engine_settings
import inferfab.checks.entrances
import inferfab.checks.fabric
import inferfab.checks.file_rules
import inferfab.checks.flag_owners
import inferfab.checks.gateway
import inferfab.checks.gcp
import inferfab.checks.generations
import inferfab.checks.host_memory
import inferfab.checks.images
import inferfab.checks.joining
import inferfab.checks.layout
import inferfab.checks.marking
import inferfab.checks.memory
import inferfab.checks.model_records
import inferfab.checks.money
import inferfab.checks.names
import inferfab.checks.network_sizes
import inferfab.checks.networks
import inferfab.checks.node_groups
import inferfab.checks.objects
import inferfab.checks.observability
import inferfab.checks.observed
import inferfab.checks.offers
import inferfab.checks.parallelism
import inferfab.checks.placement
import inferfab.checks.precisions
import inferfab.checks.promises
import inferfab.checks.promises_alone
import inferfab.checks.rack_clusters
import inferfab.checks.rack_inventory
import inferfab.checks.rack_leaves
import inferfab.checks.rack_pools
import inferfab.checks.reach
import inferfab.checks.references
import inferfab.checks.running
import inferfab.checks.scaling
import inferfab.checks.serving.accepted
import inferfab.checks.serving.agreement
import inferfab.checks.serving.devices
import inferfab.checks.serving.flags
import inferfab.checks.serving.graphs
import inferfab.checks.serving.images
import inferfab.checks.serving.immutable
import inferfab.checks.serving.kv_events
import inferfab.checks.serving.kv_roles
import inferfab.checks.serving.memory
import inferfab.checks.serving.planner
import inferfab.checks.serving.ports
import inferfab.checks.serving.resources
import inferfab.checks.serving.scaling
import inferfab.checks.serving.selecting
import inferfab.checks.serving.shapes
import inferfab.checks.serving.speculative
import inferfab.checks.serving.texts
import inferfab.checks.serving.transport
import inferfab.checks.serving.updates
import inferfab.checks.serving.volumes
import inferfab.checks.shared_models
import inferfab.checks.system_nodes
import inferfab.checks.tenants
import inferfab.checks.tier_order
import inferfab.checks.traffic
import inferfab.checks.traffic_profiles
import inferfab.checks.updates  # noqa: F401 - importing a module enters its rules
from inferfab.catalog.engines import engine_pairs
from inferfab.checks.facts import Facts
from inferfab.checks.registry import run_stage
from inferfab.checks.rule_changes import changed
from inferfab.environment.cells import NewNetwork
from inferfab.environment.engine import Engine
from inferfab.environment.environment import Environment
from inferfab.environment.loading import Loaded, load
from inferfab.environment.pools import SharedPool
from inferfab.findings import Finding, has_errors, ranked
from inferfab.plan.fleet import FleetPlan, plan
from inferfab.plan.observed import Observed
from inferfab.plan.tiers import DEFAULT_TIERS


@dataclass(frozen=True)
class Checked:
    """Findings, and the plan of the whole file where it could be made."""

    findings: tuple[Finding, ...]
    plan: FleetPlan | None
    """None when a part of the file is broken: a plan of the rest would not be what the file asks for."""
    switched_off: tuple[Finding, ...] = ()
    """What the environment switched off under `checks`, with its reasons."""

    @property
    def ok(self) -> bool:
        return not has_errors(self.findings)


def check(loaded: Loaded | str | Path, observed: Observed | None = None, *, as_of: date | None = None) -> Checked:
    """Run every rule on what :func:`~inferfab.load` read, or on the file at a path.

    Never raises for what stands in the file.

    :param observed: what `preflight` saw in the account; rules then hold the plan against it. Default: nothing.
    :param as_of: the day that dates are held against (capacity that ends). Default: none, and such rules find nothing.

    :raises TypeError: for anything else; an :class:`Environment` no longer knows its lines.
    """
    if isinstance(loaded, (str, Path)):
        loaded = load(loaded)
    if not isinstance(loaded, Loaded):
        raise TypeError(f"check takes a path or what load(path) returned, not {type(loaded).__name__}")
    findings = list(loaded.findings)
    environment = loaded.environment
    if environment is None:
        return Checked(ranked(findings), None)
    references = list(run_stage("reference", Facts(loaded, environment)))
    findings += references
    whole = not has_errors(findings)
    sound = environment if whole else sound_part(loaded, environment, [f for f in references if f.severity == "error"])
    if sound is None:
        return Checked(ranked(findings), None)
    fleet = plan(sound, observed)
    found = run_stage("plan", Facts(loaded, sound, fleet, as_of))
    # In a broken file only errors are said of the rest: sums and shares of it mean nothing, and what follows
    # from a mistake that is reported already would bury it.
    findings += [f for f in found if whole or (f.severity == "error" and f.rule.split("-")[1] not in _OF_THE_WHOLE)]
    # A rule of dates that was not asked finds nothing, which is no reason to call its change useless.
    kept, off = changed(findings, Facts(loaded, environment, as_of=as_of), whole=whole)
    return Checked(ranked(kept), fleet if whole else None, ranked(off))


_OF_THE_WHOLE = ("CST", "PRM")
_DROPS = {"IF-REF-002", "IF-REF-005", "IF-CLD-001"}
"""Errors after which an entry cannot be planned at all; every other is mended below, or harms no arithmetic."""


def sound_part(loaded: Loaded, environment: Environment, errors: Iterable[Finding]) -> Environment | None:
    """What can still be planned: entries that refer to nothing are left out, and a fabric, range or engine that
    cannot be is replaced by the default, so that its neighbours are still checked. None if nothing is left."""
    dropped: set[tuple[str, ...]] = set()
    mended: set[tuple[str, ...]] = set()
    for finding in errors:
        place = tuple(str(part) for part in finding.path)
        if finding.rule.startswith("IF-RCK-") and place[0] == "cells":
            # An inventory that cannot be says nothing about what would stand on it.
            dropped.add(place[:2])
        if finding.rule in _DROPS:
            dropped.add(place[:4] if place[0] == "cells" else place[:2])
        mended.add((finding.rule, *place[:2]))
    models = {n: m for n, m in environment.models.items() if ("models", n) not in dropped}
    pools = {}
    for name, pool in environment.pools.items():
        needs = [m.model for m in pool.models] if isinstance(pool, SharedPool) else [pool.model]
        # Tiers that are all broken were set aside whole: the defaults do not stand in for them.
        known_tier = pool.tier in (environment.tiers or (() if loaded.has("tiers") else DEFAULT_TIERS))
        if ("pools", name) not in dropped and all(m in models for m in needs) and known_tier:
            wrong_fabric = ("IF-FAB-001", "pools", name) in mended
            pools[name] = pool.model_copy(update={"fabric": "auto"}) if wrong_fabric else pool
    cells = {}
    for name, cell in environment.cells.items():
        if ("cells", name) in dropped:
            continue
        here = {p: o for p, o in cell.pools.items() if p in pools and ("cells", name, "pools", p) not in dropped}
        update: dict[str, object] = {"pools": here}
        if ("IF-FAB-001", "cells", name) in mended or {
            ("IF-NET-001", "cells", name),
            ("IF-NET-002", "cells", name),
        } & mended:
            update["fabric"] = None
        if {("IF-NET-001", "cells", name), ("IF-NET-002", "cells", name)} & mended:
            update["network"] = NewNetwork(cidr="10.0.0.0/16")
        if here:
            cells[name] = cell.model_copy(update=update)
    if not (models and pools and cells):
        return None
    whole: dict[str, object] = {"models": models, "pools": pools, "cells": cells}
    if any(rule == "IF-REF-001" for rule, *_ in mended):
        whole["engine"] = Engine(dynamo=next(iter(engine_pairs())))
    return environment.model_copy(update=whole)
