"""Models on parts of a GPU (MIG) on the simulator. Nobody has measured such parts, so their speed is a roofline.

A part has its share of the GPU's arithmetic (compute slices of seven) and of its memory traffic (memory slices of
eight). Models that take turns on whole GPUs (sleep mode) are not simulated: the simulator has no engine that sleeps.
"""

import tempfile
from datetime import date
from pathlib import Path
from typing import Any

from inferfab.catalog.gpus import Gpu, gpus
from inferfab.catalog.instances import instances
from inferfab.performance.roofline import roofline_profile
from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.plan.memory import Parallelism
from inferfab.plan.pools import PoolPlan
from inferfab.simulate.demand import Demand
from inferfab.simulate.engines import worker_engine, write_timing
from inferfab.simulate.pool import judged, simulator_job
from inferfab.simulate.result import PoolResult
from inferfab.simulate.simulator import Simulator
from inferfab.traffic.draw import write_replay

COMPUTE_SLICES, MEMORY_SLICES = 7, 8
"""Of a data-centre GPU (NVIDIA MIG user guide)."""
_MIG = "nvidia.com/mig-"


def part_of(gpu: Gpu, resource: str) -> tuple[Gpu, float]:
    """The part of a GPU that a resource is, and which share of the whole; the GPU itself where it is not cut."""
    if not resource.startswith(_MIG):
        return gpu, 1.0
    profile = next(p for p in gpu.mig_profiles if p.name == resource.removeprefix(_MIG))
    compute, memory = profile.compute_slices / COMPUTE_SLICES, profile.memory_slices / MEMORY_SLICES
    part = gpu.model_copy(
        update={
            "dense_tflops": {name: value * compute for name, value in gpu.dense_tflops.items()},
            "memory_gb_per_second": gpu.memory_gb_per_second * memory,
        }
    )
    return part, memory


def simulate_shared(
    simulator: Simulator, fleet: FleetPlan, cell: CellPlan, pool: PoolPlan, name: str, demand: Demand, as_of: date
) -> PoolResult:
    """One model of a shared pool.

    :param demand: of the model.
    :raises SimulatorFailed: if the simulator refuses.
    """
    shared = pool.shared
    assert shared is not None
    head: dict[str, Any] = {
        "cell": cell.name, "pool": pool.name, "tier": pool.tier, "model": name, "fabric": "tcp",
        "traffic": f"{demand.words}, its part of {len(pool.models)} models", "too_long": demand.too_long,
    }  # fmt: skip
    count = shared.packing.instances.get(name, 0)
    if shared.mode == "sleep":
        why = "its models take turns on whole GPUs, and the simulator has no engine that sleeps"
        return PoolResult(**head, status="not simulated", why=why)
    if not count or len(demand.requests) < 2:
        why = "no instance at the desired size" if not count else "no request comes here"
        return PoolResult(**head, status="not simulated", why=why)
    model = next(m for m in fleet.models if m.name == name)
    tier = next(t for t in fleet.tiers if t.name == pool.tier)
    instance = next(i for i in shared.instances if i.model == name)
    (group,) = (g for g in cell.node_groups if g.pool == pool.name)
    gpu = instances(group.cloud)[group.instance].gpu
    part, share = part_of(gpus()[gpu], instance.resource)
    profile = roofline_profile(model, gpu, part, Parallelism(), instance.memory)
    if profile is None:
        return PoolResult(**head, status="not simulated", why="no speed is known")
    with tempfile.TemporaryDirectory(prefix="inferfab-simulation-") as scratch:
        timing, trace = Path(scratch) / "timing.npz", Path(scratch) / "trace.jsonl"
        write_timing(profile, timing)
        write_replay(demand.requests, trace)
        own = worker_engine(
            kind="aggregated",
            block_tokens=instance.engine.block_tokens,
            kv_tokens=instance.memory.kv_capacity_tokens,
            max_sequences=int(instance.engine.value_of("--max-num-seqs") or 8),
            max_batched_tokens=int(instance.engine.value_of("--max-num-batched-tokens") or 8192),
            prefix_caching=model.prefix_caching,
            timing=timing,
        )
        job = simulator_job(trace, {"worker": own}, {"worker": count}, tier.promises, speedup=demand.speedup)
        outcome = simulator.run(job)
    seconds = outcome.duration_ms / 1000
    return PoolResult(
        **head,
        status="simulated",
        requests=outcome.requests,
        rate_rps=demand.rate_rps,
        good_rps=outcome.good / seconds,
        ttft_ms=outcome.ttft_ms,
        itl_ms=outcome.itl_ms,
        promises=judged(tier.promises, outcome),
        gpus=0,
        gpu_hours=count * share * seconds / 3600,
        reused_share=outcome.reused_tokens / outcome.prompt_tokens if outcome.prompt_tokens else 0.0,
        simulated_per_second=outcome.requests / max(outcome.wall_ms / 1000, 1e-3),
        notes=(
            f"{count} instances of {instance.resource}: speed is a roofline of that part of the GPU, not a measurement",
            "dollars are the pool's, not a model's",
        ),
    )
