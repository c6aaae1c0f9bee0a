"""What fits on a GPU: weights, overhead, and how many tokens of KV cache are left."""

import math

from pydantic import NonNegativeFloat, NonNegativeInt, PositiveInt

from inferfab.catalog.gpus import Gpu
from inferfab.catalog.models import ModelShape
from inferfab.plan.adapters import adapter_bytes
from inferfab.plan.kv_cache import bytes_per_sequence_and_gpu, bytes_per_token
from inferfab.plan.quantities import GB
from inferfab.plan.served import BYTES_PER_PARAMETER, ModelPlan
from inferfab.record import Record

MOST_MEMORY_SHARE = 0.97
"""Of a GPU's memory, for vLLM: the driver and the CUDA context that it starts in need the rest."""
OVERHEAD_LOW_BYTES = 3 * GB
OVERHEAD_HIGH_BYTES = 8 * GB
_LIVE_ACTIVATIONS = 10
"""Activation tensors of hidden size alive at once in a forward pass, attention and MLP intermediates included."""


class Parallelism(Record):
    """How one worker is spread over GPUs."""

    tensor: PositiveInt = 1
    pipeline: PositiveInt = 1
    data: PositiveInt = 1
    expert: bool = False

    @property
    def gpus(self) -> int:
        return self.tensor * self.pipeline * self.data


class MemoryPlan(Record):
    """Memory of one worker. Figures with ``per_gpu`` are for its fullest GPU; estimates, not measurements."""

    gpu_memory_bytes: PositiveInt
    gpu_memory_utilization: float
    weights_bytes_per_gpu: NonNegativeInt
    draft_bytes_per_gpu: NonNegativeInt
    adapter_bytes_per_gpu: NonNegativeInt = 0
    """Slots of LoRA adapters, which the engine makes at start."""
    overhead_bytes_per_gpu: NonNegativeInt
    """CUDA context, communication buffers, graphs and activations: estimated between 3 and 8 GB, or as stated."""
    kv_capacity_bytes_per_gpu: NonNegativeInt
    """What is left for KV cache; 0 if the weights alone go over."""
    missing_bytes_per_gpu: NonNegativeInt
    """What lacks for the weights and one sequence at the promised context; 0 if the model fits."""
    kv_bytes_per_token: NonNegativeFloat
    """What one more token adds over the whole model, draft included, while no window is full.

    Not a divisor of the capacity: a GPU holds a part of it, and a layer with a full window adds nothing more.
    """
    kv_bytes_per_sequence_per_gpu: NonNegativeFloat
    """One sequence at the promised context on one GPU: windows are full, heads are split. The capacity over this is
    how many such sequences a rank holds."""
    kv_capacity_tokens: NonNegativeInt
    """Tokens that the worker's KV cache holds, data-parallel ranks together, in sequences of the promised context:
    capacity x context / bytes a sequence. In shorter sequences a model with windows holds fewer."""
    context_tokens: PositiveInt
    concurrent_sequences: NonNegativeInt
    """Sequences of the promised context that a worker holds at once."""

    @property
    def before_kv_bytes_per_gpu(self) -> int:
        """What a GPU holds beside KV cache."""
        return (
            self.weights_bytes_per_gpu
            + self.draft_bytes_per_gpu
            + self.adapter_bytes_per_gpu
            + self.overhead_bytes_per_gpu
        )

    @property
    def fits(self) -> bool:
        return self.missing_bytes_per_gpu == 0


def overhead_bytes(shape: ModelShape, *, batched_tokens: int, sequences: int) -> int:
    """Estimated GPU memory outside weights and KV cache, clamped to the 3 to 8 GB that engines show in practice.

    3 GB for context, NCCL buffers and CUDA graphs, plus activations of one forward pass in 16 bits and the
    logits of a batch in 32 bits.
    """
    activations = _LIVE_ACTIVATIONS * batched_tokens * shape.hidden_size * 2
    logits = sequences * shape.vocabulary * 4
    return min(OVERHEAD_HIGH_BYTES, max(OVERHEAD_LOW_BYTES, OVERHEAD_LOW_BYTES + activations + logits))


def weights_bytes_per_gpu(model: ModelPlan, parallel: Parallelism) -> int:
    """Weights on the fullest GPU of a worker.

    Tensor and pipeline parallelism split everything. Data-parallel ranks hold attention, shared experts and
    embeddings each, and split the routed experts among them. vLLM does so with and without expert parallelism: it
    cuts expert layers over TP x DP devices, each expert in parts or, with it, whole experts
    (vllm/model_executor/layers/fused_moe/config.py FusedMoEParallelConfig.make, flatten_tp_across_dp_and_pcp;
    expert_map_manager.py determine_expert_map gives the remainder one more each).

    ``rest = 2 x embeddings + width x (parameters - expert parameters - embeddings)``, and a GPU holds
    ``(rest / TP + (weights - rest) x share of experts) / PP``.
    """
    experts, devices = model.shape.experts, parallel.tensor * parallel.data
    if not experts:
        return math.ceil(model.weights_bytes / (parallel.tensor * parallel.pipeline))
    rest = _bytes_beside_experts(model)
    part, parts = (math.ceil(experts / devices), experts) if parallel.expert else (1, devices)
    # In whole numbers, so that one rank alone holds exactly the weights over its GPUs.
    numerator = rest * parts + (model.weights_bytes - rest) * part * parallel.tensor
    return -(-numerator // (parallel.tensor * parts * parallel.pipeline))


def _bytes_beside_experts(model: ModelPlan) -> int:
    """Weights that are no routed experts, from above: embeddings at 16 bits, all else at 8 in 8-bit checkpoints.

    In 4-bit checkpoints all else counts at 16 bits: often only the experts have four (gpt-oss's
    ``modules_to_not_convert``, attention under ``exclude_modules`` of NVIDIA's NVFP4 DeepSeek).
    """
    shape = model.shape
    others = shape.parameters - shape.routed_parameters
    embeddings = min(2 * shape.vocabulary * shape.hidden_size, others)
    width = 1 if BYTES_PER_PARAMETER[model.quantization] == 1 else 2
    return min(math.ceil(embeddings * 2 + (others - embeddings) * width), model.weights_bytes)


def plan_memory(
    model: ModelPlan,
    gpu: Gpu,
    parallel: Parallelism,
    *,
    gpu_memory_utilization: float,
    batched_tokens: int,
    sequences: int,
    stated_overhead_bytes: int | None = None,
    memory_bytes: int | None = None,
) -> MemoryPlan:
    """Memory of one worker of ``model`` on ``parallel.gpus`` GPUs (or on a slice with ``memory_bytes``)."""
    total = gpu.memory_bytes if memory_bytes is None else memory_bytes
    weights = weights_bytes_per_gpu(model, parallel)
    draft = math.ceil(model.draft_weights_bytes / parallel.tensor)
    overhead = stated_overhead_bytes or overhead_bytes(model.shape, batched_tokens=batched_tokens, sequences=sequences)
    adapters = adapter_bytes(model, parallel.pipeline)
    left = math.floor(total * gpu_memory_utilization) - weights - draft - adapters - overhead
    per_sequence = sequence_bytes(model, parallel, model.context_tokens)
    per_rank = max(0, math.floor(left / per_sequence))
    capacity = max(0, left)
    return MemoryPlan(
        gpu_memory_bytes=total,
        gpu_memory_utilization=gpu_memory_utilization,
        weights_bytes_per_gpu=weights,
        draft_bytes_per_gpu=draft,
        adapter_bytes_per_gpu=adapters,
        overhead_bytes_per_gpu=overhead,
        kv_capacity_bytes_per_gpu=capacity,
        missing_bytes_per_gpu=max(0, math.ceil(per_sequence - left)),
        kv_bytes_per_token=bytes_per_token(model.shape, model.kv_precision) + _draft_bytes_per_token(model),
        kv_bytes_per_sequence_per_gpu=per_sequence,
        kv_capacity_tokens=math.floor(capacity * model.context_tokens / per_sequence) * parallel.data,
        context_tokens=model.context_tokens,
        concurrent_sequences=per_rank * parallel.data,
    )


def sequence_bytes(model: ModelPlan, parallel: Parallelism, tokens: int) -> float:
    """KV cache of one sequence on the fullest GPU of a worker, that of a draft included."""
    shapes = [model.shape, *([model.draft_shape] if model.draft_shape else [])]
    return sum(
        bytes_per_sequence_and_gpu(
            shape,
            model.kv_precision,
            tokens,
            tensor_parallel=parallel.tensor,
            # A draft of one layer stands on one stage; splitting it would count it as less than it is.
            pipeline_parallel=parallel.pipeline if shape is model.shape else 1,
        )
        for shape in shapes
    )


def _draft_bytes_per_token(model: ModelPlan) -> float:
    return bytes_per_token(model.draft_shape, model.kv_precision) if model.draft_shape else 0.0
