"""What changes for the engines, by pool: flags, versions, replicas, models, promises; not lines of YAML."""

from inferfab.plan.difference import Change, FleetDifference
from inferfab.plan.fleet import FleetPlan
from inferfab.record import Record
from inferfab.review.lines import EngineChange

_OF_POOLS = {"flags", "nodes", "workload", "serving"}


class EngineChanges(Record):
    """Changes of pools, and the rest."""

    of_pools: tuple[EngineChange, ...]
    other: tuple[EngineChange, ...]


def engine_changes(before: FleetPlan | None, after: FleetPlan | None, diff: FleetDifference | None) -> EngineChanges:
    """Sort a difference by the pools that it is about; what is the same in several cells stands once.

    A pool that is new or gone is one row: its flags are not changes.
    """
    if before is None or after is None or diff is None:
        return EngineChanges(of_pools=(), other=())
    fleet = after
    pools = [*_whole(before, after, gone=True), *_whole(after, before, gone=False)]
    parts = _parts_of(before, after) | _parts_of(after, before)
    other: list[EngineChange] = []
    for change in diff.changes:
        if change.section in _OF_POOLS and parts.intersection(change.subject.split("/")):
            continue
        if change.section in _OF_POOLS:
            pools.append(_row(change, change.subject))
        elif change.section == "models":
            pools.append(_row(change, _serving(fleet, change.subject)))
        elif change.section == "promises":
            pools.append(_row(change, f"tier {change.subject}"))
        elif change.section == "environment" and change.subject == "engine":
            pools.append(_row(change, "all pools"))
        elif change.section == "prices" and change.what.startswith("USD per million"):
            continue  # stands in the table of dollars per million tokens
        else:
            other.append(_row(change, change.subject))
    return EngineChanges(of_pools=_once(fleet, pools), other=tuple(other))


def _row(change: Change, pool: str) -> EngineChange:
    return EngineChange(pool=pool, section=change.section, what=change.what, before=change.before, after=change.after)


def _whole(fleet: FleetPlan, other: FleetPlan, *, gone: bool) -> list[EngineChange]:
    """Pools of ``fleet`` that ``other`` has in no cell."""
    there = {p.name for p in other.pools}
    rows = []
    for pool in {p.name: p for p in fleet.pools if p.name not in there}.values():
        sizes = ", ".join(f"{r.role} {r.workers.desired} × {r.parallelism.gpus} GPU" for r in pool.roles)
        said = f"{', '.join(pool.models)}, tier {pool.tier}{f', {sizes}' if sizes else ''}"
        rows.append(
            EngineChange(
                pool=pool.name,
                section="pool",
                what="gone" if gone else "new",
                before=said if gone else None,
                after=None if gone else said,
            )
        )
    return rows


def _parts_of(fleet: FleetPlan, other: FleetPlan) -> set[str]:
    """Names of those pools and of their node groups, as subjects of a difference have them."""
    there = {p.name for p in other.pools}
    found = {p.name for p in fleet.pools if p.name not in there}
    return found | {g.name for g in fleet.node_groups if g.pool in found}


def _serving(fleet: FleetPlan, model: str) -> str:
    names = list(dict.fromkeys(p.name for p in fleet.pools if model in p.models))
    return f"{', '.join(names)} (model {model})" if names else f"model {model}"


def _once(fleet: FleetPlan, rows: list[EngineChange]) -> tuple[EngineChange, ...]:
    cells = {c.name for c in fleet.cells}
    grouped: dict[EngineChange, list[str]] = {}
    for row in rows:
        first, _, rest = row.pool.partition("/")
        cell, pool = (first, rest) if first in cells and rest else ("", row.pool)
        grouped.setdefault(row.model_copy(update={"pool": pool}), []).append(cell)
    found = []
    for row, where in grouped.items():
        named = [c for c in where if c]
        label = f"{row.pool} in {', '.join(named)}" if named else row.pool
        found.append(row.model_copy(update={"pool": label}))
    return tuple(sorted(found, key=lambda r: r.pool))
