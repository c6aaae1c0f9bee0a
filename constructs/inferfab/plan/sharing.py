"""Shared pools: what each instance needs, where it stands, and what a request waits when its model is not awake."""

import math

from pydantic import NonNegativeFloat, NonNegativeInt

from inferfab.catalog.engines import EnginePair
from inferfab.catalog.gpus import MigProfile, gpus
from inferfab.catalog.instances import InstanceType
from inferfab.environment.pools import Replicas, SharedPool, Workers
from inferfab.plan.adapters import adapter_bytes
from inferfab.plan.engine import DEFAULT_DECODE_BATCHED_TOKENS, EnginePlan, default_block_tokens, plan_engine
from inferfab.plan.images import ImageSource
from inferfab.plan.memory import (
    MOST_MEMORY_SHARE,
    MemoryPlan,
    Parallelism,
    overhead_bytes,
    plan_memory,
    sequence_bytes,
)
from inferfab.plan.packing import (
    Asked,
    NodeCut,
    PackingPlan,
    TooLarge,
    node_cut,
    on_nodes,
    pack_mig_nodes,
    pack_sleep,
    smallest_profile,
)
from inferfab.plan.quantities import GIB, Bounds
from inferfab.plan.served import ModelPlan
from inferfab.plan.transport import tcp_transport
from inferfab.record import Record

HOST_SHARE_FOR_SLEEPING = 0.7
"""Share of a node's memory that may hold sleeping weights; the rest is for the system and running engines."""
PCIE_BYTES_PER_SECOND = 20e9
"""CPU memory to GPU over PCIe 4.0 x16 (32 GB/s line rate), as pinned copies reach it; newer nodes are faster."""


SLEEPING_GPU_BYTES = int(1.2 * GIB)
"""What a sleeping engine keeps of its GPU: CUDA context, graphs, buffers outside of vLLM's pools. Seen: 0.8 GiB
(NVIDIA-NeMo/RL#223) and 1.2 GiB (vllm-project/vllm#28714)."""


class SharedInstancePlan(Record):
    """How one model runs in a shared pool."""

    model: str
    resource: str
    """Extended resource that its pods ask for: a MIG profile, or a whole GPU."""
    bytes_needed: NonNegativeInt
    """Weights, overhead and the KV cache of the asked sequences, over the utilization."""
    memory: MemoryPlan
    engine: EnginePlan
    cold_load_seconds: NonNegativeFloat
    """Until a model that is not on the node answers: its weights over the stated load rate; engine start on top."""
    wake_seconds: NonNegativeFloat
    """Sleep mode: weights back from CPU memory over PCIe; 0 for MIG, where every instance is awake."""


class SharedPlan(Record):
    """How a shared pool serves its models at the desired size."""

    mode: str
    packing: PackingPlan
    instances: tuple[SharedInstancePlan, ...]
    awake_at_once: NonNegativeInt
    """Instances that answer at the same time: all slices with MIG, one a GPU in sleep mode."""
    instances_at_min: dict[str, NonNegativeInt]
    """Served instances by model when the pool has scaled in to its fewest nodes; 0 for a model that is gone then.
    ``packing`` is at the desired size."""
    unserved_at_min: dict[str, NonNegativeInt]
    """Asked instances that have no place then, by model."""
    mig_layout: NodeCut | None = None
    """How the GPUs of every node are cut; None where nodes would differ, or nothing is cut."""
    unplanned: str = ""
    """Why no packing was made; empty if one was."""


def plan_shared(
    pool: SharedPool,
    machine: InstanceType,
    nodes: Bounds,
    models: list[ModelPlan],
    pair: EnginePair,
    image_registry: ImageSource | None,
) -> SharedPlan:
    """Pack ``models`` onto the desired nodes, and tell what stands on the fewest."""
    wanted = {m.model: m.instances for m in pool.models}
    needs = {m.name: bytes_needed(m, pool) for m in models}
    asked = tuple(Asked(model=m.name, bytes_needed=needs[m.name], instances=wanted[m.name]) for m in models)
    weights = {m.name: m.weights_bytes + m.draft_weights_bytes for m in models}
    packing, unplanned = _pack(pool, machine, nodes.desired, asked, weights)
    layout = _layout(pool, machine, nodes, packing, asked, weights)
    least = packing
    if nodes.min < nodes.desired:
        # Nodes that stay keep their cut.
        least = (
            on_nodes(packing, gpus()[machine.gpu], machine.gpu_count, nodes.min, asked)
            if layout
            else _pack(pool, machine, nodes.min, asked, weights)[0]
        )
    share = pool.gpu_memory_utilization
    if pool.sharing == "sleep":
        held = max((len(lane) for lane in packing.gpus), default=1)
        share = awake_share(share, gpus()[machine.gpu].memory_bytes, held)
    awake = packing.total if pool.sharing == "mig" else sum(1 for lane in packing.gpus if lane)
    return SharedPlan(
        mode=pool.sharing,
        packing=packing,
        instances=tuple(_instance(m, pool, machine, needs[m.name], share, pair, image_registry) for m in models),
        awake_at_once=awake,
        instances_at_min={m.name: least.instances.get(m.name, 0) for m in models},
        unserved_at_min=least.unserved,
        mig_layout=layout,
        unplanned=unplanned,
    )


def _layout(
    pool: SharedPool,
    machine: InstanceType,
    nodes: Bounds,
    packing: PackingPlan,
    asked: tuple[Asked, ...],
    weights: dict[str, int],
) -> NodeCut | None:
    """The cut of a node; of a group that starts without nodes that of its largest size."""
    if pool.sharing != "mig":
        return None
    whole = packing if nodes.desired else _pack(pool, machine, nodes.max, asked, weights)[0]
    cut = node_cut(whole, machine.gpu_count)
    return cut if cut and any(cut) else None


def _pack(
    pool: SharedPool, machine: InstanceType, nodes: int, asked: tuple[Asked, ...], weights: dict[str, int]
) -> tuple[PackingPlan, str]:
    """What stands on ``nodes`` nodes, and why nothing was packed where that is so."""
    gpu = gpus()[machine.gpu]
    if pool.sharing == "sleep":
        packing = pack_sleep(
            nodes=nodes,
            gpus_per_node=machine.gpu_count,
            gpu_bytes=gpu.memory_bytes,
            host_bytes_per_node=math.floor((machine.memory_mib or 0) * 1024**2 * HOST_SHARE_FOR_SLEEPING),
            asked=asked,
            weights=weights,
            most_on_gpu=_most_on_gpu(pool, gpu.memory_bytes, asked),
        )
        return packing, ""
    try:
        return pack_mig_nodes(gpu, nodes, machine.gpu_count, asked), ""
    except TooLarge as error:
        nothing = PackingPlan(gpus=(), instances={}, unserved={a.model: a.instances for a in asked})
        return nothing, str(error)


def awake_share(asked: float, gpu_bytes: int, engines: int) -> float:
    """Share of a GPU that the awake one of ``engines`` may take: what is asked, or what the sleeping ones leave."""
    if engines < 2:
        return asked
    left = MOST_MEMORY_SHARE - (engines - 1) * SLEEPING_GPU_BYTES / gpu_bytes
    return min(asked, math.floor(left * 1000) / 1000)


def _most_on_gpu(pool: SharedPool, gpu_bytes: int, asked: tuple[Asked, ...]) -> int:
    """Engines of a GPU with which each model, awake, still holds what was asked of it."""
    needed = max(
        (a.bytes_needed * pool.gpu_memory_utilization for a in asked if a.bytes_needed <= gpu_bytes), default=0
    )
    most = 1
    while most < len(asked) and awake_share(pool.gpu_memory_utilization, gpu_bytes, most + 1) * gpu_bytes > needed:
        most += 1
    return most


def bytes_needed(model: ModelPlan, pool: SharedPool) -> int:
    """What one instance must find free: weights, overhead, and KV cache for the asked sequences at full context."""
    overhead = overhead_bytes(model.shape, batched_tokens=DEFAULT_DECODE_BATCHED_TOKENS, sequences=pool.max_sequences)
    kv = pool.max_sequences * sequence_bytes(model, Parallelism(), model.context_tokens)
    weights = model.weights_bytes + model.draft_weights_bytes + adapter_bytes(model, 1)
    return math.ceil((weights + overhead + kv) / pool.gpu_memory_utilization)


def _instance(
    model: ModelPlan,
    pool: SharedPool,
    machine: InstanceType,
    needed: int,
    share: float,
    pair: EnginePair,
    image_registry: ImageSource | None,
) -> SharedInstancePlan:
    gpu = gpus()[machine.gpu]
    profile: MigProfile | None = smallest_profile(gpu, needed) if pool.sharing == "mig" else None
    workers = Workers(
        replicas=Replicas(desired=1),
        gpu_memory_utilization=share,
        max_sequences=pool.max_sequences,
        max_batched_tokens=DEFAULT_DECODE_BATCHED_TOKENS,
        flags={"--enable-sleep-mode": True} if pool.sharing == "sleep" else {},
    )
    memory = plan_memory(
        model,
        gpu,
        Parallelism(),
        gpu_memory_utilization=share,
        batched_tokens=DEFAULT_DECODE_BATCHED_TOKENS,
        sequences=pool.max_sequences,
        memory_bytes=profile.memory_mib * 1024**2 if profile else None,
    )
    block = pool.block_tokens or default_block_tokens(pair, model.shape)
    engine = plan_engine(
        pair,
        model,
        "shared",
        workers,
        memory,
        tcp_transport(),
        block_tokens=block,
        max_sequences=pool.max_sequences,
        image_registry=image_registry,
    )
    moved = model.weights_bytes + model.draft_weights_bytes
    return SharedInstancePlan(
        model=model.name,
        resource=f"nvidia.com/mig-{profile.name}" if profile else "nvidia.com/gpu",
        bytes_needed=needed,
        memory=memory,
        engine=engine,
        cold_load_seconds=model.cold_load_seconds,
        wake_seconds=0.0 if pool.sharing == "mig" else round(moved / PCIE_BYTES_PER_SECOND, 1),
    )
