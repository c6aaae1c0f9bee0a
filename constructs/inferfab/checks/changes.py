"""What a change recreates: between two plans, or between two sets of manifests."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from inferfab.checks.facts import Facts
from inferfab.checks.registry import RULES, Layer, Problem, Rule, RunChange, declare, finding_in_plan
from inferfab.checks.rule_changes import changed
from inferfab.environment.loading import Loaded
from inferfab.findings import Finding, YamlPath
from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.plan.placement import NodeGroupPlan
from inferfab.plan.pools import PoolPlan


@dataclass(frozen=True)
class Change:
    """Two plans, and the file of the later one."""

    before: FleetPlan
    facts: Facts

    def cells(self) -> Iterator[tuple[CellPlan, CellPlan]]:
        """Cells that both have."""
        old = {c.name: c for c in self.before.cells}
        for cell in self.facts.fleet.cells:
            if cell.name in old:
                yield old[cell.name], cell


def change_rule(
    id: str, title: str, *, joins: tuple[Layer, ...], why: str, do: str, source: str
) -> Callable[[RunChange], RunChange]:
    """A rule over two plans. It warns: nothing of it is wrong if it is meant."""

    def enter(run: RunChange) -> RunChange:
        declare(Rule(id, title, "warning", joins, why, do, source, "change", run_change=run))
        return run

    return enter


def check_change(before: FleetPlan, loaded: Loaded, after: FleetPlan) -> tuple[list[Finding], list[Finding]]:
    """(findings about the change, those that the environment switched off)."""
    assert loaded.environment is not None
    facts = Facts(loaded, loaded.environment, after)
    found = []
    for rule in RULES.values():
        if rule.run_change is not None:
            found += [finding_in_plan(rule, p, facts) for p in rule.run_change(Change(before, facts))]
    return changed(found, facts, whole=False)


@change_rule(
    "IF-CHG-001",
    "a change to what a graph cannot change",
    joins=("environment", "cluster", "engine"),
    why="admission refuses another component set, type, number of nodes of a worker or KV transfer policy, so a new "
    "graph is rolled out beside the old one: it needs its GPUs while the old one still has them.",
    do="keep GPUs for both, or change it in one cell at a time.",
    source="ai-dynamo/dynamo deploy/operator/internal/webhook/validation/dynamographdeployment.go @003d1ee5: immutable "
    "fields",
)
def graphs_that_roll(change: Change) -> Iterator[Problem]:
    for old_cell, cell in change.cells():
        old = {p.name: p for p in old_cell.pools}
        for pool in cell.pools:
            before, names = old.get(pool.name), _graphs(cell, pool.name)
            rolled = sorted(names - _graphs(old_cell, pool.name))
            if before is not None and rolled:
                gpus = sum(g.gpus.desired for g in cell.node_groups if g.pool == pool.name)
                yield Problem(
                    ("pools", pool.name),
                    f"`{pool.name}` in {cell.name} becomes a new graph ({_difference(before, pool)}): up to {gpus} "
                    "GPUs twice while it rolls",
                    "make sure of the room, or undo it",
                    value=rolled[0],
                    of_key=True,
                )


def _graphs(cell: CellPlan, pool: str) -> set[str]:
    """Names of the pool's graphs, which hold a digest of what admission makes immutable."""
    return {graph.name for graph in cell.serving.graphs if graph.pool == pool}


def _difference(old: PoolPlan, new: PoolPlan) -> str:
    said = []
    if old.topology != new.topology:
        said.append(f"topology {old.topology} -> {new.topology}")
    if old.models != new.models:
        said.append(f"model {', '.join(old.models)} -> {', '.join(new.models)}")
    fabrics = [p.roles[0].fabric.kind if p.roles else "" for p in (old, new)]
    if fabrics[0] != fabrics[1]:
        said.append(f"fabric {fabrics[0]} -> {fabrics[1]}")
    return ", ".join(said) or "its model's source or revision, or nodes a worker"


@change_rule(
    "IF-CHG-002",
    "a change that replaces GPU nodes",
    joins=("environment", "cloud"),
    why="the cloud cannot change these fields of a node group: Terraform destroys it and makes another, and where the "
    "capacity is reserved the new nodes wait for the old ones.",
    do="on EKS write `generation` and `former`, elsewhere add a pool beside the old one; drain the old nodes, or "
    "accept the gap.",
    source="Terraform AWS provider: aws_eks_node_group, arguments that force replacement (aws/containers-roadmap#746); "
    "hashicorp/terraform-provider-google#23248, #25282",
)
def nodes_replaced(change: Change) -> Iterator[Problem]:
    for old_cell, cell in change.cells():
        # A group of another generation stands beside the old one, which goes on as `former`.
        standing = [*cell.node_groups, *(g.former for g in cell.node_groups if g.former)]
        now_at = {(g.pool, g.role, g.generation): g for g in standing}
        for before in old_cell.node_groups:
            group = now_at.get((before.pool, before.role, before.generation))
            newer = next((g for g in cell.node_groups if (g.pool, g.role) == (before.pool, before.role)), None)
            if group is None and newer is not None:
                yield Problem(
                    ("cells", cell.name, "pools", newer.pool, "generation"),
                    f"`{before.cloud_name}` in {cell.name} is destroyed in the change that makes `{newer.cloud_name}`: "
                    f"{before.nodes.desired} node(s), {before.gpus.desired} GPUs are gone before the new ones serve",
                    "write `former` with what it was made with, until it is empty (`inferfab upgrade plan ENV --to "
                    f"generation:{newer.pool}`)",
                    value=str(newer.generation),
                )
            if group is None:
                continue
            for field, was, now, path in _replaced(before, group):
                yield Problem(
                    path,
                    f"{field} of `{group.name}` in {cell.name} goes from {was} to {now}: {before.nodes.desired} "
                    f"node(s), {before.gpus.desired} GPUs are replaced",
                    "add a pool beside the old one and drain that",
                    value=str(now),
                )


def _replaced(old: NodeGroupPlan, new: NodeGroupPlan) -> Iterator[tuple[str, str, str, YamlPath]]:
    pool: YamlPath = ("pools", new.pool)
    if old.instance != new.instance:
        yield "the machine type", old.instance, new.instance, (*pool, "instance")
    if old.zone != new.zone:
        yield "the zone", old.zone, new.zone, ("cells", new.cell, "zone")
    if old.capacity.kind != new.capacity.kind:
        yield "the kind of capacity", old.capacity.kind, new.capacity.kind, (*pool, "capacity")
    if old.name != new.name:
        yield "the name", old.name, new.name, pool
    if old.layout != new.layout and old.instance == new.instance:
        yield "the NIC layout", f"{len(old.layout)} NICs", f"{len(new.layout)} NICs", (*pool, "fabric")


@change_rule(
    "IF-CHG-003",
    "a change that makes a cell anew",
    joins=("environment", "cloud", "cluster"),
    why="cluster and network cannot be renamed or moved: everything in the cell is destroyed first, with the addresses "
    "that clients know.",
    do="add a cell with the new name or range, move traffic, then remove the old one.",
    source="Terraform AWS provider: aws_eks_cluster name, aws_vpc cidr_block force replacement; EKS user guide",
)
def cells_made_anew(change: Change) -> Iterator[Problem]:
    for old, new in change.cells():
        for field, was, now, key in (
            ("the cluster", old.cluster, new.cluster, "cluster"),
            ("the network", old.network.existing_id or old.network.cidr, new.network.existing_id or new.network.cidr,
             "network"),
            ("the region", old.region, new.region, "region"),
        ):  # fmt: skip
            if was != now:
                yield Problem(
                    ("cells", new.name, key), f"{field} of `{new.name}` goes from {was} to {now}", "add a cell instead"
                )
