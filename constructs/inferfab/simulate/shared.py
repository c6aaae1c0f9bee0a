"""Shared pools on the simulator: models on parts of a GPU (MIG), and models that take turns (sleep mode).

Nobody has measured parts of a GPU. A part has its share of the GPU's arithmetic (compute slices of seven) and of its
memory traffic (memory slices of eight), so the times of a profile of the whole GPU are divided by these shares; where
there is none, of the roofline.
"""

import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from inferfab.catalog.gpus import Gpu, gpus
from inferfab.catalog.instances import instances
from inferfab.performance.find import profile_of_gpu
from inferfab.performance.profile import PerformanceProfile
from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.plan.memory import Parallelism
from inferfab.plan.packing import PackingPlan
from inferfab.plan.pools import PoolPlan
from inferfab.plan.served import ModelPlan
from inferfab.plan.serving.lanes import MOST_IN_LANE
from inferfab.plan.sharing import SharedInstancePlan, SharedPlan
from inferfab.plan.tiers import TierPlan
from inferfab.record import Record
from inferfab.simulate.demand import Demand
from inferfab.simulate.engines import worker_engine, write_timing
from inferfab.simulate.lanes import LaneModel, take_turns
from inferfab.simulate.pool import judged, simulator_job
from inferfab.simulate.result import LossResult, PoolResult
from inferfab.simulate.simulator import Outcome, Simulator
from inferfab.simulate.simulator_probe import summed
from inferfab.traffic.draw import write_replay

COMPUTE_SLICES, MEMORY_SLICES = 7, 8
"""Of a data-centre GPU (NVIDIA MIG user guide)."""
_MIG = "nvidia.com/mig-"


class Part(Record):
    """What an instance has of a GPU; all of it where the GPU is not cut."""

    compute: float
    memory: float


def part_of(gpu: Gpu, resource: str) -> Part:
    """The shares of a resource."""
    if not resource.startswith(_MIG):
        return Part(compute=1.0, memory=1.0)
    profile = next(p for p in gpu.mig_profiles if p.name == resource.removeprefix(_MIG))
    return Part(compute=profile.compute_slices / COMPUTE_SLICES, memory=profile.memory_slices / MEMORY_SLICES)


def profile_of_part(
    model: ModelPlan, instance: SharedInstancePlan, gpu: str, own: tuple[PerformanceProfile, ...]
) -> PerformanceProfile | None:
    """Times of a whole GPU over the part's shares: reading is arithmetic, writing is memory traffic."""
    part = part_of(gpus()[gpu], instance.resource)
    whole = profile_of_gpu(model, gpu, Parallelism(), instance.memory, own)
    if whole is None or part.compute == 1:
        return whole
    return whole.model_copy(
        update={
            "prefill": tuple(
                p.model_copy(update={"ttft_ms": p.ttft_ms / part.compute, "how": "assumed"}) for p in whole.prefill
            ),
            "decode": tuple(
                p.model_copy(update={"itl_ms": p.itl_ms / part.memory, "how": "assumed"}) for p in whole.decode
            ),
        }
    )


class SharedInputs(Record):
    """A shared pool's instances and speeds."""

    fleet: FleetPlan
    cell: CellPlan
    pool: PoolPlan
    gpu: str
    profiles: dict[str, PerformanceProfile]
    """By model; without an entry no speed is known."""

    @property
    def tier(self) -> TierPlan:
        return next(t for t in self.fleet.tiers if t.name == self.pool.tier)

    @property
    def shared(self) -> SharedPlan:
        assert self.pool.shared is not None
        return self.pool.shared

    def instance(self, name: str) -> SharedInstancePlan:
        return next(i for i in self.shared.instances if i.model == name)

    def model(self, name: str) -> ModelPlan:
        return next(m for m in self.fleet.models if m.name == name)


def shared_inputs(
    fleet: FleetPlan, cell: CellPlan, pool: PoolPlan, own: tuple[PerformanceProfile, ...]
) -> SharedInputs:
    """Of a shared pool in a cell."""
    (group,) = (g for g in cell.node_groups if g.pool == pool.name)
    gpu = instances(group.cloud)[group.instance].gpu
    models = {m.name: m for m in fleet.models}
    assert pool.shared is not None
    found = {i.model: profile_of_part(models[i.model], i, gpu, own) for i in pool.shared.instances}
    return SharedInputs(
        fleet=fleet, cell=cell, pool=pool, gpu=gpu, profiles={n: p for n, p in found.items() if p is not None}
    )


def run_shared(
    simulator: Simulator, inputs: SharedInputs, demand: Mapping[str, Demand], lanes: Sequence[tuple[str, ...]],
    load: float = 1.0,
) -> dict[str, Outcome]:  # fmt: skip
    """What comes of each model's requests.

    :param lanes: models of each GPU, in sleep mode; with MIG an instance a mention.
    :raises SimulatorFailed: if the simulator refuses.
    """
    if inputs.shared.mode == "sleep":
        return _in_turns(inputs, demand, lanes, load)[0]
    found = {}
    with tempfile.TemporaryDirectory(prefix="inferfab-simulation-") as scratch:
        timing, trace = Path(scratch) / "timing.npz", Path(scratch) / "trace.jsonl"
        for name, wanted in demand.items():
            instance = inputs.instance(name)
            write_timing(inputs.profiles[name], timing)
            write_replay(wanted.requests, trace)
            own = worker_engine(
                kind="aggregated",
                block_tokens=instance.engine.block_tokens,
                kv_tokens=instance.memory.kv_capacity_tokens,
                max_sequences=int(instance.engine.value_of("--max-num-seqs") or 8),
                max_batched_tokens=int(instance.engine.value_of("--max-num-batched-tokens") or 8192),
                prefix_caching=inputs.model(name).prefix_caching,
                timing=timing,
            )
            count = sum(lane.count(name) for lane in lanes)
            found[name] = simulator.run(
                simulator_job(
                    trace, {"worker": own}, {"worker": count}, inputs.tier.promises, speedup=wanted.speedup * load
                )
            )
    return found


def _in_turns(
    inputs: SharedInputs, demand: Mapping[str, Demand], lanes: Sequence[tuple[str, ...]], load: float
) -> tuple[dict[str, Outcome], int]:
    """Outcomes, and how often models changed places."""
    models = {
        name: LaneModel(
            name=name,
            profile=inputs.profiles[name],
            max_sequences=int(inputs.instance(name).engine.value_of("--max-num-seqs") or 1),
            max_requests=MOST_IN_LANE * int(inputs.instance(name).engine.value_of("--max-num-seqs") or 1),
            move_seconds=inputs.instance(name).wake_seconds,
        )
        for name in demand
    }
    start = min(d.requests[0].at_s for d in demand.values())
    faster = {
        name: tuple(r.model_copy(update={"at_s": (r.at_s - start) / (wanted.speedup * load)}) for r in wanted.requests)
        for name, wanted in demand.items()
    }
    begun = time.monotonic()
    turns = take_turns(lanes, models, faster)
    wall = (time.monotonic() - begun) * 1000
    job = {"promises": [p.model_dump() for p in inputs.tier.promises]}
    return {
        name: Outcome.model_validate(
            summed(list(requests), {"duration_ms": turns.duration_ms, "wall_time_ms": wall}, job)
        )
        for name, requests in turns.requests.items()
    }, turns.swaps


def lanes_of(packing: PackingPlan) -> tuple[tuple[str, ...], ...]:
    """Models of each GPU that has any."""
    return tuple(tuple(piece.model for piece in gpu) for gpu in packing.gpus if gpu)


def simulate_shared(
    simulator: Simulator, inputs: SharedInputs, demand: Mapping[str, Demand], *, lose_node: bool = False
) -> list[PoolResult]:
    """A result a model.

    :param demand: of each model.
    :raises SimulatorFailed: if the simulator refuses.
    """
    lanes = lanes_of(inputs.shared.packing)
    standing = {name for lane in lanes for name in lane}
    found: list[PoolResult] = []
    whole = {}
    for name, wanted in demand.items():
        why = (
            "no instance at the desired size" if name not in standing
            else "no request comes here" if len(wanted.requests) < 2
            else "no speed is known" if name not in inputs.profiles
            else ""
        )  # fmt: skip
        if why:
            found.append(PoolResult(**_head(inputs, name, wanted), status="not simulated", why=why))
        else:
            whole[name] = wanted
    if not whole:
        return found
    swaps = 0
    if inputs.shared.mode == "sleep":
        outcomes, swaps = _in_turns(inputs, whole, lanes, 1.0)
    else:
        outcomes = run_shared(simulator, inputs, whole, lanes)
    losses = _losses(simulator, inputs, whole, lanes) if lose_node else {}
    gpus_here = len(inputs.shared.packing.gpus)
    tokens = sum(o.output_tokens for o in outcomes.values())
    every = tokens + sum(o.prompt_tokens for o in outcomes.values())
    for name, outcome in outcomes.items():
        seconds = max(outcome.duration_ms / 1000, 1e-3)
        usd = inputs.pool.cost.desired.usd_per_hour.times(seconds / 3600)
        count = sum(lane.count(name) for lane in lanes)
        if inputs.shared.mode == "sleep":
            hours, where = (
                seconds / 3600 * gpus_here / len(outcomes),
                f"{count} lanes; {swaps:,} changes of turn in all",
            )
        else:
            share = part_of(gpus()[inputs.gpu], inputs.instance(name).resource).memory
            hours, where = count * share * seconds / 3600, f"{count} instances of {inputs.instance(name).resource}"
        found.append(
            PoolResult(
                **_head(inputs, name, whole[name]),
                status="simulated",
                requests=outcome.requests,
                rate_rps=whole[name].rate_rps,
                good_rps=outcome.good / seconds,
                ttft_ms=outcome.ttft_ms,
                itl_ms=outcome.itl_ms,
                promises=judged(inputs.tier.promises, outcome),
                gpus=0,
                gpu_hours=hours,
                usd_per_million_output_tokens=usd.times(1e6 / tokens) if tokens else None,
                usd_per_million_total_tokens=usd.times(1e6 / every) if tokens else None,
                reused_share=outcome.reused_tokens / outcome.prompt_tokens if outcome.prompt_tokens else 0.0,
                losses=losses.get(name, ()),
                simulated_per_second=outcome.requests / max(outcome.wall_ms / 1000, 1e-3),
                notes=_notes(inputs, name, where, outcome),
            )
        )
    return found


def _head(inputs: SharedInputs, name: str, wanted: Demand) -> dict[str, Any]:
    pool = inputs.pool
    return {
        "cell": inputs.cell.name, "pool": pool.name, "tier": pool.tier, "model": name, "fabric": "tcp",
        "traffic": f"{wanted.words}, its part of {len(pool.models)} models", "too_long": wanted.too_long,
    }  # fmt: skip


def _notes(inputs: SharedInputs, name: str, where: str, outcome: Outcome) -> tuple[str, ...]:
    basis = inputs.profiles[name].basis
    speed = (
        f"speed of the whole GPU from {basis}, divided by the part's share of it; not a measurement of the part"
        if part_of(gpus()[inputs.gpu], inputs.instance(name).resource).compute < 1
        else f"speed from {basis}"
    )
    notes = [f"{where}; {speed}", "dollars a token are the pool's, over the tokens of all its models"]
    if inputs.shared.mode == "sleep":
        notes.append(
            "turns by llama-swap's rule in inferfab's own reckoning: Dynamo's simulator has no engine that sleeps"
        )
        refused = outcome.requests - outcome.completed
        if refused:
            notes.append(f"{refused:,} requests were refused (HTTP 429): the lane's limit")
    return tuple(notes)


def without_a_node(inputs: SharedInputs, away: int = 1) -> tuple[tuple[str, ...], ...]:
    """Lanes that are left with the worst nodes away: those with the most instances."""
    (group,) = (g for g in inputs.cell.node_groups if g.pool == inputs.pool.name)
    packed = inputs.shared.packing.gpus
    size = group.gpus_per_node
    nodes = [packed[at : at + size] for at in range(0, len(packed), size)]
    nodes.sort(key=lambda node: -sum(len(gpu) for gpu in node))
    return tuple(tuple(piece.model for piece in gpu) for node in nodes[away:] for gpu in node if gpu)


def _losses(
    simulator: Simulator, inputs: SharedInputs, demand: Mapping[str, Demand], lanes: Sequence[tuple[str, ...]]
) -> dict[str, tuple[LossResult, ...]]:
    """The whole run without the fullest node: nothing says how an answer that was broken off goes on."""
    left = without_a_node(inputs)
    standing = {n: w for n, w in demand.items() if any(n in lane for lane in left)}
    outcomes = run_shared(simulator, inputs, standing, left) if standing else {}
    return {
        name: (
            LossResult(
                role="shared",
                workers=sum(lane.count(name) for lane in lanes) - sum(lane.count(name) for lane in left),
                provision_how="the node is away for the whole run",
                outage=name not in outcomes,
                promises=judged(inputs.tier.promises, outcomes[name]) if name in outcomes else (),
            ),
        )
        for name in demand
    }
