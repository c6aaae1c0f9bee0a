"""Workers on nodes: what a node holds, and what stays empty."""

from collections.abc import Iterator

from inferfab.checks.facts import Facts
from inferfab.checks.places import once
from inferfab.checks.registry import Problem, rule
from inferfab.findings import YamlPath


@rule(
    "IF-PLC-001",
    "tensor parallelism beyond a node",
    joins=("cloud", "pod", "engine"),
    why="every layer waits for all its GPUs; between nodes that is a hundred times slower than NVLink.",
    do="keep `tensor_parallel` within a node and use `pipeline_parallel` or `data_parallel` across nodes.",
    source="vLLM: parallelism and scaling",
)
def tensor_within_node(facts: Facts) -> Iterator[Problem]:
    for at in once(facts.roles()):
        if at.role.parallelism.tensor > at.group.gpus_per_node:
            yield Problem(
                at.path("tensor_parallel"),
                f"{at.group.instance} has {at.group.gpus_per_node} GPUs, {at.role.parallelism.tensor} are to split "
                "each layer",
                f"write at most {at.group.gpus_per_node}",
            )


@rule(
    "IF-PLC-002",
    "a worker that does not fill whole nodes",
    joins=("cloud", "pod"),
    why="a worker of several nodes takes them whole; the GPUs left over are paid for and idle.",
    do="make the worker's GPUs a multiple of the node's.",
    source="Dynamo multinode: GPUs are nodeCount times the GPUs of one container",
)
def workers_fill_nodes(facts: Facts) -> Iterator[Problem]:
    for at in once(facts.roles()):
        gpus, node = at.role.parallelism.gpus, at.group.gpus_per_node
        if gpus > node and gpus % node:
            yield Problem(
                at.path(),
                f"a worker of {gpus} GPUs (tensor x pipeline x data) does not fill whole nodes of {node}",
                f"choose them so that their product is {gpus // node * node} or {(gpus // node + 1) * node}",
                of_key=True,
            )


@rule(
    "IF-PLC-003",
    "GPUs that nothing uses",
    severity="warning",
    joins=("cloud", "pod", "cost"),
    why="clouds sell whole nodes: an idle GPU costs as much as a busy one.",
    do="choose replicas that fill the nodes.",
    source="arithmetic of the plan",
)
def gpus_used(facts: Facts) -> Iterator[Problem]:
    for at in facts.roles():
        if not at.group.idle_gpus or at.role.workers.desired == 0:
            continue
        per_node = at.group.workers_per_node
        dollars = at.pool.price.usd.low / at.group.gpus_per_node * at.group.idle_gpus * 730
        sizes = [n for n in range(1, at.group.gpus_per_node + 1) if at.group.gpus_per_node % n == 0]
        fix = f"use {', '.join(map(str, sizes))} GPUs a worker, or a machine with as many as it needs"
        if per_node:
            full = at.group.nodes.desired * per_node
            left = at.group.gpus_per_node - per_node * at.role.parallelism.gpus
            if not left:
                fix = (
                    f"`desired: {full}` costs the same, `desired: {full - per_node}` a node less"
                    if full > per_node
                    else f"`desired: {full}` costs the same"
                )
        yield Problem(
            at.replicas_path(facts),
            f"{at.group.idle_gpus} of {at.group.gpus.desired} GPUs of {at.where} are idle at the desired size, "
            f"about ${dollars:,.0f} a month",
            fix,
            value=str(at.role.workers.desired),
        )


@rule(
    "IF-PLC-006",
    "capacity that may vanish under a promise",
    severity="warning",
    joins=("cloud", "promise"),
    why="spot instances are taken back within minutes, all of one kind at once.",
    do="serve promised tiers on demand or from a reservation, or accept it knowingly.",
    source="EC2 Spot interruption notices; Google Spot VMs",
)
def spot_without_promise(facts: Facts) -> Iterator[Problem]:
    for group in facts.fleet.node_groups:
        tier = facts.tier(facts.asked(group.pool).tier)
        if group.capacity.kind == "spot" and (tier.promises or tier.availability_target_percent):
            here = facts.environment.cells[group.cell].pools[group.pool]
            path: YamlPath = ("pools", group.pool, "capacity")
            if here is not None and here.capacity is not None:
                path = ("cells", group.cell, "pools", group.pool, "capacity")
            yield Problem(
                path,
                f"tier `{tier.name}` makes promises, and {group.name} in {group.cell} runs on spot capacity",
                "use `on_demand` or a reservation",
            )


@rule(
    "IF-PLC-007",
    "a promise that starts from nothing",
    severity="warning",
    joins=("engine", "promise"),
    why="a model without workers is not listed, so its requests get 404 until somebody starts one; then a node takes "
    "minutes and the model tens of seconds to minutes to load.",
    do="keep at least one worker of each role.",
    source="kaito-project/kaito#2325: 966 s cold start measured; ai-dynamo/dynamo#11536",
)
def promise_needs_workers(facts: Facts) -> Iterator[Problem]:
    # Of workers that the planner may take away IF-SCL-005 speaks, promised or not.
    seen: set[YamlPath] = set()
    for at in facts.roles():
        path = (*at.replicas_path(facts), "desired")
        none = at.role.workers.desired == 0 and at.pool.scaling.replicas_owner == "terraform"
        if none and at.tier.promises and path not in seen:
            seen.add(path)
            yield Problem(
                path,
                f"{at.where} has no worker, and tier `{at.tier.name}` makes promises",
                "write `desired: 1` or more",
            )


@rule(
    "IF-PLC-010",
    "a cell without an entrance",
    stage="reference",
    joins=("environment", "cluster"),
    why="requests come in through the cell's gateways; with none, nothing answers under its name.",
    do="write 2 replicas, on different nodes.",
    source="the definition of a cell: a gateway is its only entrance",
)
def cells_have_gateways(facts: Facts) -> Iterator[Problem]:
    for name, cell in facts.environment.cells.items():
        if cell.gateways.replicas == 0:
            routed = facts.environment.routing is not None and cell.gateways.public and cell.traffic_share != 0
            yield Problem(
                ("cells", name, "gateways", "replicas"),
                f"`{name}` has no gateways" + (", and public names lead to it" if routed else ""),
                "write 2, or leave it out",
                severity="error" if routed else "warning",
            )
