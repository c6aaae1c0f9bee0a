"""Workers on nodes, nodes in groups, groups in clusters."""

from collections.abc import Iterator

from inferfab.catalog.limits import limit
from inferfab.checks.facts import Facts
from inferfab.checks.memory import once
from inferfab.checks.registry import Problem, rule
from inferfab.findings import YamlPath
from inferfab.plan.placement import NodeGroupPlan

_DAEMON_PODS = 20
"""Pods of system daemons on a GPU node: CNI, proxy, device plugins, exporters, log and storage agents."""


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
    "IF-PLC-004",
    "more node groups than a cluster takes",
    joins=("environment", "cloud", "cluster"),
    why="EKS refuses the thirty-first managed node group unless the quota was raised.",
    do="move pools to another cell, or have the quota raised.",
    source="Amazon EKS service quotas",
)
def node_groups_per_cluster(facts: Facts) -> Iterator[Problem]:
    for cell in facts.fleet.cells:
        most = limit("eks_node_groups_per_cluster")
        # The system nodes are a group too.
        groups = len(cell.node_groups) + 1
        if cell.cloud == "aws" and groups > most:
            yield Problem(
                ("cells", cell.name, "pools"),
                f"{groups} node groups (one for system nodes), EKS takes {most} a cluster",
                "spread the pools over two cells",
            )


@rule(
    "IF-PLC-005",
    "a node group larger than the cloud allows",
    joins=("environment", "cloud"),
    why="scaling would stop at the quota while the plan promises more.",
    do="split the pool, or have the quota raised.",
    source="Amazon EKS service quotas; GKE quotas",
)
def node_group_size(facts: Facts) -> Iterator[Problem]:
    names = {"aws": "eks_nodes_per_node_group", "gcp": "gke_nodes_per_node_pool_zone"}
    replicas = {(at.cell.name, at.group.name): at.replicas_path(facts) for at in facts.roles()}
    for group in facts.fleet.node_groups:
        if group.cloud == "racks":
            continue  # the inventory bounds them: IF-RCK-005
        most = limit(names[group.cloud])
        if group.nodes.max > most:
            here = facts.environment.cells[group.cell].pools[group.pool]
            path: YamlPath = replicas.get((group.cell, group.name), ("pools", group.pool, "nodes"))
            if group.role == "shared" and here is not None and here.nodes is not None:
                path = ("cells", group.cell, "pools", group.pool, "nodes")
            yield Problem(
                path,
                f"{group.name} in {group.cell} may grow to {group.nodes.max} nodes, {group.cloud} takes {most} in "
                "one group",
                "lower `max`, or split the pool",
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
    why="a node takes minutes and a model tens of seconds to minutes to load; until then the tier answers nothing, "
    "and a model "
    "without workers is not listed.",
    do="keep at least one worker of each role.",
    source="kaito-project/kaito#2325: 966 s cold start measured",
)
def promise_needs_workers(facts: Facts) -> Iterator[Problem]:
    yield from _dropped_models(facts)
    seen: set[YamlPath] = set()
    for at in facts.roles():
        path = (*at.replicas_path(facts), "min")
        if at.role.workers.min == 0 and at.tier.promises and path not in seen:
            seen.add(path)
            yield Problem(
                path,
                f"{at.where} may scale to none, and tier `{at.tier.name}` makes promises",
                "write `min: 1` or more",
            )


def _dropped_models(facts: Facts) -> Iterator[Problem]:
    """Models of shared pools that are served at the desired size and gone at the fewest nodes."""
    seen: set[YamlPath] = set()
    for pool in facts.fleet.pools:
        tier, shared = facts.tier(pool.tier), pool.shared
        if shared is None or not (tier.promises or tier.availability_target_percent):
            continue
        gone = [m for m, n in shared.instances_at_min.items() if not n and shared.packing.instances.get(m)]
        here = facts.environment.cells[pool.cell].pools[pool.name]
        path: YamlPath = ("pools", pool.name, "nodes", "min")
        if here is not None and here.nodes is not None:
            path = ("cells", pool.cell, "pools", pool.name, "nodes", "min")
        if gone and path not in seen:
            seen.add(path)
            group = next(g for g in facts.fleet.node_groups if g.pool == pool.name and g.cell == pool.cell)
            yield Problem(
                path,
                f"at {group.nodes.min} node(s) `{pool.name}` in {pool.cell} has no instance of "
                f"{', '.join(f'`{m}`' for m in gone)}, and tier `{tier.name}` makes promises",
                f"write {group.nodes.desired}, the desired nodes, with which every model has one",
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


@rule(
    "IF-PLC-011",
    "GPU nodes whose image is not pinned",
    severity="info",
    joins=("environment", "cloud", "cluster", "promise"),
    why="a change of the launch template or of the Kubernetes version lets EKS take the newest image of that day, with "
    "another driver perhaps, on every node of a group.",
    do="write `cluster.ami_release`, and raise it in the same change as the launch template or the version.",
    source="Amazon EKS API reference: UpdateNodegroupVersion; terraform-provider-aws: aws_eks_node_group",
)
def images_pinned(facts: Facts) -> Iterator[Problem]:
    for cell in facts.fleet.cells:
        if cell.cloud != "aws" or cell.ami_release is not None:
            continue
        concerned = [g.name for g in cell.node_groups if _matters(facts, g)]
        if concerned:
            most = "" if len(concerned) == 1 else f" and {len(concerned) - 1} more"
            yield Problem(
                ("cells", cell.name, "cluster", "ami_release"),
                f"no image release is stated for {concerned[0]}{most}, reserved or with RDMA and a promise",
                "write the `releaseVersion` that `aws eks describe-nodegroup` shows",
            )


def _matters(facts: Facts, group: NodeGroupPlan) -> bool:
    """Nodes that cannot be replaced by others, or several with RDMA, whose drivers are the image's, under a promise."""
    tier = facts.tier(facts.asked(group.pool).tier)
    reserved = group.capacity.kind in ("reservation", "capacity_block")
    promised = bool(tier.promises or tier.availability_target_percent)
    return reserved or (promised and group.nodes.desired > 1 and any(nic.type == "efa-only" for nic in group.layout))


@rule(
    "IF-PLC-008",
    "more pods than a node takes",
    joins=("cloud", "cluster", "pod"),
    why="pods stay pending although GPUs are free.",
    do="use a machine with more pod slots.",
    source="ENI formula; karpenter designs/efa-for-static-capacity.md; amazon-eks-ami#1392",
)
def pods_fit(facts: Facts) -> Iterator[Problem]:
    for at in once(facts.roles()):
        needed = max(1, at.group.workers_per_node) + _DAEMON_PODS
        if at.group.max_pods is not None and needed > at.group.max_pods:
            yield Problem(
                at.path(),
                f"{at.group.instance} takes {at.group.max_pods} pods, {needed} are needed",
                "use a larger machine",
                of_key=True,
            )


@rule(
    "IF-PLC-009",
    "a reservation that must hold more than is desired",
    severity="info",
    joins=("cloud", "cost"),
    why="a reservation holds a fixed number of instances; scaling beyond it fails, and what is reserved is billed "
    "unused or not.",
    do="reserve the maximum, or set `max` to what is reserved; `preflight` reads the real size.",
    source="EC2 On-Demand Capacity Reservations",
)
def reservation_holds_max(facts: Facts) -> Iterator[Problem]:
    by_reservation: dict[tuple[str, str], list[NodeGroupPlan]] = {}
    for group in facts.fleet.node_groups:
        if group.capacity.kind in ("reservation", "capacity_block"):
            by_reservation.setdefault((group.capacity.id, group.cell), []).append(group)
    for (id_, cell), groups in by_reservation.items():
        most, desired = (sum(getattr(g.nodes, size) for g in groups) for size in ("max", "desired"))
        if most > desired:
            listed = ", ".join(f"{g.name} {g.nodes.desired} to {g.nodes.max}" for g in groups)
            yield Problem(
                ("cells", cell, "pools", groups[0].pool),
                f"{groups[0].instance} in {cell} may grow from {desired} to {most} nodes ({listed})",
                f"`{id_}` must hold {most}",
                value=id_,
                of_key=True,
            )
