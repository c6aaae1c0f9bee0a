"""Bytes of KV cache that a model's shape asks for.

Full attention caches keys and values of every token: ``2 * layers * kv_heads * head_dim`` elements a token.
Multi-head latent attention caches one compressed vector: ``layers * (kv_lora_rank + rope_head_dim)``
elements (DeepSeek-V2, arXiv 2405.04434, section 2.1), and so does vLLM 0.31.0 with dense attention, at 8
bits too (576 bytes a layer for DeepSeek V3). Not covered is sparse attention (DeepSeek V3.2, which the
catalog lacks): there FlashMLA keeps 656 bytes for 8 bits, and an index beside it
(vllm/model_executor/layers/attention/mla_attention.py get_kv_cache_spec). Sliding attention caches like
full attention, but never more than its window.
"""

import math
from typing import Literal

from inferfab.catalog.models import Attention, LatentAttention, ModelShape, SlidingAttention

KvPrecision = Literal["bf16", "fp8", "nvfp4"]

ELEMENT_BYTES: dict[KvPrecision, float] = {"bf16": 2.0, "fp8": 1.0, "nvfp4": 9 / 16}
"""NVFP4 stores 4 bits an element and one 8-bit scale for each 16 elements."""


def elements_per_token(group: Attention) -> int:
    """Cached elements a token, over all layers of a group."""
    if isinstance(group, LatentAttention):
        return group.layers * (group.kv_lora_rank + group.rope_head_dim)
    return 2 * group.layers * group.kv_heads * group.head_dim


def bytes_per_token(shape: ModelShape, precision: KvPrecision) -> float:
    """Bytes that one more token adds while every layer still caches it (a context shorter than any window)."""
    return sum(elements_per_token(group) for group in shape.attention) * ELEMENT_BYTES[precision]


def bytes_per_sequence(shape: ModelShape, precision: KvPrecision, tokens: int) -> float:
    """Bytes that a sequence of ``tokens`` holds, over the whole model."""
    return (
        sum(elements_per_token(group) * _cached_tokens(group, tokens) for group in shape.attention)
        * ELEMENT_BYTES[precision]
    )


def bytes_per_sequence_and_gpu(
    shape: ModelShape, precision: KvPrecision, tokens: int, *, tensor_parallel: int, pipeline_parallel: int
) -> float:
    """Bytes that a sequence holds on the fullest GPU of a worker.

    Tensor parallelism splits KV heads until there is one a GPU, then copies them; a latent vector is always
    copied (vLLM, parallelism and MLA backends). Pipeline parallelism splits layers.
    """
    elements = 0.0
    for group in shape.attention:
        share = 1.0
        if not isinstance(group, LatentAttention):
            share = math.ceil(group.kv_heads / tensor_parallel) / group.kv_heads
        layers = math.ceil(group.layers / pipeline_parallel) / group.layers
        elements += elements_per_token(group) * _cached_tokens(group, tokens) * share * layers
    return elements * ELEMENT_BYTES[precision]


def one_layer(shape: ModelShape) -> ModelShape:
    """The shape of one more layer of the same kind, as EAGLE heads and MTP modules add."""
    group = shape.attention[0].model_copy(update={"layers": 1})
    return shape.model_copy(update={"attention": (group,)})


def _cached_tokens(group: Attention, tokens: int) -> int:
    return min(tokens, group.window_tokens) if isinstance(group, SlidingAttention) else tokens
