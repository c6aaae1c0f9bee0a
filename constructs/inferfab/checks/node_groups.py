"""Node groups: how many, how large, of which image, and what a reservation must hold."""

from collections.abc import Iterator

from inferfab.catalog.limits import limit
from inferfab.checks.facts import Facts
from inferfab.checks.places import once
from inferfab.checks.registry import Problem, rule
from inferfab.findings import YamlPath
from inferfab.plan.placement import NodeGroupPlan

_DAEMON_PODS = 20
"""Pods of system daemons on a GPU node: CNI, proxy, device plugins, exporters, log and storage agents."""


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
            continue  # the inventory bounds them: IF-RCK-009
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


def _matters(facts: Facts, group: NodeGroupPlan) -> bool:
    """Nodes that cannot be replaced by others, or several with RDMA, whose drivers are the image's, under a promise."""
    tier = facts.tier(facts.asked(group.pool).tier)
    reserved = group.capacity.kind in ("reservation", "capacity_block")
    promised = bool(tier.promises or tier.availability_target_percent)
    return reserved or (promised and group.nodes.desired > 1 and any(nic.type == "efa-only" for nic in group.layout))
