"""Reservations against the places that claim them."""

from collections.abc import Iterator

from inferfab.checks.facts import Facts
from inferfab.checks.registry import Problem, rule
from inferfab.findings import YamlPath
from inferfab.plan.placement import NodeGroupPlan


@rule(
    "IF-CLD-006",
    "one reservation in two places",
    joins=("environment", "cloud"),
    why="a reservation lies in one zone and is of one machine type: a launch elsewhere does not use it, and starts on "
    "demand or fails.",
    do="name the reservation of each zone and machine type, with an id of its own.",
    source="EC2 On-Demand Capacity Reservations: matching attributes; eksctl#8542, #8320, #7906",
)
def reservations_in_one_place(facts: Facts) -> Iterator[Problem]:
    first: dict[tuple[str, str], NodeGroupPlan] = {}
    seen: set[YamlPath] = set()
    for group in facts.fleet.node_groups:
        if group.capacity.kind not in ("reservation", "capacity_block"):
            continue
        if group.cloud == "aws" and not group.capacity.id.startswith("cr-"):
            continue  # IF-CLD-002
        before = first.setdefault((group.cloud, group.capacity.id), group)
        here = facts.environment.cells[group.cell].pools[group.pool]
        own = here is not None and here.capacity is not None
        # A pool that names a reservation and stands in ten cells is one mistake.
        path: YamlPath = ("cells", group.cell, "pools", group.pool) if own else ("pools", group.pool, "capacity")
        if (before.zone, before.instance) != (group.zone, group.instance) and path not in seen:
            seen.add(path)
            yield Problem(
                path,
                f"`{group.capacity.id}` is claimed for {group.instance} in {group.zone} and for {before.instance} in "
                f"{before.zone} ({before.pool} in {before.cell})",
                "name the reservation of each zone under `cells`",
                value=group.capacity.id,
                of_key=True,
            )
