"""The model facts and the published throughput, checked against numbers worked out by hand."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from inferfab.catalog.facts import DATA, BadFactFile, read_facts
from inferfab.catalog.models import LatentAttention, Model, ModelFile, models
from inferfab.catalog.throughput import throughput

ADDRESS_OR_PATH = re.compile(r"""https?://|(?:^|[\s"'(])/[a-z]+/""")
"""A download address, or an absolute path of some machine."""


def kv_bytes_a_token(model: Model, element_bytes: int) -> int:
    """K and V of every layer, or MLA's one vector; windows are taken as not yet full."""
    elements = 0
    for group in model.shape.attention:
        if isinstance(group, LatentAttention):
            elements += group.layers * (group.kv_lora_rank + group.rope_head_dim)
        else:
            elements += group.layers * 2 * group.kv_heads * group.head_dim
    return elements * element_bytes


@pytest.mark.parametrize(
    ("model", "element_bytes", "expected"),
    [
        ("llama-3.1-70b-instruct", 1, 163_840),  # 2 * 80 * 8 * 128
        ("llama-3.1-70b-instruct", 2, 327_680),
        ("llama-3.3-70b-instruct", 2, 327_680),
        ("llama-3.1-8b-instruct", 2, 131_072),  # 2 * 32 * 8 * 128 * 2
        ("llama-3.1-405b-instruct", 2, 516_096),  # 504 KiB
        ("qwen3-8b", 2, 147_456),  # 2 * 36 * 8 * 128 * 2
        ("qwen3-32b", 2, 262_144),  # 2 * 64 * 8 * 128 * 2
        ("qwen3-235b-a22b", 2, 192_512),  # 2 * 94 * 4 * 128 * 2
        ("qwen3-30b-a3b", 2, 98_304),  # 2 * 48 * 4 * 128 * 2
        ("deepseek-v3", 2, 70_272),  # 61 * (512 + 64) * 2
        ("deepseek-r1", 2, 70_272),
        ("kimi-k2-instruct", 2, 70_272),
        ("gpt-oss-120b", 2, 73_728),  # 2 * 36 * 8 * 64 * 2
        ("gpt-oss-20b", 2, 49_152),  # 2 * 24 * 8 * 64 * 2
        ("mistral-large-2407", 2, 360_448),  # 2 * 88 * 8 * 128 * 2
        ("mixtral-8x7b-instruct", 2, 131_072),
        ("glm-4.5-air", 2, 188_416),  # 2 * 46 * 8 * 128 * 2
        ("gemma-3-27b", 2, 507_904),  # 2 * 62 * 16 * 128 * 2
    ],
)
def test_one_token_caches_the_bytes_that_its_layers_add_up_to(model: str, element_bytes: int, expected: int) -> None:
    """Layers x 2 x KV heads x head size x bytes (MLA: layers x latent vector) is the published figure."""
    assert kv_bytes_a_token(models()[model], element_bytes) == expected


@pytest.mark.parametrize(
    ("model", "tokens", "elements"),
    [
        # 18 layers keep all 32,768 tokens, 18 keep 128: 2 * 8 * 64 * 18 * (32,768 + 128).
        ("gpt-oss-120b", 32_768, 606_339_072),
        # 10 layers keep all 32,768 tokens, 52 keep 1,024: 2 * 16 * 128 * (10 * 32,768 + 52 * 1,024).
        ("gemma-3-27b", 32_768, 1_560_281_088),
    ],
)
def test_windowed_layers_stop_growing_at_their_window(model: str, tokens: int, elements: int) -> None:
    """A long request costs its full layers the context and its sliding layers only the window."""
    held = 0
    for group in models()[model].shape.attention:
        assert not isinstance(group, LatentAttention)
        kept = min(tokens, group.window_tokens) if group.kind == "sliding" else tokens
        held += 2 * group.layers * group.kv_heads * group.head_dim * kept
    assert held == elements


@pytest.mark.parametrize(
    ("model", "total", "active"),
    [
        ("llama-3.1-8b-instruct", 8.03e9, 8.03e9),
        ("llama-3.1-70b-instruct", 70.6e9, 70.6e9),
        ("llama-3.3-70b-instruct", 70.6e9, 70.6e9),
        ("llama-3.1-405b-instruct", 405e9, 405e9),
        ("qwen3-8b", 8.2e9, 8.2e9),
        ("qwen3-32b", 32.8e9, 32.8e9),
        ("qwen3-30b-a3b", 30.5e9, 3.3e9),
        ("qwen3-235b-a22b", 235e9, 22e9),
        ("qwen3-coder-480b-a35b-instruct", 480e9, 35e9),
        ("deepseek-v3", 671e9, 37e9),
        ("deepseek-r1", 671e9, 37e9),
        ("gpt-oss-20b", 20.91e9, 3.61e9),
        ("gpt-oss-120b", 116.83e9, 5.13e9),
        ("mistral-small-3.2-24b", 24e9, 24e9),
        ("mistral-large-2407", 123e9, 123e9),
        ("mixtral-8x7b-instruct", 46.7e9, 12.9e9),
        ("glm-4.5", 355e9, 32e9),
        ("glm-4.5-air", 106e9, 12e9),
        ("glm-4.6", 355e9, 32e9),
        ("kimi-k2-instruct", 1e12, 32e9),
        ("gemma-3-27b", 27.4e9, 27.4e9),
    ],
)
def test_parameters_are_the_published_ones(model: str, total: float, active: float) -> None:
    """Total and active parameters lie within 3 % of what the card or paper says."""
    shape = models()[model].shape
    assert shape.parameters == pytest.approx(total, rel=0.03)
    assert shape.active_parameters == pytest.approx(active, rel=0.03)


@pytest.mark.parametrize(
    ("model", "layers", "experts", "width", "of_a_token"),
    [
        ("qwen3-30b-a3b", 48, 128, 768, 8),
        ("qwen3-235b-a22b", 94, 128, 1536, 8),
        ("qwen3-coder-480b-a35b-instruct", 62, 160, 2560, 8),
        ("deepseek-v3", 61 - 3, 256, 2048, 8),
        ("deepseek-r1", 61 - 3, 256, 2048, 8),
        ("gpt-oss-20b", 24, 32, 2880, 4),
        ("gpt-oss-120b", 36, 128, 2880, 4),
        ("mixtral-8x7b-instruct", 32, 8, 14_336, 2),
        ("glm-4.5", 92 - 3, 160, 1536, 8),
        ("glm-4.5-air", 46 - 1, 128, 1408, 8),
        ("glm-4.6", 92 - 3, 160, 1536, 8),
        ("kimi-k2-instruct", 61 - 1, 384, 2048, 8),
    ],
)
def test_routed_experts_add_up(model: str, layers: int, experts: int, width: int, of_a_token: int) -> None:
    """Layers less the dense ones at the start x experts x gate, up and down matrix, by hand from the configs;
    gpt-oss adds biases. What a token leaves out, (1 - k/E) of them, is the difference of total and active
    parameters (within 4 %: some published active counts leave out embeddings)."""
    shape = models()[model].shape
    one = 3 * shape.hidden_size * width
    if model.startswith("gpt-oss"):
        one += 2 * width + shape.hidden_size
    assert shape.expert_parameters == layers * experts * one
    left_out = shape.expert_parameters * (1 - of_a_token / experts)
    assert left_out == pytest.approx(shape.parameters - shape.active_parameters, rel=0.04)


def test_every_sparse_model_states_its_experts() -> None:
    """The split of memory over data-parallel ranks rests on it."""
    for name, model in models().items():
        assert (model.shape.expert_parameters is not None) == (model.shape.experts > 0), name


def test_a_dense_llama_adds_up_to_its_parameters() -> None:
    """70B: two embeddings, and in each layer Q, O, K, V, three FFN matrices (28,672) and two norms."""
    shape = models()["llama-3.1-70b-instruct"].shape
    hidden = shape.hidden_size
    (group,) = shape.attention
    assert group.kind == "full"
    attention = 2 * hidden * hidden + 2 * hidden * group.kv_heads * group.head_dim
    layer = attention + 3 * hidden * 28_672 + 2 * hidden
    assert shape.parameters == 2 * shape.vocabulary * hidden + hidden + group.layers * layer


def test_dense_models_use_all_parameters_and_sparse_ones_do_not() -> None:
    """Experts and a smaller active count come together."""
    for name, model in models().items():
        is_sparse = model.shape.active_parameters < model.shape.parameters
        assert is_sparse == (model.shape.experts > 0), name


BYTES_A_PARAMETER = {"bf16": (1.95, 2.05), "fp8": (0.95, 1.6), "mxfp4": (0.5, 0.75), "nvfp4": (0.5, 0.8)}
"""Quantised checkpoints keep embeddings, norms and scales wide, hence the room upwards."""


def test_checkpoint_sizes_fit_their_quantization() -> None:
    """Bytes a parameter of every checkpoint with a known size are what its number format allows."""
    seen = set()
    for name, model in models().items():
        for checkpoint in model.checkpoints:
            if checkpoint.weights_bytes is None:
                continue
            low, high = BYTES_A_PARAMETER[checkpoint.quantization]
            ratio = checkpoint.weights_bytes / model.shape.parameters
            assert low <= ratio <= high, f"{name} {checkpoint.quantization}: {ratio:.3f} bytes a parameter"
            seen.add(checkpoint.quantization)
    assert {"bf16", "fp8", "mxfp4"} <= seen


def test_checkpoints_are_hub_ids_and_the_first_is_the_serving_default() -> None:
    """Ids have the form owner/name; the default is fp8, or mxfp4 where the model was released in it."""
    for name, model in models().items():
        assert model.checkpoints[0].quantization == ("mxfp4" if model.family == "gpt-oss" else "fp8"), name
        for checkpoint in model.checkpoints:
            assert re.fullmatch(r"[\w.-]+/[\w.-]+", checkpoint.repository), checkpoint.repository


def test_gated_checkpoints_are_the_vendors_own() -> None:
    """Meta's and Google's repositories ask for a licence; NVIDIA's, Qwen's and OpenAI's do not."""
    for model in models().values():
        for checkpoint in model.checkpoints:
            owner = checkpoint.repository.split("/")[0]
            if owner in {"meta-llama", "google"}:
                assert checkpoint.gated, checkpoint.repository
            if owner in {"nvidia", "Qwen", "openai", "deepseek-ai", "zai-org"}:
                assert not checkpoint.gated, checkpoint.repository


def test_ids_and_sources_are_in_order() -> None:
    """Ids are lower case, and every model and checkpoint says where its facts come from."""
    assert len(models()) >= 16
    for name, model in models().items():
        assert re.fullmatch(r"[a-z0-9][a-z0-9.-]*", name)
        assert model.source and model.licence and model.title
        assert all(c.source for c in model.checkpoints)
        assert not ADDRESS_OR_PATH.search(model.model_dump_json())


@pytest.fixture
def document() -> dict[str, Any]:
    """The shipped file cut down to one model, to be broken by a test."""
    raw: dict[str, Any] = yaml.safe_load((DATA / "models.yaml").read_text(encoding="utf-8"))
    name = "llama-3.1-70b-instruct"
    return {"provenance": raw["provenance"], "models": {name: raw["models"][name]}}


def refusal(document: dict[str, Any], folder: Path) -> str:
    path = folder / "models.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    with pytest.raises(BadFactFile) as caught:
        read_facts(path, ModelFile)
    return str(caught.value)


def test_the_unbroken_document_is_read(document: dict[str, Any], tmp_path: Path) -> None:
    """What the refusal tests start from is itself valid."""
    path = tmp_path / "models.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    assert set(read_facts(path, ModelFile).models) == {"llama-3.1-70b-instruct"}


def test_a_file_without_provenance_is_refused(document: dict[str, Any], tmp_path: Path) -> None:
    """Facts of unknown origin are no facts."""
    del document["provenance"]
    assert "provenance: Field required" in refusal(document, tmp_path)


def test_an_unknown_key_is_refused(document: dict[str, Any], tmp_path: Path) -> None:
    """A misspelt key is named with its path."""
    document["models"]["llama-3.1-70b-instruct"]["shape"]["hiden_size"] = 8192
    text = refusal(document, tmp_path)
    assert "models.llama-3.1-70b-instruct.shape.hiden_size: Extra inputs are not permitted" in text


def test_more_active_than_total_parameters_are_refused(document: dict[str, Any], tmp_path: Path) -> None:
    """A token cannot run through more than the whole model."""
    document["models"]["llama-3.1-70b-instruct"]["shape"]["active_parameters"] = 71e9
    text = refusal(document, tmp_path)
    assert "models.llama-3.1-70b-instruct.shape" in text
    assert "active_parameters is larger than parameters" in text


def test_experts_without_number_or_larger_than_the_model_are_refused(document: dict[str, Any], tmp_path: Path) -> None:
    """`expert_parameters` belongs to `experts`, and is part of all parameters."""
    shape = document["models"]["llama-3.1-70b-instruct"]["shape"]
    shape["expert_parameters"] = 60e9
    assert "expert_parameters needs `experts`" in refusal(document, tmp_path)
    shape |= {"experts": 8, "expert_parameters": 71e9}
    assert "expert_parameters is larger than parameters" in refusal(document, tmp_path)


def test_query_heads_that_do_not_divide_are_refused(document: dict[str, Any], tmp_path: Path) -> None:
    """Each KV head serves the same number of query heads."""
    document["models"]["llama-3.1-70b-instruct"]["shape"]["query_heads"] = 60
    text = refusal(document, tmp_path)
    assert "query_heads 60 is not a multiple of kv_heads 8" in text


def test_two_checkpoints_of_one_quantization_are_refused(document: dict[str, Any], tmp_path: Path) -> None:
    """An environment names a quantization, so there must be one checkpoint of each."""
    model = document["models"]["llama-3.1-70b-instruct"]
    model["checkpoints"].append(model["checkpoints"][0])
    assert "one a quantization" in refusal(document, tmp_path)


def test_all_problems_are_reported_at_once(document: dict[str, Any], tmp_path: Path) -> None:
    """One reading names every problem of the file."""
    shape = document["models"]["llama-3.1-70b-instruct"]["shape"]
    shape["vocabulary"] = 0
    shape["attention"][0]["kind"] = "linear"
    text = refusal(document, tmp_path)
    assert "2 problem(s)" in text
    assert "shape.vocabulary" in text and "shape.attention.0" in text


def test_every_measurement_is_of_a_catalog_model_and_known_gpu() -> None:
    """Rows can be joined to the model and GPU tables."""
    gpus = {
        *("t4", "a10g", "l4", "l40s", "a100-40gb", "a100-80gb", "h100", "h200"),
        *("b200", "b300", "gb200", "rtx-pro-6000"),
    }
    rows = throughput().measurements
    assert 30 <= len(rows) <= 80
    assert len(set(rows)) == len(rows)
    for row in rows:
        assert row.model in models() and row.gpu in gpus
        assert row.trust in {"A", "B"}
        assert row.source and not ADDRESS_OR_PATH.search(row.source)


def test_measurements_keep_below_what_the_memory_bandwidth_allows() -> None:
    """No GPU decodes faster than its bandwidth reads one token's KV cache at half the output length.

    A figure that counted prompt tokens, or a total taken for a per-GPU figure, breaks this on long prompts.
    """
    terabytes_per_second = {"a100-80gb": 2.04, "h100": 3.35, "h200": 4.8, "b200": 8.0, "gb200": 8.0}
    for row in throughput().measurements:
        if row.prompt_tokens < 4000 or models()[row.model].family == "gpt-oss":
            continue
        read = kv_bytes_a_token(models()[row.model], 1) * (row.prompt_tokens + row.output_tokens / 2)
        assert row.output_tokens_per_second_per_gpu <= terabytes_per_second[row.gpu] * 1e12 / read, row


def test_simulated_rows_say_so() -> None:
    """An estimate never passes for a measurement."""
    simulated = [r for r in throughput().measurements if "aiconfigurator" in r.engine]
    assert {r.output_tokens_per_second_per_gpu for r in simulated} == {349.9, 446.8}
    assert all(r.load.startswith("simulated, not measured") and r.trust == "B" for r in simulated)


def test_the_mission_states_one_cost_band() -> None:
    """Llama 3.1 70B on B200: 0.15 to 0.30 dollars a million tokens."""
    (band,) = throughput().cost_bands
    assert (band.model, band.gpu) == ("llama-3.1-70b-instruct", "b200")
    assert (band.usd_per_million_tokens_low, band.usd_per_million_tokens_high) == (0.15, 0.30)
