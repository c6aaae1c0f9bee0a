"""What rules over placements share."""

from collections.abc import Iterator

from inferfab.catalog.instances import InstanceType, instances
from inferfab.checks.facts import Facts, Placed
from inferfab.plan.quantities import GB


def gb(value: float) -> str:
    return f"{value / GB:,.1f} GB"


def once(places: Iterator[Placed]) -> Iterator[Placed]:
    """One placement for each pool, role and machine: the same workers in ten cells are one mistake."""
    seen: set[tuple[str, str, str]] = set()
    for at in places:
        key = (at.pool.name, at.role.role, at.group.instance)
        if key not in seen:
            seen.add(key)
            yield at


def machine(at: Placed) -> InstanceType:
    return instances(at.group.cloud)[at.group.instance]


def stated_flags(facts: Facts) -> Iterator[tuple[Placed, str, str | int | float | bool]]:
    """(role, flag, value) of every flag that the environment adds."""
    for at in once(facts.roles()):
        asked = facts.asked(at.pool.name)
        workers = getattr(asked, at.role.role)
        for flag, value in workers.flags.items():
            yield at, flag, value
