"""Whether the parts of a plan that was read refer to each other soundly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from inferfab.plan.names import node_group_name

if TYPE_CHECKING:
    from inferfab.plan.fleet import CellPlan, FleetPlan
    from inferfab.plan.pools import PoolPlan


def unsound(fleet: FleetPlan) -> Iterator[str]:
    """What a plan that :func:`inferfab.plan` made never has: a reference to nothing, or one name twice."""
    tiers, models = {t.name for t in fleet.tiers}, {m.name for m in fleet.models}
    cells = {c.name for c in fleet.cells}
    yield from _twice("tier", (t.name for t in fleet.tiers))
    yield from _twice("model", (m.name for m in fleet.models))
    yield from _twice("cell", (c.name for c in fleet.cells))
    for cell in fleet.cells:
        yield from _cell(cell, tiers, models, fleet.ownership.name if cell.cluster_exists else None)
    yield from _differ("cost.by_tier", set(fleet.cost.by_tier), tiers)
    yield from _differ("routing.routes", {r.tier for r in fleet.routing.routes}, {p.tier for p in fleet.pools})
    yield from _twice("route of tier", (r.tier for r in fleet.routing.routes))
    for route in fleet.routing.routes:
        serving = {p.cell for p in fleet.pools if p.tier == route.tier}
        yield from _differ(f"cells of route `{route.tier}`", {r.cell for r in route.cells}, serving)
    yield from _missing("routing.round_trips", (t.cell for t in fleet.routing.round_trips), "cell", cells)
    rated = {(a.tier, a.model) for a in fleet.availability}
    placed = {(p.tier, m) for p in fleet.pools for m in p.models}
    yield from _differ("availability", {f"{m} in {t}" for t, m in rated}, {f"{m} in {t}" for t, m in placed})


def _cell(cell: CellPlan, tiers: set[str], models: set[str], lodger: str | None) -> Iterator[str]:
    where = f"cell `{cell.name}`"
    yield from _twice(f"pool in {where}", (p.name for p in cell.pools))
    yield from _twice(f"node group in {where}", (g.name for g in cell.node_groups))
    stands = [(p.name, p.cell) for p in cell.pools] + [(g.name, g.cell) for g in cell.node_groups]
    for name, says in stands:
        if says != cell.name:
            yield f"`{name}` stands in {where} and says `{says}`"
    groups = {(g.pool, g.role): g.name for g in cell.node_groups}
    needed: dict[tuple[str, str], str] = {}
    for pool in cell.pools:
        yield from _pool(pool, where, tiers, models)
        needed |= {(pool.name, r.role): r.node_group for r in pool.roles}
        if pool.shared:
            needed[(pool.name, "shared")] = node_group_name(pool.name, "shared", lodger=lodger)
    yield from _differ(f"node groups of {where}", set(groups.values()), set(needed.values()))
    for (owner, role), group in groups.items():
        if needed.get((owner, role)) != group:
            yield f"node group `{group}` in {where} is of `{owner}`, role {role}, which has no such group"
    yield from _autoscaling(cell, where)


def _autoscaling(cell: CellPlan, where: str) -> Iterator[str]:
    if cell.autoscaling is None:
        return
    pools = {p.name: p for p in cell.pools}
    yield from _twice(f"pool in the autoscaling of {where}", (p.pool for p in cell.autoscaling.pools))
    yield from _differ(f"autoscaling of {where}", {p.pool for p in cell.autoscaling.pools}, set(pools))
    for scaled in cell.autoscaling.pools:
        pool = pools.get(scaled.pool)
        here = f"autoscaling of pool `{scaled.pool}` in {where}"
        if pool is None:
            continue
        yield from _differ(f"roles in the {here}", {r.role for r in scaled.roles}, {str(r.role) for r in pool.roles})
        yield from _missing(here, (p.role for p in scaled.placeholders), "role", {r.role for r in scaled.roles})
        groups = {g.name for g in cell.node_groups if g.pool == pool.name}
        yield from _missing(here, (p.node_group for p in scaled.placeholders), "node group", groups)
        if (scaled.tier, scaled.model) != (pool.tier, pool.models[0] if pool.models else ""):
            yield f"{here} is of tier `{scaled.tier}` and model `{scaled.model}`, and the pool of others"
        if not pool.shared and (scaled.forecast is None or scaled.provisioning is None or scaled.demand is None):
            yield f"{here} has no forecast, and its pool runs one model"


def _pool(pool: PoolPlan, where: str, tiers: set[str], models: set[str]) -> Iterator[str]:
    here = f"pool `{pool.name}` in {where}"
    yield from _missing(here, (pool.tier,), "tier", tiers)
    yield from _missing(here, pool.models, "model", models)
    roles = [str(r.role) for r in pool.roles] if not pool.shared else ["shared"]
    expected = {"disaggregated": ["prefill", "decode"], "aggregated": ["worker"], "shared": ["shared"]}
    if expected.get(pool.topology) != roles or (pool.shared and pool.roles):
        yield f"{here} is {pool.topology} and has roles {', '.join(roles) or 'none'}"
    if not pool.models or (not pool.shared and len(pool.models) != 1):
        yield f"{here} has {len(pool.models)} models"
    if (pool.topology == "disaggregated") != (pool.kv_transfer is not None):
        yield f"{here} is {pool.topology}, which does not go with its kv_transfer"
    yield from _differ(f"scaling.workers of {here}", set(pool.scaling.workers), set(roles))
    if pool.shared:
        shared, known = pool.shared, set(pool.models)
        yield from _differ(f"instances of {here}", {i.model for i in shared.instances}, known)
        yield from _differ(f"instances_at_min of {here}", set(shared.instances_at_min), known)
        packing = shared.packing
        named = [*packing.instances, *packing.unserved, *shared.unserved_at_min]
        named += [one.model for gpu in packing.gpus for one in gpu]
        yield from _missing(f"packing of {here}", named, "model", known)


def _twice(kind: str, names: Iterable[str]) -> Iterator[str]:
    for name, count in Counter(names).items():
        if count > 1:
            yield f"{kind} `{name}` stands there {count} times"


def _missing(where: str, names: Iterable[str], kind: str, known: set[str]) -> Iterator[str]:
    for name in dict.fromkeys(names):
        if name not in known:
            yield f"{where} names the {kind} `{name}`, which is not there"


def _differ(where: str, found: set[str], expected: set[str]) -> Iterator[str]:
    for name in sorted(found - expected):
        yield f"{where} has `{name}`, which nothing else knows"
    for name in sorted(expected - found):
        yield f"{where} lacks `{name}`"
