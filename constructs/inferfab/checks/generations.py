"""Generations of node groups, against where they can stand beside each other."""

from collections.abc import Iterator

from inferfab.checks.facts import Facts
from inferfab.checks.registry import Problem, rule


@rule(
    "IF-UPG-001",
    "a generation that cannot be",
    joins=("environment", "cloud"),
    why="a generation is part of the name of an EKS node group: elsewhere nothing reads it, and two groups of one name "
    "are one.",
    do="count up by one, and name the number before as `former_generation` while its nodes empty.",
    source="inferfab's environment format; EKS node group names are unique in a cluster",
)
def generations_exist(facts: Facts) -> Iterator[Problem]:
    for name, cell in facts.environment.cells.items():
        for pool, here in cell.pools.items():
            if here is None or (here.generation == 1 and here.former_generation is None):
                continue
            field = "generation" if here.former_generation is None else "former_generation"
            path = ("cells", name, "pools", pool, field)
            if cell.machines != "aws":
                yield Problem(path, f"generations are those of EKS node groups, and `{name}` has none", "remove it")
            elif here.former_generation is not None and here.former_generation >= here.generation:
                yield Problem(
                    path,
                    f"generation {here.former_generation} is not before generation {here.generation}",
                    f"write a number below {here.generation}, or remove it when its nodes are gone",
                )


@rule(
    "IF-UPG-002",
    "two generations on the same machines",
    severity="warning",
    joins=("environment", "cloud"),
    why="a reservation has exactly so many machines: while the former generation holds them, the new group starts "
    "none, and its making fails.",
    do="update in place, node by node, or empty the former generation before.",
    source="EC2 Capacity Reservations; EKS managed node groups with a minimum above what starts fail to be made",
)
def generations_have_machines(facts: Facts) -> Iterator[Problem]:
    for group in facts.fleet.node_groups:
        if group.former_name is None or group.capacity.kind not in ("reservation", "capacity_block"):
            continue
        yield Problem(
            ("cells", group.cell, "pools", group.pool, "former_generation"),
            f"{group.cloud_name} starts on {group.capacity.id}, whose machines {group.former_name} holds",
            "change the group in place (`inferfab upgrade plan` has the steps), unless the reservation has machines to "
            "spare",
        )


@rule(
    "IF-UPG-003",
    "two generations are paid for",
    severity="warning",
    joins=("environment", "cost"),
    why="until the former group is empty, its nodes cost as much again, and no sum of the plan has them.",
    do="remove `former_generation` as soon as its nodes are gone.",
    source="inferfab's plan: sums are those of the newest generation",
)
def generations_cost(facts: Facts) -> Iterator[Problem]:
    for group in facts.fleet.node_groups:
        if group.former_name is not None:
            yield Problem(
                ("cells", group.cell, "pools", group.pool, "former_generation"),
                f"{group.former_name} may still run {group.nodes.desired} nodes with {group.gpus.desired} GPUs beside "
                f"{group.cloud_name}",
                "remove it when `kubectl get nodes` shows none of it",
            )
