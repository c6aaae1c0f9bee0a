"""How fast a worker can be at all: a roofline with stated efficiencies, as a range.

Prefill is bound by arithmetic, decode by memory traffic. The range comes from the efficiencies that engines
reach of the datasheet: 35 to 60 % of dense FLOPs in prefill, 50 to 80 % of memory bandwidth in decode. Wide
tensor parallelism and mixtures of experts reach less (collectives, uneven experts): against the offline
throughput that TensorRT-LLM publishes for Llama 3.1 405B and Qwen3-235B the low ends were twice too good, so
they start at 20 % and 25 % there, and in between for four GPUs. An estimate, unproven until the pool is
simulated or measured; the plan shows published points beside it.
"""

import math

from pydantic import NonNegativeFloat, NonNegativeInt

from inferfab.catalog.gpus import Gpu, Precision
from inferfab.catalog.models import LatentAttention, Quantization, SlidingAttention
from inferfab.plan.memory import MemoryPlan, Parallelism, sequence_bytes
from inferfab.plan.quantities import Range
from inferfab.plan.served import ModelPlan
from inferfab.record import Record

FLOPS_EFFICIENCY = Range(low=0.35, high=0.60)
BANDWIDTH_EFFICIENCY = Range(low=0.50, high=0.80)
LOW_EFFICIENCIES = ((8, 0.20, 0.25), (4, 0.28, 0.38), (1, FLOPS_EFFICIENCY.low, BANDWIDTH_EFFICIENCY.low))
"""(tensor parallelism from, share of FLOPs, share of bandwidth) reached at least; experts count as the widest."""

_COMPUTE: dict[Quantization, tuple[Precision, ...]] = {
    "bf16": ("bf16",), "fp8": ("fp8", "bf16"), "int8": ("bf16",), "int4": ("bf16",),
    "mxfp4": ("fp4", "bf16"), "nvfp4": ("fp4", "bf16"),
}  # fmt: skip
"""Arithmetic that a checkpoint runs in, best first; weight-only formats compute in 16 bits."""


class PerformancePlan(Record):
    """Estimated speed of one worker at its workload. Ranges from the stated efficiencies."""

    prefill_tokens_per_second: Range | None
    """Prompt tokens read a second; None for a worker that reads none, or a GPU without the arithmetic."""
    prefill_ms: Range | None
    """Reading one prompt, alone."""
    decode_batch: NonNegativeInt
    """Sequences decoded together by all ranks: the engine's own limit, or what KV memory holds of it; 0 for prefill
    workers."""
    decode_step_ms: Range | None
    decode_tokens_per_second: Range | None
    requests_per_second: Range
    """What one fully busy worker serves of the workload."""
    mean_sequence_tokens: NonNegativeFloat


def peak_tflops(gpu: Gpu, quantization: Quantization) -> float | None:
    """Dense peak in the best arithmetic that both checkpoint and GPU can do; None if there is none."""
    return next((gpu.dense_tflops[p] for p in _COMPUTE[quantization] if p in gpu.dense_tflops), None)


def low_efficiencies(model: ModelPlan, parallel: Parallelism) -> tuple[float, float]:
    """(share of FLOPs, share of bandwidth) that a worker reaches at least."""
    width = 8 if model.shape.experts else parallel.tensor
    return next((flops, bandwidth) for least, flops, bandwidth in LOW_EFFICIENCIES if width >= least)


def flops_per_prompt_token(model: ModelPlan, prompt_tokens: int) -> float:
    """Two operations a parameter, plus attention over half the prompt on average (4 * heads * head_dim * context)."""
    attention = 0.0
    for group in model.shape.attention:
        head_dim = group.kv_lora_rank + group.rope_head_dim if isinstance(group, LatentAttention) else group.head_dim
        span = prompt_tokens / 2
        if isinstance(group, SlidingAttention):
            span = min(span, group.window_tokens)
        attention += 4 * group.layers * model.shape.query_heads * head_dim * span
    return 2 * model.shape.active_parameters + attention


def plan_performance(
    model: ModelPlan,
    gpu: Gpu,
    parallel: Parallelism,
    memory: MemoryPlan,
    *,
    prompt_tokens: int,
    output_tokens: int,
    max_sequences: int,
    reads_prompts: bool,
    writes_answers: bool,
) -> PerformancePlan:
    """Estimate one worker at ``prompt_tokens`` in and ``output_tokens`` out.

    :param max_sequences: what the engine is held to (:mod:`inferfab.plan.batch`).
    """
    mean_tokens = prompt_tokens + output_tokens / 2
    prefill = _prefill_rate(model, gpu, parallel, prompt_tokens) if reads_prompts else None
    batch, step = 0, None
    if writes_answers:
        batch, step = _decode(model, gpu, parallel, memory, round(mean_tokens), max_sequences)
    decode = Range.exact(batch * 1000.0).over(step) if step and batch else None
    return PerformancePlan(
        prefill_tokens_per_second=prefill,
        # One data-parallel rank reads a prompt, and its pipeline stages do so one after another.
        prefill_ms=Range.exact(prompt_tokens * 1000.0 * parallel.data * parallel.pipeline).over(prefill)
        if prefill
        else None,
        decode_batch=batch,
        decode_step_ms=step,
        decode_tokens_per_second=decode,
        requests_per_second=_requests(
            prefill, decode, prompt_tokens, output_tokens, reads_prompts=reads_prompts, writes_answers=writes_answers
        ),
        mean_sequence_tokens=mean_tokens,
    )


def _prefill_rate(model: ModelPlan, gpu: Gpu, parallel: Parallelism, prompt_tokens: int) -> Range | None:
    peak = peak_tflops(gpu, model.quantization)
    if peak is None:
        return None
    ideal = peak * 1e12 * parallel.gpus / flops_per_prompt_token(model, prompt_tokens)
    assert FLOPS_EFFICIENCY.high is not None
    return Range(low=ideal * low_efficiencies(model, parallel)[0], high=ideal * FLOPS_EFFICIENCY.high)


def batch_within_itl(
    model: ModelPlan, gpu: Gpu, parallel: Parallelism, memory: MemoryPlan, mean_tokens: int, itl_at_most_ms: float
) -> int:
    """Largest batch of a rank whose step keeps an ITL promise at the lower efficiency.

    At least one sequence for each pipeline stage, also where not even that keeps it.
    """
    efficiency = low_efficiencies(model, parallel)[1]
    budget = itl_at_most_ms / 1000 * gpu.memory_gb_per_second * 1e9 * efficiency / parallel.pipeline
    part = int((budget - _weights(memory)) / sequence_bytes(model, parallel, mean_tokens))
    return parallel.pipeline * max(1, part)


def _weights(memory: MemoryPlan) -> int:
    return memory.weights_bytes_per_gpu + memory.draft_bytes_per_gpu


def _decode(
    model: ModelPlan, gpu: Gpu, parallel: Parallelism, memory: MemoryPlan, mean_tokens: int, max_sequences: int
) -> tuple[int, Range | None]:
    """Batch over all data-parallel ranks, and the time in which each of its sequences gets a token.

    Pipeline stages work on as many parts of a rank's batch at once; a token takes the steps of all stages.
    """
    bandwidth = gpu.memory_gb_per_second * 1e9
    per_sequence = sequence_bytes(model, parallel, mean_tokens)
    batch = min(int(memory.kv_capacity_bytes_per_gpu / per_sequence), max_sequences)
    if not batch:
        return 0, None
    assert BANDWIDTH_EFFICIENCY.high is not None
    part = math.ceil(batch / parallel.pipeline)
    moved = (_weights(memory) + part * per_sequence) * parallel.pipeline
    step = Range(
        low=moved / (bandwidth * BANDWIDTH_EFFICIENCY.high) * 1000,
        high=moved / (bandwidth * low_efficiencies(model, parallel)[1]) * 1000,
    )
    return batch * parallel.data, step


def _requests(
    prefill: Range | None,
    decode: Range | None,
    prompt_tokens: int,
    output_tokens: int,
    *,
    reads_prompts: bool,
    writes_answers: bool,
) -> Range:
    """Requests a second; a worker that does both spends time on both."""
    seconds = Range.exact(0.0)
    if reads_prompts:
        if prefill is None:
            return Range.exact(0.0)
        seconds = seconds.plus(Range.exact(float(prompt_tokens)).over(prefill))
    if writes_answers:
        if decode is None:
            return Range.exact(0.0)
        seconds = seconds.plus(Range.exact(float(output_tokens)).over(decode))
    return Range.exact(1.0).over(seconds)
