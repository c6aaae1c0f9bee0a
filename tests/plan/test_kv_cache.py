"""KV bytes by hand from the models' config.json, and how they are split over the GPUs of a worker."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferfab.catalog.models import ModelShape, models
from inferfab.plan.kv_cache import bytes_per_sequence, bytes_per_sequence_and_gpu, bytes_per_token, one_layer
from strategies import MODELS, cheap


def shape(name: str) -> ModelShape:
    return models()[name].shape


@pytest.mark.parametrize(
    ("model", "precision", "expected"),
    [
        ("llama-3.1-70b-instruct", "fp8", 2 * 80 * 8 * 128),
        ("llama-3.1-70b-instruct", "bf16", 327_680),
        ("llama-3.1-8b-instruct", "bf16", 128 * 1024),
        ("qwen3-235b-a22b", "bf16", 192_512),
        ("deepseek-v3", "bf16", 70_272),
        ("deepseek-v3", "fp8", 61 * (512 + 64)),
        # 163,840 elements x 9/16 byte: 4 bits and an 8-bit scale for each 16.
        ("llama-3.1-70b-instruct", "nvfp4", 92_160),
    ],
)
def test_bytes_per_token(model: str, precision: str, expected: float) -> None:
    """2 x layers x KV heads x head size x bytes; MLA: layers x (512 + 64) x bytes (fabric.md section 5)."""
    assert bytes_per_token(shape(model), precision) == expected  # type: ignore[arg-type]


def test_gibibytes_of_the_notes() -> None:
    """Llama-3.1-70B in bf16 at 32k tokens holds 10.7 GB, DeepSeek-V3 2.3 GB (fabric.md section 5)."""
    assert bytes_per_sequence(shape("llama-3.1-70b-instruct"), "bf16", 32768) == pytest.approx(10.7e9, rel=0.005)
    assert bytes_per_sequence(shape("deepseek-v3"), "bf16", 32768) == pytest.approx(2.3e9, rel=0.005)


def test_sliding_window_stops_growing() -> None:
    """gpt-oss-20b: 12 full layers grow by 2 x 12 x 8 x 64 = 12,288 elements a token, the 12 sliding
    ones stop at 128."""
    oss = shape("gpt-oss-20b")
    assert bytes_per_token(oss, "fp8") == 24_576
    assert bytes_per_sequence(oss, "fp8", 128) == 128 * 24_576
    assert bytes_per_sequence(oss, "fp8", 10_000) == 10_000 * 12_288 + 128 * 12_288
    assert bytes_per_sequence(oss, "fp8", 10_001) - bytes_per_sequence(oss, "fp8", 10_000) == 12_288


def test_gemma_window() -> None:
    """Gemma 3 27B: 10 full and 52 sliding layers of 16 x 128, window 1,024."""
    element = 2 * 16 * 128
    expected = (10 * 32_768 + 52 * 1024) * element
    assert bytes_per_sequence(shape("gemma-3-27b"), "fp8", 32_768) == expected


@pytest.mark.parametrize(("tensor", "heads"), [(1, 8), (2, 4), (4, 2), (8, 1), (16, 1), (3, 3)])
def test_kv_heads_are_split_then_copied(tensor: int, heads: int) -> None:
    """Each GPU holds ceil(8 / TP) KV heads of a 70B, never less than one."""
    per_gpu = bytes_per_sequence_and_gpu(
        shape("llama-3.1-70b-instruct"), "fp8", 1000, tensor_parallel=tensor, pipeline_parallel=1
    )
    assert per_gpu == pytest.approx(1000 * 2 * 80 * heads * 128)


@pytest.mark.parametrize("tensor", [1, 2, 8])
def test_latent_vector_is_on_every_tensor_parallel_rank(tensor: int) -> None:
    """MLA has nothing to split: each rank holds all 61 x 576 elements."""
    per_gpu = bytes_per_sequence_and_gpu(shape("deepseek-v3"), "fp8", 100, tensor_parallel=tensor, pipeline_parallel=1)
    assert per_gpu == pytest.approx(100 * 61 * 576)


def test_pipeline_splits_layers() -> None:
    """PP2 halves 80 layers; of DeepSeek's 61 the fuller stage has 31."""
    half = bytes_per_sequence_and_gpu(
        shape("llama-3.1-70b-instruct"), "fp8", 10, tensor_parallel=1, pipeline_parallel=2
    )
    assert half == pytest.approx(10 * 163_840 / 2)
    stage = bytes_per_sequence_and_gpu(shape("deepseek-v3"), "fp8", 10, tensor_parallel=1, pipeline_parallel=2)
    assert stage == pytest.approx(10 * 31 * 576)


def test_one_layer() -> None:
    """One more layer of a 70B caches 2 x 8 x 128 elements a token."""
    assert bytes_per_token(one_layer(shape("llama-3.1-70b-instruct")), "fp8") == 2048


@cheap
@given(
    st.sampled_from(MODELS),
    st.sampled_from(("bf16", "fp8", "nvfp4")),
    st.integers(1, 200_000),
    st.integers(0, 5000),
)
def test_monotone_in_tokens(model: str, precision: str, tokens: int, more: int) -> None:
    """A longer sequence never holds less, and never more than every layer caching it all."""
    s = shape(model)
    held = bytes_per_sequence(s, precision, tokens)  # type: ignore[arg-type]
    assert bytes_per_sequence(s, precision, tokens + more) >= held  # type: ignore[arg-type]
    assert held <= tokens * bytes_per_token(s, precision)  # type: ignore[arg-type]


@cheap
@given(st.sampled_from(MODELS), st.integers(1, 100_000), st.integers(1, 32), st.integers(1, 8))
def test_a_gpu_never_holds_less_than_its_even_share(model: str, tokens: int, tensor: int, pipeline: int) -> None:
    """The GPUs of a worker together hold at least the whole sequence; one never more than all of it."""
    s = shape(model)
    whole = bytes_per_sequence(s, "fp8", tokens)
    one = bytes_per_sequence_and_gpu(s, "fp8", tokens, tensor_parallel=tensor, pipeline_parallel=pipeline)
    assert one * tensor * pipeline >= whole * (1 - 1e-9)
    assert one <= whole * (1 + 1e-9)
