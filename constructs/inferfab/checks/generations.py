"""Generations of node groups and versions of add-ons, against where they can be."""

from collections.abc import Iterator

from inferfab.checks.facts import Facts
from inferfab.checks.registry import Problem, rule
from inferfab.findings import YamlPath


@rule(
    "IF-UPG-001",
    "a generation that cannot be",
    joins=("environment", "cloud"),
    why="a generation is part of the name of an EKS node group: elsewhere nothing reads it, and two groups of one name "
    "are one.",
    do="count up by one, and write what the one before was made with under `former` while its nodes empty.",
    source="inferfab's environment format; EKS node group names are unique in a cluster",
)
def generations_exist(facts: Facts) -> Iterator[Problem]:
    for name, cell in facts.environment.cells.items():
        for pool, here in cell.pools.items():
            if here is None or (here.generation == 1 and here.former is None):
                continue
            field = "generation" if here.former is None else "former"
            path: YamlPath = ("cells", name, "pools", pool, field)
            if cell.machines != "aws":
                yield Problem(path, f"generations are those of EKS node groups, and `{name}` has none", "remove it")
            elif here.former is not None and here.former.generation >= here.generation:
                yield Problem(
                    (*path, "generation"),
                    f"generation {here.former.generation} is not before generation {here.generation}",
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
        if group.former is None or group.capacity.kind not in ("reservation", "capacity_block"):
            continue
        if getattr(group.former.capacity, "id", None) != group.capacity.id:
            continue
        yield Problem(
            ("cells", group.cell, "pools", group.pool, "former"),
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
    do="remove `former` as soon as its nodes are gone.",
    source="inferfab's plan: sums are those of the newest generation",
)
def generations_cost(facts: Facts) -> Iterator[Problem]:
    for group in facts.fleet.node_groups:
        if group.former is not None:
            old = group.former
            yield Problem(
                ("cells", group.cell, "pools", group.pool, "former"),
                f"{old.cloud_name} may still run {old.nodes.desired} nodes ({old.instance}) with {old.gpus.desired} "
                f"GPUs beside {group.cloud_name}",
                "remove it when `kubectl get nodes` shows none of it",
            )


@rule(
    "IF-UPG-004",
    "versions of add-ons that nobody installs",
    joins=("environment", "cluster"),
    why="EKS's add-ons are installed in clusters that this environment makes on AWS: elsewhere nothing reads the "
    "versions, and the reader of the file believes that they are pinned.",
    do="remove `addons`.",
    source="inferfab's stacks: an existing cluster's add-ons are its owner's, and GKE brings its own",
)
def addons_are_ours(facts: Facts) -> Iterator[Problem]:
    for name, cell in facts.environment.cells.items():
        if cell.cluster.addons and (cell.cloud != "aws" or cell.cluster.existing is not None):
            whose = "Google's" if cell.cloud != "aws" else f"those of the owner of `{cell.cluster.existing}`"
            yield Problem(("cells", name, "cluster", "addons"), f"the add-ons of `{name}` are {whose}", "remove it")
