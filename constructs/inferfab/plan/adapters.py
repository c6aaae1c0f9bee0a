"""GPU memory that LoRA adapters take."""

import math

from inferfab.plan.served import ModelPlan

_MATRICES = 7
"""Of a layer: query, key, value and output of attention; gate, up and down of an MLP or of each expert."""
_BYTES = 2


def adapter_bytes(model: ModelPlan, pipeline: int) -> int:
    """On each GPU of a worker: a slot an adapter, each as large as the largest rank asks for, in 16 bits.

    vLLM makes the slots at start, for every linear layer (vllm/lora: ``max_loras`` slots of ``max_lora_rank``). A
    matrix of ``in x out`` gets ``rank x (in + out)``. One side of each is the hidden size ``h``, so over all matrices
    ``sum(in + out) = parameters without embeddings / h + number of matrices x h``: an estimate from above, as layers
    without a KV cache are the only ones left out. Tensor parallelism splits one of the two halves
    (``fully_sharded_loras`` is off), counted as none of them; pipeline stages hold their own layers.
    """
    if not model.adapters:
        return 0
    shape = model.shape
    layers = sum(group.layers for group in shape.attention)
    matrices = layers * (_MATRICES + 3 * shape.experts)
    linear = max(0.0, shape.parameters - 2 * shape.vocabulary * shape.hidden_size)
    width = linear / shape.hidden_size + matrices * shape.hidden_size
    rank = max(adapter.rank for adapter in model.adapters)
    return math.ceil(len(model.adapters) * rank * width * _BYTES / pipeline)
