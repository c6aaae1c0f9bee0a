"""Capacity that ends, against a day that the caller names. Nothing here looks at a clock."""

from collections.abc import Iterator
from datetime import date, timedelta

from inferfab.checks.facts import Facts
from inferfab.checks.registry import Problem, rule
from inferfab.environment.capacity import CapacityBlock
from inferfab.findings import YamlPath

_SOON = timedelta(days=7)


@rule(
    "IF-CLD-007",
    "a capacity block outside of its days",
    joins=("environment", "cloud", "promise"),
    why="outside of its days EC2 starts none of its machines, so the pool has none and its promises hold for nobody; "
    "the schedule that empties the group cannot be made for a time that has passed.",
    do="buy the next block and write its id and days, or take the pool out of the cell. `--as-of` names the day.",
    source="EC2 Capacity Blocks for ML; EKS managed node groups with Capacity Blocks",
)
def blocks_are_open(facts: Facts) -> Iterator[Problem]:
    if facts.as_of is None:
        return
    for path, block in _blocks(facts):
        ends = date.fromisoformat(block.ends_at[:10])
        starts = date.fromisoformat(block.starts_at[:10]) if block.starts_at else None
        if ends < facts.as_of:
            yield Problem(
                (*path, "ends_at"),
                f"{block.id} ended on {ends}, and the day is {facts.as_of}",
                "name the next block, or remove the pool here",
            )
        elif starts is not None and starts > facts.as_of:
            yield Problem(
                (*path, "starts_at"),
                f"{block.id} begins on {starts}, and the day is {facts.as_of}: until then its group is empty",
                "send no traffic to it before",
                severity="warning",
            )
        elif ends - facts.as_of <= _SOON:
            yield Problem(
                (*path, "ends_at"),
                f"{block.id} ends on {ends}, in {(ends - facts.as_of).days} day(s); its group is emptied "
                f"{block.drain_lead_minutes} minutes before",
                "have the next block, or the traffic elsewhere, by then",
                severity="warning",
            )


@rule(
    "IF-CLD-008",
    "a capacity block that ends before it begins",
    joins=("environment", "cloud"),
    why="no machine is ever there.",
    do="write both times as the purchase has them.",
    source="inferfab's environment format",
)
def blocks_end_after_they_begin(facts: Facts) -> Iterator[Problem]:
    for path, block in _blocks(facts):
        if block.starts_at is not None and block.starts_at >= block.ends_at:
            yield Problem(
                (*path, "starts_at"), f"{block.starts_at} is not before {block.ends_at}", "write the times in UTC"
            )


def _blocks(facts: Facts) -> Iterator[tuple[YamlPath, CapacityBlock]]:
    """Each once, where the file has it."""
    for name, pool in facts.environment.pools.items():
        if isinstance(pool.capacity, CapacityBlock):
            yield ("pools", name, "capacity"), pool.capacity
    for name, cell in facts.environment.cells.items():
        for pool_name, here in cell.pools.items():
            if here is not None and isinstance(here.capacity, CapacityBlock):
                yield ("cells", name, "pools", pool_name, "capacity"), here.capacity
