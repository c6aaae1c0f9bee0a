"""Sizes of weights and drafts, worked out from parameters and bytes."""

from typing import Any

import pytest

from inferfab.catalog.models import models
from inferfab.environment.served_models import ServedModel
from inferfab.plan.kv_cache import bytes_per_token
from inferfab.plan.served import ModelPlan, computed_weights_bytes, plan_model

from .planning import served

LLAMA_70B = 70_553_706_496
"""Half of the published total_size of the bf16 checkpoint."""
EMBEDDINGS_70B = 2 * 128_256 * 8192
GIB = 2**30


@pytest.mark.parametrize(
    ("quantization", "expected"),
    [
        ("bf16", 2 * LLAMA_70B),
        ("fp8", LLAMA_70B - EMBEDDINGS_70B + 2 * EMBEDDINGS_70B),
        # 4 bits and one byte for each 16.
        ("nvfp4", (LLAMA_70B - EMBEDDINGS_70B) * 9 / 16 + 2 * EMBEDDINGS_70B),
        # 4 bits and one byte for each 32.
        ("mxfp4", (LLAMA_70B - EMBEDDINGS_70B) * 17 / 32 + 2 * EMBEDDINGS_70B),
        # 4 bits and two bytes for each 128.
        ("int4", (LLAMA_70B - EMBEDDINGS_70B) * (0.5 + 1 / 64) + 2 * EMBEDDINGS_70B),
    ],
)
def test_parameters_times_bytes_with_embeddings_in_16_bit(quantization: str, expected: float) -> None:
    """Quantized linear layers, but input and output embedding at two bytes a parameter."""
    got = computed_weights_bytes(models()["llama-3.1-70b-instruct"].shape, quantization)  # type: ignore[arg-type]
    assert got == pytest.approx(expected, abs=1)


def test_llama_70b_fp8_is_72_7_gb() -> None:
    """The catalog has no size of this checkpoint, so it is computed: 70.55 + 2.10 GB."""
    plan = served("llama-3.1-70b-instruct", quantization="fp8")
    assert plan.weights_basis == "parameters"
    assert plan.weights_bytes / 1e9 == pytest.approx(72.7, abs=0.06)


def test_checkpoint_size_wins_over_computed() -> None:
    """gpt-oss-20b's index says 13,761,264,768 bytes."""
    plan = served("gpt-oss-20b")
    assert (plan.weights_bytes, plan.weights_basis) == (13_761_264_768, "checkpoint")


def test_computed_agrees_with_published_sizes() -> None:
    """Where a checkpoint's size is published, the formula comes within 5 % (FP8 blocks, MTP modules,
    mixed layers)."""
    off = {}
    for name, entry in models().items():
        for checkpoint in entry.checkpoints:
            if checkpoint.weights_bytes:
                computed = computed_weights_bytes(entry.shape, checkpoint.quantization)
                off[name, checkpoint.quantization] = computed / checkpoint.weights_bytes
    assert len(off) > 8
    # DeepSeek's checkpoint holds an MTP module more; gpt-oss quantizes the experts only.
    assert all(0.95 <= ratio <= 1.05 for key, ratio in off.items() if key[1] != "mxfp4"), off
    assert all(0.85 <= ratio <= 1.05 for ratio in off.values()), off


def test_stated_size_wins_over_both() -> None:
    """What the environment states is what is loaded."""
    plan = served("gpt-oss-20b", weights_gib=13.5)
    assert (plan.weights_bytes, plan.weights_basis) == (int(13.5 * GIB), "environment")


def test_size_of_another_repository_is_not_borrowed() -> None:
    """A fork of a checkpoint may be larger, so its size is computed, not the catalog's."""
    plan = served("gpt-oss-20b", source="somebody/gpt-oss-20b-tuned")
    assert plan.weights_basis == "parameters"
    assert plan.source == "somebody/gpt-oss-20b-tuned"


def test_default_quantization_is_the_first_checkpoint() -> None:
    """The catalog's first checkpoint of Llama 3.1 8B is NVIDIA's fp8 one."""
    plan = served("llama-3.1-8b-instruct")
    assert plan.quantization == "fp8"
    assert plan.source == "nvidia/Llama-3.1-8B-Instruct-FP8"
    assert plan.weights_bytes == 9_080_000_000


def test_own_shape() -> None:
    """A model that the catalog does not have gets its size from its own shape."""
    shape = models()["qwen3-8b"].shape.model_dump()
    asked = ServedModel.model_validate(
        {
            "shape": shape, "source": "s3://bucket/mine", "revision": "0123456789", "context_tokens": 4096,
            "quantization": "bf16",
        }
    )  # fmt: skip
    plan = plan_model("mine", asked)
    assert plan.weights_bytes == 2 * 8_190_735_360
    assert plan.licence == "not stated"


def test_cold_load() -> None:
    """9.08 GB at 2 GiB/s take 4.2 s."""
    assert served("llama-3.1-8b-instruct").cold_load_seconds == pytest.approx(9.08e9 / GIB / 2, abs=0.06)


def drafted(method: str, draft: dict[str, Any] | None = None) -> ModelPlan:
    speculative: dict[str, Any] = {"method": method}
    if draft:
        speculative["draft"] = {"source": "example/draft", "revision": "1234567", **draft}
    return served("llama-3.1-70b-instruct", quantization="fp8", kv_cache_dtype="fp8", speculative=speculative)


@pytest.mark.parametrize("method", ["ngram", "suffix"])
def test_ngram_adds_nothing(method: str) -> None:
    """Prompt lookup has no weights and caches nothing."""
    plan = drafted(method)
    assert (plan.draft_weights_bytes, plan.draft_shape) == (0, None)


def test_eagle3_takes_stated_size_and_one_layer() -> None:
    """An EAGLE head is one layer: 2 x 8 x 128 elements a token beside the model's 163,840."""
    plan = drafted("eagle3", {"weights_gib": 1.5})
    assert plan.draft_weights_bytes == int(1.5 * GIB)
    assert plan.draft_shape is not None
    assert bytes_per_token(plan.draft_shape, "fp8") == 2 * 8 * 128


def test_draft_model_takes_the_catalogs() -> None:
    """Llama 8B drafting: 9.08 GB of weights and its own 65,536 bytes of fp8 KV cache a token."""
    plan = drafted("draft_model", {"catalog": "llama-3.1-8b-instruct"})
    assert plan.draft_weights_bytes == 9_080_000_000
    assert plan.draft_shape is not None
    assert bytes_per_token(plan.draft_shape, "fp8") == 2 * 32 * 8 * 128


def test_mtp_is_one_layer_of_the_checkpoint() -> None:
    """DeepSeek's MTP module is in the checkpoint (no bytes on top) and caches one latent vector a
    token more."""
    plan = served("deepseek-r1", kv_cache_dtype="fp8", speculative={"method": "mtp"})
    assert plan.draft_weights_bytes == 0
    assert plan.draft_shape is not None
    assert bytes_per_token(plan.draft_shape, "fp8") == 576


def test_kv_precision() -> None:
    """``auto`` is bf16, as vLLM has it for a 16-bit model."""
    assert served("llama-3.1-8b-instruct").kv_precision == "bf16"
    assert served("llama-3.1-8b-instruct", kv_cache_dtype="nvfp4").kv_precision == "nvfp4"
