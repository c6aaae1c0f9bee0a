"""What would mend a worker: tried out with the plan's own arithmetic before it is suggested."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from inferfab.catalog.gpus import Gpu, gpus
from inferfab.catalog.instances import instances
from inferfab.catalog.models import ModelShape, Quantization, models
from inferfab.checks.facts import Facts, Placed
from inferfab.environment.pools import Workers
from inferfab.environment.served_models import ServedModel
from inferfab.plan.batch import plan_batch
from inferfab.plan.engine import batched_tokens, parallelism
from inferfab.plan.memory import MemoryPlan, plan_memory, sequence_bytes
from inferfab.plan.performance import PerformancePlan, plan_performance
from inferfab.plan.quantities import GIB
from inferfab.plan.served import BYTES_PER_PARAMETER, ModelPlan, plan_model

DEFAULT_UTILIZATION = 0.92
"""vLLM's own share of a GPU's memory."""
FP8_CACHE_LACKS = ("turing", "ampere")
_MOST = 3
"""Ways out that one finding names."""


def plain(value: float) -> str:
    """A number as it can be written into the file: no separators, no exponent."""
    return f"{value:.0f}" if value == math.floor(value) else f"{value:.10f}".rstrip("0")


def at_least(value: float, digits: int = 0) -> str:
    """The number, rounded up: what it replaces must not be less."""
    scale = 10**digits
    return plain(math.ceil(round(value * scale, 6)) / scale)


def at_most(value: float, digits: int = 0) -> str:
    """The number, rounded down."""
    scale = 10**digits
    return plain(math.floor(round(value * scale, 6)) / scale)


def either(*ways: str) -> str:
    """``a, b, or c``."""
    shown = [way for way in ways if way]
    if len(shown) < 2:
        return "".join(shown)
    return f"{', '.join(shown[:-1])}, or {shown[-1]}"


def splits_heads(shape: ModelShape, tensor: int) -> bool:
    """Whether so many GPUs can share the attention heads: query heads evenly, KV heads evenly or as whole copies."""
    kv_heads = {g.kv_heads for g in shape.attention if g.kind != "mla"}
    return shape.query_heads % tensor == 0 and all(n % tensor == 0 or tensor % n == 0 for n in kv_heads)


@dataclass(frozen=True)
class Tried:
    """A worker as it would be."""

    memory: MemoryPlan
    performance: PerformancePlan


def workers_of(facts: Facts, at: Placed) -> Workers:
    workers = getattr(facts.asked(at.pool.name), at.role.role)
    assert isinstance(workers, Workers)
    return workers


def tried(
    facts: Facts,
    at: Placed,
    *,
    tensor: int | None = None,
    gpu: Gpu | None = None,
    model: ModelPlan | None = None,
    **fields: float | int,
) -> Tried:
    """The worker with another split, GPU, model or field of :class:`Workers`."""
    update = {**fields, **({"tensor_parallel": tensor} if tensor else {})}
    workers = workers_of(facts, at).model_copy(update=update)
    gpu, model = gpu or gpus()[at.group.gpu], model or at.model
    parallel, load = parallelism(workers), at.pool.workload
    memory = plan_memory(
        model,
        gpu,
        parallel,
        gpu_memory_utilization=workers.gpu_memory_utilization,
        batched_tokens=batched_tokens(at.role.role, workers),
        sequences=workers.max_sequences or 256,
        stated_overhead_bytes=round(workers.overhead_gib * GIB) if workers.overhead_gib is not None else None,
    )
    batch = plan_batch(
        workers,
        model,
        gpu,
        parallel,
        memory,
        mean_sequence_tokens=load.prompt_tokens + load.output_tokens / 2,
        itl_at_most_ms=at.tier.strictest_ms("itl") if at.role.role != "prefill" else None,
    )
    performance = plan_performance(
        model,
        gpu,
        parallel,
        memory,
        prompt_tokens=load.prompt_tokens,
        output_tokens=load.output_tokens,
        max_sequences=batch.max_sequences,
        reads_prompts=at.role.role != "decode",
        writes_answers=at.role.role != "prefill",
    )
    return Tried(memory, performance)


Keeps = Callable[[Tried], bool]


def _larger_splits(at: Placed, most: int, *, above: int) -> Iterator[int]:
    """Tensor-parallel degrees above the present one that heads and a node of ``most`` GPUs allow."""
    others = at.role.parallelism.pipeline * at.role.parallelism.data
    for tensor in range(above + 1, most + 1):
        worker = tensor * others
        whole = most % worker == 0 if worker <= most else worker % most == 0
        if whole and splits_heads(at.model.shape, tensor):
            yield tensor


def more_gpus(facts: Facts, at: Placed, keeps: Keeps) -> list[str]:
    """A larger ``tensor_parallel`` that mends it, on this machine or on a larger one with the same GPU."""
    present = at.role.parallelism.tensor
    for tensor in _larger_splits(at, at.group.gpus_per_node, above=present):
        if keeps(tried(facts, at, tensor=tensor)):
            return [f"use `tensor_parallel: {tensor}`"]
    larger = [
        i
        for i in instances(at.group.cloud).values()
        if i.gpu == at.group.gpu and i.gpu_count > at.group.gpus_per_node and not i.capacity_block_only
    ]
    for count in sorted({i.gpu_count for i in larger}):
        for tensor in _larger_splits(at, count, above=present):
            if keeps(tried(facts, at, tensor=tensor)):
                names = sorted(i.name for i in larger if i.gpu_count == count)
                return [f"use {' or '.join(names[:2])} ({count} GPUs) with `tensor_parallel: {tensor}`"]
    return []


def other_gpus(facts: Facts, at: Placed, keeps: Keeps) -> list[str]:
    """GPUs of the same cloud with which the worker as it is, or split over one node, would do."""
    counts: dict[str, int] = {}
    for machine in instances(at.group.cloud).values():
        if machine.capacity_block_only:
            continue
        counts[machine.gpu] = max(counts.get(machine.gpu, 0), machine.gpu_count)
    found = []
    for name, count in counts.items():
        gpu = gpus()[name]
        if name == at.group.gpu or "bf16" not in gpu.dense_tflops:
            continue
        present = at.role.parallelism.tensor
        splits = [*([present] if present <= count else []), *_larger_splits(at, count, above=present)]
        fitting = next((n for n in splits if keeps(tried(facts, at, gpu=gpu, tensor=n))), None)
        if fitting is not None:
            found.append((fitting, gpu.memory_mib, name))
    if not found:
        return []
    least = min(found)[0]
    names = [name for tensor, _, name in sorted(found) if tensor == least]
    with_split = "" if least == at.role.parallelism.tensor else f" with `tensor_parallel: {least}`"
    return [f"use another GPU ({' or '.join(names[:_MOST])}){with_split}"]


def _asked(facts: Facts, at: Placed) -> ServedModel:
    return facts.environment.models[at.model.name]


def smaller_weights(facts: Facts, at: Placed, keeps: Keeps) -> list[str]:
    """A published checkpoint of fewer bits that the GPU computes in."""
    asked = _asked(facts, at)
    entry = models().get(asked.catalog or "")
    if entry is None or asked.source is not None or asked.weights_gib is not None:
        return []
    flops, width = gpus()[at.group.gpu].dense_tflops, BYTES_PER_PARAMETER
    able: dict[Quantization, bool] = {"fp8": "fp8" in flops, "nvfp4": "fp4" in flops}
    offered = [c.quantization for c in entry.checkpoints if width[c.quantization] < width[at.model.quantization]]
    for precision in sorted(offered, key=lambda p: -width[p]):
        if able.get(precision, True):
            smaller = plan_model(at.model.name, asked.model_copy(update={"quantization": precision}))
            if keeps(tried(facts, at, model=smaller)):
                return [f"use `quantization: {precision}` of the model"]
    return []


def smaller_cache(facts: Facts, at: Placed, keeps: Keeps) -> list[str]:
    """An fp8 KV cache, where there is none yet and the GPU takes one."""
    if at.model.kv_precision != "bf16" or gpus()[at.group.gpu].architecture in FP8_CACHE_LACKS:
        return []
    half = plan_model(at.model.name, _asked(facts, at).model_copy(update={"kv_cache_dtype": "fp8"}))
    return ["set `kv_cache_dtype: fp8`"] if keeps(tried(facts, at, model=half)) else []


def more_memory(facts: Facts, at: Placed) -> list[str]:
    """Ways, tried out, in which weights and one sequence of the promised context fit."""

    def fits(worker: Tried) -> bool:
        return worker.memory.fits

    ways: list[str] = []
    if at.role.memory.gpu_memory_utilization < DEFAULT_UTILIZATION and fits(
        tried(facts, at, gpu_memory_utilization=DEFAULT_UTILIZATION)
    ):
        ways.append(f"write `gpu_memory_utilization: {DEFAULT_UTILIZATION}`")
    for search in (more_gpus, smaller_cache, smaller_weights, other_gpus):
        if len(ways) < _MOST:
            ways += search(facts, at, fits)
    return ways


def largest_context(at: Placed) -> int:
    """Most tokens of one sequence that the KV cache of a rank holds; windows fill up, so it is searched for."""
    capacity = at.role.memory.kv_capacity_bytes_per_gpu
    low, high = 0, at.role.memory.context_tokens
    while low < high:
        middle = (low + high + 1) // 2
        if sequence_bytes(at.model, at.role.parallelism, middle) <= capacity:
            low = middle
        else:
            high = middle - 1
    return low
