"""What fits on a GPU, worked out by hand, and what must hold for every model."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferfab.catalog.gpus import gpus
from inferfab.catalog.models import models
from inferfab.plan.memory import Parallelism, overhead_bytes, plan_memory, weights_bytes_per_gpu
from strategies import MODELS, cheap

from .planning import memory, served

LLAMA = served("llama-3.1-70b-instruct", quantization="fp8", kv_cache_dtype="fp8")


def test_worked_example() -> None:
    """Llama 3.1 70B fp8 with fp8 KV cache, TP2 on H200, 92 %, 8,192 batched tokens, 256 sequences, 32k
    context."""
    got = memory(LLAMA, "h200", 2)
    # Driver memory 143,771 MiB.
    assert got.gpu_memory_bytes == 143_771 * 1_048_576 == 150_754_820_096
    # 70,553,706,496 + 2 x 128,256 x 8,192 = 72,655,052,800 bytes, over two GPUs.
    assert got.weights_bytes_per_gpu == 36_327_526_400
    assert got.draft_bytes_per_gpu == 0
    # 3 GB + 10 x 8,192 tokens x 8,192 wide x 2 bytes (1,342,177,280) + 256 x 128,256 x 4 bytes (131,334,144).
    assert got.overhead_bytes_per_gpu == 4_473_511_424
    # 0.92 x 150,754,820,096 = 138,694,434,488.3; less weights and overhead.
    assert got.kv_capacity_bytes_per_gpu == 138_694_434_488 - 36_327_526_400 - 4_473_511_424 == 97_893_396_664
    # 2 x 80 x 8 x 128 elements of one byte.
    assert got.kv_bytes_per_token == 163_840
    # 32,768 tokens x 163,840 bytes, half of the eight KV heads on each GPU.
    assert got.kv_bytes_per_sequence_per_gpu == 2_684_354_560
    # 97,893,396,664 / 2,684,354,560 = 36.47; 97,893,396,664 / 81,920 = 1,194,987.8.
    assert got.concurrent_sequences == 36
    assert got.kv_capacity_tokens == 1_194_987
    assert (got.fits, got.missing_bytes_per_gpu) == (True, 0)


@pytest.mark.parametrize("name", list(models()))
@given(batched=st.integers(1, 1_000_000), sequences=st.integers(1, 100_000))
@cheap
def test_overhead_stays_within_3_to_8_gb(name: str, batched: int, sequences: int) -> None:
    """The estimate never leaves what engines show in practice."""
    assert 3e9 <= overhead_bytes(models()[name].shape, batched_tokens=batched, sequences=sequences) <= 8e9


def test_does_not_fit() -> None:
    """A 70B in bf16 (141 GB) on one H100 (85.5 GB) lacks weights + overhead + one sequence - 92 % of
    the memory."""
    model = served("llama-3.1-70b-instruct", quantization="bf16", kv_cache_dtype="fp8")
    got = memory(model, "h100")
    assert not got.fits
    assert (got.concurrent_sequences, got.kv_capacity_tokens, got.kv_capacity_bytes_per_gpu) == (0, 0, 0)
    usable = math.floor(81_559 * 1_048_576 * 0.92)
    assert got.missing_bytes_per_gpu == 141_107_412_992 + 4_473_511_424 + 32_768 * 163_840 - usable


def test_weights_fit_but_no_sequence() -> None:
    """Weights alone are not enough: without room for one sequence at the promised context it does not fit."""
    got = memory(served("llama-3.1-8b-instruct", quantization="bf16", context_tokens=131_072), "l4")
    # L4: 23,034 MiB x 0.92 = 22.22 GB; weights 16.06 GB, overhead 3 + 10 x 8,192 x 4,096 x 2 = 3.67
    # and 0.13 GB.
    assert 0 < got.kv_capacity_bytes_per_gpu < 3e9
    assert got.concurrent_sequences == 0
    assert not got.fits
    # 131,072 tokens x 131,072 bytes = 17.2 GB are asked.
    assert got.missing_bytes_per_gpu == 131_072 * 131_072 - got.kv_capacity_bytes_per_gpu


def test_stated_overhead_is_taken() -> None:
    """What the environment states about overhead replaces the estimate, byte for byte of capacity."""
    estimated, stated = memory(LLAMA, "h200", 2), memory(LLAMA, "h200", 2, stated_overhead_bytes=2 * 2**30)
    assert stated.overhead_bytes_per_gpu == 2 * 2**30
    freed = estimated.overhead_bytes_per_gpu - 2 * 2**30
    assert stated.kv_capacity_bytes_per_gpu - estimated.kv_capacity_bytes_per_gpu == freed


def test_data_parallel_multiplies_capacity() -> None:
    """Ranks of a dense model each hold all weights and a KV cache of their own."""
    one, four = memory(LLAMA, "h200", 2), memory(LLAMA, "h200", 2, data=4)
    assert four.weights_bytes_per_gpu == one.weights_bytes_per_gpu
    assert four.kv_capacity_tokens == 4 * one.kv_capacity_tokens
    assert four.concurrent_sequences == 4 * one.concurrent_sequences


def test_experts_are_spread_over_data_parallel_ranks() -> None:
    """DeepSeek R1 on DP16: a sixteenth of the routed experts on each rank, attention, shared experts and embeddings
    whole. Experts with the multi-token module: 688.59 GB less the rest; the rest: 2 x 129,280 x 7,168 embeddings
    at 16 bits and what is left of 671.03e9 - 653.91e9 at 8."""
    model = served("deepseek-r1")
    embeddings = 2 * 129_280 * 7168
    rest = 671_026_419_200 - 653_908_770_816 + embeddings
    assert rest == 18_971_006_464
    expected = rest + (688_586_727_753 - rest) / 16
    assert weights_bytes_per_gpu(model, Parallelism(data=16)) == pytest.approx(expected, abs=1)
    assert expected / 1e9 == pytest.approx(60.8, abs=0.05)


def test_deepseek_on_two_p5_fits() -> None:
    """16 ranks with expert parallelism on 16 x H100 (78.7 GB at 92 %): 60.8 GB of weights and 8 GB of overhead at
    most leave room, where 37/671 of the weights counted twice (82.9 GB) did not."""
    got = memory(served("deepseek-r1", kv_cache_dtype="fp8"), "h100", data=16, expert=True)
    assert got.fits
    assert got.weights_bytes_per_gpu / 1e9 == pytest.approx(60.8, abs=0.05)


def test_experts_are_spread_without_expert_parallel_too() -> None:
    """vLLM cuts the experts over TP x DP devices either way: in parts, or whole where the number divides."""
    for name, tensor, data in (("deepseek-r1", 1, 16), ("qwen3-235b-a22b", 4, 2), ("gpt-oss-20b", 2, 4)):
        model = served(name)
        whole, parts = (
            weights_bytes_per_gpu(model, Parallelism(tensor=tensor, data=data, expert=e)) for e in (True, False)
        )
        assert whole == parts


def test_whole_experts_leave_a_fullest_gpu() -> None:
    """160 experts over 64 GPUs: some hold three, none two and a half."""
    model = served("qwen3-coder-480b-a35b-instruct")
    parts = weights_bytes_per_gpu(model, Parallelism(tensor=8, data=8))
    whole = weights_bytes_per_gpu(model, Parallelism(tensor=8, data=8, expert=True))
    # 480,154,875,392 bytes and the embeddings' second byte; the rest beside the experts: 12.07e9 and that byte.
    embeddings = 2 * 151_936 * 6144
    rest = 480_154_875_392 - 468_084_326_400 + embeddings
    assert parts == pytest.approx(rest / 8 + 468_084_326_400 / 64, abs=1)
    assert whole == pytest.approx(rest / 8 + 468_084_326_400 * 3 / 160, abs=1)


def test_four_bit_checkpoints_keep_all_but_experts_wide() -> None:
    """gpt-oss-20b: 20.915e9 - 19.117e9 = 1.798e9 parameters at 16 bits are 3.60 GB; the experts' part of 13.76 GB is
    10.17 GB, which is 19.117e9 at 4.25 bits (10.16 GB) and so confirms the split."""
    model = served("gpt-oss-20b")
    rest = 2 * (20_914_757_184 - 19_116_933_120)
    assert weights_bytes_per_gpu(model, Parallelism(data=4)) == pytest.approx(rest + (13_761_264_768 - rest) / 4, abs=1)
    assert 13_761_264_768 - rest == pytest.approx(19_116_933_120 * 4.25 / 8, rel=0.001)


def test_unstated_expert_parameters_count_what_a_token_leaves_out() -> None:
    """A shape without `expert_parameters`: 100e9 parameters of which 10e9 are active has at least 90e9 in experts."""
    shape = models()["qwen3-235b-a22b"].shape
    bare = shape.model_copy(update={"parameters": 100e9, "active_parameters": 10e9, "expert_parameters": None})
    assert bare.routed_parameters == 90e9
    assert models()["qwen3-8b"].shape.routed_parameters == 0


@cheap
@given(st.sampled_from([n for n, m in models().items() if m.shape.experts]), st.sampled_from((1, 2, 4, 8)))
def test_ranks_together_hold_all_experts_once(name: str, data: int) -> None:
    """One rank holds the whole checkpoint; n ranks hold its experts once and the rest n times, never less."""
    model = served(name)
    a_rank = weights_bytes_per_gpu(model, Parallelism(data=data))
    assert weights_bytes_per_gpu(model, Parallelism()) == model.weights_bytes
    assert model.weights_bytes / data <= a_rank <= model.weights_bytes


def test_draft_takes_weights_and_cache() -> None:
    """An 8B draft beside a 70B on TP2: half of 9.08 GB a GPU, and 65,536 bytes a token on top of 163,840."""
    draft = {"catalog": "llama-3.1-8b-instruct", "source": "x/y", "revision": "1234567"}
    model = served(
        "llama-3.1-70b-instruct", quantization="fp8", kv_cache_dtype="fp8",
        speculative={"method": "draft_model", "draft": draft},
    )  # fmt: skip
    got = memory(model, "h200", 2)
    assert got.draft_bytes_per_gpu == 4_540_000_000
    assert got.kv_bytes_per_token == 163_840 + 65_536
    assert got.kv_bytes_per_sequence_per_gpu == 32_768 * (163_840 + 65_536) / 2
    assert got.kv_capacity_bytes_per_gpu == 97_893_396_664 - 4_540_000_000


def test_slice_memory_replaces_the_gpus() -> None:
    """On a MIG slice only the slice's own memory counts."""
    model = served("llama-3.1-8b-instruct")
    got = memory(model, "h100", memory_bytes=20_090 * 2**20)
    assert got.gpu_memory_bytes == 20_090 * 2**20


parallel = st.builds(
    Parallelism,
    tensor=st.sampled_from((1, 2, 3, 4, 8, 16)),
    pipeline=st.sampled_from((1, 2, 4)),
    data=st.sampled_from((1, 2, 8)),
)


@cheap
@given(
    st.sampled_from(MODELS),
    st.sampled_from(tuple(gpus())),
    parallel,
    st.sampled_from(("tensor", "pipeline", "data")),
)
def test_more_gpus_never_lower_the_capacity(name: str, gpu: str, shape: Parallelism, direction: str) -> None:
    """Twice the GPUs in any direction hold at least as many tokens."""
    model = served(name, kv_cache_dtype="fp8")
    wider = shape.model_copy(update={direction: 2 * getattr(shape, direction)})

    def capacity(p: Parallelism) -> int:
        return plan_memory(
            model, gpus()[gpu], p, gpu_memory_utilization=0.9, batched_tokens=2048, sequences=64
        ).kv_capacity_tokens

    assert capacity(wider) >= capacity(shape)


@cheap
@given(
    st.sampled_from(MODELS), st.sampled_from(tuple(gpus())), parallel,
    st.floats(0.05, 1.0), st.floats(0.05, 1.0),
)  # fmt: skip
def test_higher_utilization_never_lowers_the_capacity(
    name: str, gpu: str, shape: Parallelism, a: float, b: float
) -> None:
    """What vLLM may take more goes to the KV cache."""
    model = served(name)
    low, high = (
        plan_memory(model, gpus()[gpu], shape, gpu_memory_utilization=u, batched_tokens=2048, sequences=64)
        for u in sorted((a, b))
    )
    assert high.kv_capacity_tokens >= low.kv_capacity_tokens
    assert high.missing_bytes_per_gpu <= low.missing_bytes_per_gpu


@cheap
@given(st.sampled_from(MODELS), st.sampled_from(tuple(gpus())), parallel)
def test_nothing_is_counted_twice(name: str, gpu: str, shape: Parallelism) -> None:
    """Weights, draft, overhead and KV capacity together never exceed what vLLM may take; fits means
    one sequence."""
    got = plan_memory(served(name), gpus()[gpu], shape, gpu_memory_utilization=0.9, batched_tokens=2048, sequences=64)
    if got.kv_capacity_bytes_per_gpu:
        assert got.before_kv_bytes_per_gpu + got.kv_capacity_bytes_per_gpu <= got.gpu_memory_bytes * 0.9
    assert got.fits == (got.concurrent_sequences >= shape.data)


def test_adapters_take_a_slot_each() -> None:
    """Two adapters of rank 64 and 16 on Llama 3.1 8B (hidden size 4,096, 32 layers, MLP 14,336, 1,024 wide keys and
    values): a layer's in + out are q, o 2 x 8,192; k, v 2 x 5,120; gate, up, down 3 x 18,432: 81,920. Times 32 layers,
    rank 64, 2 bytes is 335,544,320 a slot; both slots are made for the larger rank.
    """
    adapters = {
        name: {"source": "example/lora", "revision": "0123456789", "rank": rank}
        for name, rank in (("a", 64), ("b", 16))
    }
    plain, with_adapters = (memory(served("llama-3.1-8b-instruct", adapters=a), "h200") for a in ({}, adapters))
    taken = plain.kv_capacity_bytes_per_gpu - with_adapters.kv_capacity_bytes_per_gpu
    assert taken == with_adapters.adapter_bytes_per_gpu == pytest.approx(2 * 335_544_320, rel=0.01)


def test_kv_figures_of_a_model_with_windows() -> None:
    """Gemma 3 27B at 32k in bf16: bytes a token x tokens held is not the capacity, as 52 of 62 layers stop at 1,024
    tokens; the bytes of a full sequence are what the capacity divides by."""
    got = memory(served("gemma-3-27b"), "h200")
    # 2 x 16 heads x 128 x 2 bytes x (10 layers x 32,768 + 52 layers x 1,024).
    assert got.kv_bytes_per_sequence_per_gpu == 2 * 16 * 128 * 2 * (10 * 32_768 + 52 * 1024)
    assert got.kv_bytes_per_token == 8192 * 62
    assert got.concurrent_sequences == got.kv_capacity_bytes_per_gpu // got.kv_bytes_per_sequence_per_gpu
    assert got.kv_capacity_tokens == math.floor(
        got.kv_capacity_bytes_per_gpu * 32_768 / got.kv_bytes_per_sequence_per_gpu
    )
    assert got.kv_bytes_per_token * got.kv_capacity_tokens > 4 * got.kv_capacity_bytes_per_gpu
