"""Models that share the GPUs of a pool."""

from collections.abc import Iterator

from inferfab.catalog.gpus import gpus
from inferfab.catalog.instances import instances
from inferfab.checks.facts import Facts
from inferfab.checks.places import gb
from inferfab.checks.registry import Problem, rule
from inferfab.checks.remedies import (
    DEFAULT_UTILIZATION,
    either,
)
from inferfab.environment.pools import SharedPool
from inferfab.plan.placement import NodeGroupPlan
from inferfab.plan.pools import PoolPlan
from inferfab.plan.quantities import Bounds
from inferfab.plan.sharing import SLEEPING_GPU_BYTES, plan_shared

_KEPT = f", of which each sleeping engine keeps {gb(SLEEPING_GPU_BYTES)}"


@rule(
    "IF-MEM-008",
    "models that find no place in a shared pool",
    joins=("cloud", "pod", "engine"),
    why="their requests would be refused: a model without an instance is not listed.",
    do="add nodes, ask for fewer instances or sequences, use smaller precisions or a larger GPU.",
    source="NVIDIA MIG user guide: profile placements",
)
def shared_models_placed(facts: Facts) -> Iterator[Problem]:
    # In every cell, as each may have other nodes; what is the same in two is one finding.
    for pool in facts.fleet.pools:
        asked = facts.asked(pool.name)
        if pool.shared is None or not isinstance(asked, SharedPool):
            continue
        group = next(g for g in facts.fleet.node_groups if g.pool == pool.name and g.cell == pool.cell)
        gpu = gpus()[group.gpu]
        if asked.sharing == "mig" and not gpu.mig_profiles:
            yield Problem(
                ("pools", pool.name, "sharing"),
                f"{gpu.title} has no MIG profiles in the catalog",
                "write `sharing: sleep`, or use a GPU with MIG",
            )
            continue
        if pool.shared.unplanned:
            yield Problem(
                ("pools", pool.name, "models"),
                f"too many different instances to pack exactly ({pool.shared.unplanned})",
                "split the pool into two",
            )
            continue
        positions = {m.model: n for n, m in enumerate(asked.models)}
        needs = {i.model: i.bytes_needed for i in pool.shared.instances}
        missing = pool.shared.packing.unserved
        fix = _make_room(facts, pool, asked, group) if missing else ""
        for model, count in missing.items():
            yield Problem(
                ("pools", pool.name, "models", positions[model]),
                f"{count} of {asked.models[positions[model]].instances} instances of `{model}` ({gb(needs[model])} "
                "each) find no place on "
                f"{group.gpus.desired} x {gpu.title} ({gb(gpu.memory_bytes)}"
                f"{_KEPT if asked.sharing == 'sleep' else ''})",
                fix,
            )


@rule(
    "IF-MEM-011",
    "nodes of one pool that MIG would cut differently",
    joins=("cloud", "pod", "engine"),
    why="a node says by one label how its GPUs are cut, and all nodes of a group have the same labels; nodes that join "
    "or are replaced could not be told apart.",
    do="split the pool, so that models of one size stand together, or change the number of nodes.",
    source="NVIDIA GPU operator: MIG manager, nvidia.com/mig.config",
)
def nodes_cut_alike(facts: Facts) -> Iterator[Problem]:
    seen: set[str] = set()
    for pool in facts.fleet.pools:
        shared = pool.shared
        if shared is None or shared.mode != "mig" or shared.mig_layout or pool.name in seen:
            continue
        if shared.unplanned or shared.packing.unserved or not shared.packing.total:
            continue  # IF-MEM-008
        seen.add(pool.name)
        sizes = sorted({one.profile for gpu in shared.packing.gpus for one in gpu})
        yield Problem(
            ("pools", pool.name, "models"),
            f"what is asked fits only where the nodes are cut differently ({', '.join(sizes)}), and a node group has "
            "one layout",
            "split the pool, so that models of one size stand together",
        )


def _make_room(facts: Facts, pool: PoolPlan, asked: SharedPool, group: NodeGroupPlan) -> str:
    """What would give every asked instance a place; tried out."""
    node = instances(group.cloud)[group.instance]
    models = [facts.model(m.model) for m in asked.models]
    pair = facts.fleet.engine

    def places(nodes: int, **change: float | int) -> bool:
        bounds = Bounds(min=nodes, desired=nodes, max=nodes)
        shared = plan_shared(asked.model_copy(update=change), node, bounds, models, pair, None)
        return not shared.packing.unserved and not shared.unplanned

    ways = []
    present = group.nodes.desired
    if asked.gpu_memory_utilization < DEFAULT_UTILIZATION and places(
        present, gpu_memory_utilization=DEFAULT_UTILIZATION
    ):
        ways.append(f"write `gpu_memory_utilization: {DEFAULT_UTILIZATION}`")
    more = next((n for n in (present + 1, present + 2, present + 3, 2 * present + 2, 4 * present) if places(n)), None)
    if more is not None:
        ways.append(f"add nodes (`desired: {more}` has room)")
    fewer = next((n for n in _halves(asked.max_sequences) if places(present, max_sequences=n)), None)
    if fewer is not None:
        ways.append(f"lower `max_sequences` to {fewer}")
    return either(*ways[:3]) or "use a GPU with more memory, smaller precisions or a shorter context"


def _halves(number: int) -> Iterator[int]:
    while number > 1:
        number //= 2
        yield number
