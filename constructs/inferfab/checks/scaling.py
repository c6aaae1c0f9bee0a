"""Bounds of a plan's scaling against its nodes."""

from collections.abc import Iterator

import inferfab.checks.serving.scaling  # noqa: F401 - enters IF-SCL-001, which judges plans too
from inferfab.checks.facts import Facts
from inferfab.checks.registry import Problem, on_plan, rule
from inferfab.findings import YamlPath
from inferfab.plan.placement import NodeGroupPlan
from inferfab.plan.pools import PoolPlan

_OWNER = {"dynamo-planner": "Dynamo's planner", "keda": "KEDA"}


@on_plan("IF-SCL-001")
def bounds_within_nodes(facts: Facts) -> Iterator[Problem]:
    """Planner, autoscaler and node groups read these figures; one that is larger than the next never acts."""
    for pool in facts.fleet.pools:
        scaling, path = pool.scaling, ("pools", pool.name)
        if scaling.gpu_budget > scaling.node_gpus_at_max:
            yield Problem(
                path,
                f"`{pool.name}` in {pool.cell} may scale to {scaling.gpu_budget} GPUs, and its node groups bring "
                f"{scaling.node_gpus_at_max} at most",
                "raise `max` of its nodes, or lower that of its workers",
                of_key=True,
            )
        for role, bounds in scaling.workers.items():
            if not bounds.min <= bounds.desired <= bounds.max:
                yield Problem(
                    path,
                    f"{role} of `{pool.name}` in {pool.cell} scales between {bounds.min} and {bounds.max}, from "
                    f"{bounds.desired}",
                    "write min <= desired <= max",
                    of_key=True,
                )
        yield from _room(facts, pool)


def _room(facts: Facts, pool: PoolPlan) -> Iterator[Problem]:
    """What KEDA may set, workers and the pods that keep room for them, fits into the node group as well."""
    cell = next(c for c in facts.fleet.cells if c.name == pool.cell)
    scaled = next((p for p in cell.autoscaling.pools if p.pool == pool.name), None) if cell.autoscaling else None
    if scaled is None:
        return
    groups: dict[str, NodeGroupPlan] = {r.role: cell.node_group(r.node_group) for r in pool.roles}
    for role in scaled.roles:
        room = next((p.most for p in scaled.placeholders if p.role == role.role), 0)
        pods = max(role.workers.max * role.pods_per_worker, role.workers.min * role.pods_per_worker + room)
        if pods * role.gpus_per_pod > groups[role.role].gpus.max:
            yield Problem(
                ("pools", pool.name),
                f"{role.role} of `{pool.name}` in {pool.cell} may come to {pods} pods of {role.gpus_per_pod} GPUs, and "
                f"its node group brings {groups[role.role].gpus.max} GPUs at most",
                "raise `max` of its nodes, or lower that of its workers",
                of_key=True,
            )


@rule(
    "IF-SCL-005",
    "workers that nothing brings back",
    joins=("environment", "engine"),
    why="without a worker the model leaves the frontend and requests get 404, so who scales it, Dynamo's planner or "
    "KEDA, reads the frontend's metrics, sees no demand and never starts one again.",
    do="keep at least one worker of each role, or write `desired: 0` alone for a pool that is switched off by hand.",
    source="ai-dynamo/dynamo#11536; ai-dynamo 1.6.1 dynamo/planner (load is read from frontends or routers)",
)
def workers_come_back(facts: Facts) -> Iterator[Problem]:
    seen: set[YamlPath] = set()
    for at in facts.roles():
        path, bounds = at.replicas_path(facts), at.role.workers
        if at.pool.scaling.replicas_owner == "terraform" or bounds.min or path in seen:
            continue
        seen.add(path)
        begins, owner = bounds.desired == 0, at.pool.scaling.replicas_owner
        yield Problem(
            (*path, "desired" if begins else "min"),
            f"{at.where} {'begins with' if begins else 'may scale to'} no worker, and {_OWNER[owner]} starts none "
            "where it sees no demand",
            "write `desired: 1` or more" if begins else "write `min: 1` or more",
        )


@rule(
    "IF-SCL-006",
    "a shared pool with room to scale",
    joins=("environment", "cluster", "cost"),
    why="its models are packed onto the desired nodes and nothing changes their number: nodes up to `max` would stand "
    "empty, and `min` is never reached.",
    do="write `nodes: {desired: …}` alone, and another number where more is needed.",
    source="the plan's packing: every instance of a shared pool has its place from the start",
)
def shared_pools_stay(facts: Facts) -> Iterator[Problem]:
    seen: set[YamlPath] = set()
    for pool in facts.fleet.pools:
        if pool.shared is None:
            continue
        nodes = pool.scaling.workers["shared"]
        here = facts.environment.cells[pool.cell].pools[pool.name]
        path: YamlPath = ("pools", pool.name, "nodes")
        if here is not None and here.nodes is not None:
            path = ("cells", pool.cell, "pools", pool.name, "nodes")
        if nodes.min == nodes.desired == nodes.max or path in seen:
            continue
        seen.add(path)
        yield Problem(
            path,
            f"`{pool.name}` asks for {nodes.min} to {nodes.max} nodes, and nothing scales a shared pool",
            f"write `desired: {nodes.desired}` alone",
        )
