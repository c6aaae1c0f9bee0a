"""Shapes that a pool could have: machine, topology, tensor parallelism, batch limit. Each is planned as it would be."""

from collections.abc import Iterator, Sequence

from inferfab.environment.capacity import OnDemand
from inferfab.environment.environment import Environment
from inferfab.environment.pools import AggregatedPool, DisaggregatedPool, Pool, Replicas, SharedPool, Workers
from inferfab.performance.find import profile_for
from inferfab.performance.profile import PerformanceProfile
from inferfab.plan.fleet import CellPlan, FleetPlan, plan
from inferfab.plan.placement import NodeGroupPlan, Role
from inferfab.plan.pools import PoolPlan
from inferfab.plan.served import ModelPlan
from inferfab.plan.tiers import TierPlan
from inferfab.record import Record
from inferfab.sizing.machines import machine_of, machines_for, nodes_there, priced_in_words

TENSOR = (1, 2, 4, 8)
PIPELINE = (2, 4)
"""Nodes of a worker, for a model that one node cannot hold."""
SMALL_BATCH = 64
"""Tried beside the plan's own batch limit, where that is larger: shorter steps, fewer answers at once."""


class Shape(Record):
    """One way to build the pool. Node counts are what the search varies."""

    instance: str
    gpu: str
    topology: str
    tensor: dict[Role, int]
    """GPUs that split each layer, by role."""
    pipeline: int
    """Parts of a worker that is larger than a node; 1 for all others."""
    batch: int
    pool: PoolPlan
    groups: tuple[NodeGroupPlan, ...]
    """Of each role, in the order of the pool's roles."""
    tier: TierPlan
    model: ModelPlan
    usd_per_node_hour: float | None
    """The upper end where the price is a range; None where an owned server's is not known."""
    priced: str
    profiles: dict[Role, PerformanceProfile]
    nodes_there: int | None = None
    """All roles together may have so many; None where nodes can be bought."""

    def cost(self, nodes: int) -> float:
        """What the search makes least: dollars an hour, or nodes where no price is known."""
        return nodes * (1.0 if self.usd_per_node_hour is None else self.usd_per_node_hour)

    @property
    def name(self) -> str:
        kind = {"aggregated": "aggregated", "disaggregated": "prefill + decode"}[self.topology]
        return f"{self.instance} {kind} {self.split} batch {self.batch}"

    @property
    def split(self) -> str:
        """``TP4``, ``TP2 + TP4`` where roles differ, ``TP8 PP2`` over two nodes."""
        sizes = [f"TP{n}" for n in self.tensor.values()]
        return " + ".join(sizes if self.mixed else sizes[:1]) + (f" PP{self.pipeline}" if self.pipeline > 1 else "")

    @property
    def mixed(self) -> bool:
        """Roles have different tensor parallelism."""
        return len(set(self.tensor.values())) > 1

    def step(self, index: int) -> int:
        """Nodes that are added or lost together: those of a worker that spans several."""
        return self.groups[index].nodes_per_worker

    def workers(self, index: int, nodes: int) -> int:
        """Whole workers on so many nodes."""
        group = self.groups[index]
        return nodes // group.nodes_per_worker if group.nodes_per_worker > 1 else nodes * group.workers_per_node


class Passed(Record):
    """A shape that was not searched, and why."""

    shape: str
    why: str


def shapes(
    environment: Environment, fleet: FleetPlan, cell: CellPlan, pool: PoolPlan, own: tuple[PerformanceProfile, ...],
    *, gpus: Sequence[str] = (), machines: Sequence[str] = (), topologies: Sequence[str] = (),
    tensors: Sequence[int] = TENSOR, mixed: bool = True,
) -> tuple[list[Shape], list[Passed]]:  # fmt: skip
    """Every shape of a pool in a cell that fits and has a price and a speed that is more than a roofline; owned servers
    may be without a price.

    A model that a node cannot hold is split over two or four, a part of its layers on each.

    :param gpus: GPUs to look at, also by roofline alone; empty: those with a profile of the model.
    :param machines: machine types to look at; empty: the cheapest of each number of each GPU.
    :param mixed: also prefill and decode of different tensor parallelism; they come last.
    """
    found: list[Shape] = []
    passed: list[Passed] = []
    asked = environment.pools[pool.name]
    assert not isinstance(asked, SharedPool)
    tier = next(t for t in fleet.tiers if t.name == pool.tier)
    model = next(m for m in fleet.models if m.name == pool.models[0])
    for machine in machines or machines_for(environment, cell, asked, gpus=gpus):
        most = machine_of(environment, cell, machine).gpu_count
        splits = [n for n in tensors if n <= most and model.shape.query_heads % n == 0]
        for topology in topologies or ("aggregated", "disaggregated"):
            for split in _splits(topology, splits, most, mixed):
                for one in _planned(environment, cell, asked, pool.name, machine, topology, split, own, tier, model):
                    if isinstance(one, Passed):
                        passed.append(one)
                    elif gpus or one.profiles_measured:
                        found.append(one.shape)
                    else:
                        passed.append(
                            Passed(shape=one.shape.name, why="its speed would be a roofline: name it with --gpu")
                        )
    found.sort(key=lambda s: s.mixed)
    return found, passed


class Split(Record):
    """How the workers of a pool are split over GPUs."""

    tensor: dict[Role, int]
    pipeline: int = 1

    @property
    def words(self) -> str:
        sizes = dict.fromkeys(f"TP{n}" for n in self.tensor.values())
        return " + ".join(sizes) + (f" PP{self.pipeline}" if self.pipeline > 1 else "")


def _splits(topology: str, tensors: Sequence[int], most: int, mixed: bool) -> list[Split]:
    """Within a node every tensor parallelism; over several nodes that of a whole node, with its layers in parts."""
    roles: tuple[Role, ...] = ("worker",) if topology == "aggregated" else ("prefill", "decode")
    found = [Split(tensor=dict.fromkeys(roles, n)) for n in tensors]
    if mixed and len(roles) > 1:
        found += [Split(tensor={"prefill": p, "decode": d}) for p in tensors for d in tensors if p != d]
    if most in tensors:
        found += [Split(tensor=dict.fromkeys(roles, most), pipeline=n) for n in PIPELINE]
    return found


class _Candidate:
    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.profiles_measured = all(p.basis != "roofline" for p in shape.profiles.values())


def _planned(
    environment: Environment, cell: CellPlan, asked: Pool, name: str, machine: str, topology: str, split: Split,
    own: tuple[PerformanceProfile, ...], tier: TierPlan, model: ModelPlan,
) -> Iterator["_Candidate | Passed"]:  # fmt: skip
    batches: list[int | None] = [None, SMALL_BATCH]
    words = f"{machine} {topology} {split.words}"
    if split.pipeline > 1 and _fits(environment, cell, asked, name, machine, topology, split):
        return
    planned: list[int] = []
    for limit in batches:
        fleet = _variant(environment, cell, asked, name, machine, topology, split, limit)
        pool = fleet.cells[0].pools[0]
        if not all(r.memory.fits for r in pool.roles):
            yield Passed(shape=words, why="the model does not fit into its memory")
            return
        if pool.price.usd.high is None and cell.racks is None:
            yield Passed(shape=words, why=pool.price.how)
            return
        if topology == "disaggregated" and not (pool.kv_transfer and pool.kv_transfer.available_gbps):
            yield Passed(shape=words, why="nothing carries KV cache between its nodes")
            return
        profiles = {r.role: profile_for(model, r, machine_of(environment, cell, machine).gpu, own) for r in pool.roles}
        if any(p is None for p in profiles.values()):
            yield Passed(shape=words, why="no speed of the model on it is known")
            return
        batch = max(r.batch.max_sequences for r in pool.roles if r.role != "prefill")
        if batch in planned:
            return
        planned.append(batch)
        yield _Candidate(
            Shape(
                instance=machine,
                gpu=machine_of(environment, cell, machine).gpu,
                topology=topology,
                tensor=split.tensor,
                pipeline=split.pipeline,
                batch=batch,
                pool=pool,
                groups=tuple(fleet.cells[0].node_group(r.node_group) for r in pool.roles),
                tier=tier,
                model=model,
                usd_per_node_hour=pool.price.usd.high,
                priced=priced_in_words(pool.price),
                nodes_there=nodes_there(cell, name),
                profiles={role: p for role, p in profiles.items() if p is not None},
            )
        )
        if batch <= SMALL_BATCH:
            return


def _fits(
    environment: Environment, cell: CellPlan, asked: Pool, name: str, machine: str, topology: str, split: Split
) -> bool:
    """With half as many parts it would fit: more nodes a worker are no gain."""
    fewer = split.model_copy(update={"pipeline": split.pipeline // 2})
    fleet = _variant(environment, cell, asked, name, machine, topology, fewer, None)
    return all(r.memory.fits for r in fleet.cells[0].pools[0].roles)


def _variant(
    environment: Environment, cell: CellPlan, asked: Pool, name: str, machine: str, topology: str, split: Split,
    batch: int | None,
) -> FleetPlan:  # fmt: skip
    """The plan of this one pool in this one cell, built so."""
    pool = pool_of(asked, machine, topology, split, batch)
    here = environment.cells[cell.name]
    placed = here.pools.get(name) if asked.instance == machine else None
    kept = placed.model_copy(
        update={"prefill_replicas": None, "decode_replicas": None, "worker_replicas": None}
    ) if placed else None  # fmt: skip
    return plan(
        environment.model_copy(
            update={
                "pools": {name: pool},
                "cells": {cell.name: here.model_copy(update={"pools": {name: kept}, "traffic_share": None})},
            }
        )
    )


def pool_of(
    asked: Pool, machine: str, topology: str, split: Split, batch: int | None
) -> AggregatedPool | DisaggregatedPool:
    """The pool of the file, built otherwise. Another machine than its own is bought on demand.

    What the file says of a role's memory and flags stays where the role does.
    """
    assert not isinstance(asked, SharedPool)

    def workers(role: Role) -> Workers:
        stated = getattr(asked, role, None) or Workers(replicas=Replicas(desired=1))
        return stated.model_copy(
            update={
                "replicas": Replicas(desired=1),
                "tensor_parallel": split.tensor[role],
                "pipeline_parallel": split.pipeline,
                "data_parallel": 1,
                "expert_parallel": False,
                "max_sequences": batch if role != "prefill" else stated.max_sequences,
            }
        )

    common = {
        "tier": asked.tier,
        "instance": machine,
        "capacity": asked.capacity if asked.instance == machine else OnDemand(),
        "workload": asked.workload,
        "frontends": asked.frontends,
        "block_tokens": asked.block_tokens,
        "model": asked.model,
    }
    if topology == "aggregated":
        return AggregatedPool(topology="aggregated", worker=workers("worker"), **common)  # type: ignore[arg-type]
    return DisaggregatedPool(
        topology="disaggregated",
        prefill=workers("prefill"),
        decode=workers("decode"),
        **common,  # type: ignore[arg-type]
    )
