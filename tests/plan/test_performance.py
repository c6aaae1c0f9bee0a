"""The roofline by hand, and beside published measurements."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferfab.catalog.gpus import gpus
from inferfab.catalog.throughput import Measurement, throughput
from inferfab.plan.kv_cache import bytes_per_sequence_and_gpu
from inferfab.plan.memory import Parallelism, plan_memory
from inferfab.plan.performance import PerformancePlan, flops_per_prompt_token, peak_tflops, plan_performance
from strategies import MODELS, cheap

from .planning import served

LLAMA = served("llama-3.1-70b-instruct", quantization="fp8", kv_cache_dtype="fp8")


def perform(
    model=LLAMA,
    gpu="h200",
    *,
    prompt=2000,
    output=400,
    sequences=256,
    reads=True,
    writes=True,
    **parallel,
) -> PerformancePlan:  # type: ignore[no-untyped-def]
    spread = Parallelism(**parallel)
    memory = plan_memory(model, gpus()[gpu], spread, gpu_memory_utilization=0.92, batched_tokens=8192, sequences=256)
    return plan_performance(
        model,
        gpus()[gpu],
        spread,
        memory,
        prompt_tokens=prompt,
        output_tokens=output,
        max_sequences=sequences,
        reads_prompts=reads,
        writes_answers=writes,
    )


def test_flops_of_a_prompt_token() -> None:
    """70B at 2,000 tokens: 2 x 70.55e9 + 4 x 80 layers x 64 heads x 128 x 1,000 tokens of context on
    average."""
    assert flops_per_prompt_token(LLAMA, 2000) == 2 * 70_553_706_496 + 4 * 80 * 64 * 128 * 1000


def test_prefill_by_hand() -> None:
    """2 x H200 fp8: 2 x 1,979e12 / 143.73e9 = 27,538 tokens/s at the peak; 35 to 60 % of it; 2,000
    tokens in 121 to 207 ms."""
    got = perform(tensor=2, writes=False)
    ideal = 2 * 1979e12 / 143_728_852_992
    assert ideal == pytest.approx(27_538, abs=1)
    assert got.prefill_tokens_per_second is not None
    assert got.prefill_tokens_per_second.low == pytest.approx(0.35 * ideal)
    assert got.prefill_tokens_per_second.high == pytest.approx(0.60 * ideal)
    assert got.prefill_ms is not None
    assert (got.prefill_ms.low, got.prefill_ms.high) == pytest.approx((121.0, 207.5), abs=0.1)
    assert got.requests_per_second.low == pytest.approx(0.35 * ideal / 2000)
    assert (got.decode_batch, got.decode_step_ms) == (0, None)


def test_decode_by_hand() -> None:
    """2 x H200: (36.33 GB weights + 256 x 2,200 tokens x 81,920 bytes) over 4.8 TB/s at 80 and 50 %."""
    got = perform(tensor=2, reads=False)
    moved = 36_327_526_400 + 256 * 2200 * 81_920
    assert got.decode_batch == 256
    assert got.decode_step_ms is not None
    assert got.decode_step_ms.low == pytest.approx(moved / (4.8e12 * 0.8) * 1000)
    assert got.decode_step_ms.high == pytest.approx(moved / (4.8e12 * 0.5) * 1000)
    assert got.decode_tokens_per_second is not None
    assert got.decode_tokens_per_second.low == pytest.approx(256 / 0.03436, rel=1e-3)
    assert got.requests_per_second.low == pytest.approx(256 / 0.03436 / 400, rel=1e-3)


def test_a_worker_that_does_both_spends_time_on_both() -> None:
    """Seconds a request: prompt over prefill rate plus answer over decode rate."""
    both, reads, writes = perform(tensor=2), perform(tensor=2, writes=False), perform(tensor=2, reads=False)
    expected = 1 / (1 / reads.requests_per_second.low + 1 / writes.requests_per_second.low)
    assert both.requests_per_second.low == pytest.approx(expected)


def test_batch_is_bounded_by_memory() -> None:
    """TP1 on one H200: 0.92 x 150.75 - 72.66 - 4.47 = 61.57 GB hold 170 sequences of 2,200 tokens x
    163,840 bytes."""
    left = 138_694_434_488 - 72_655_052_800 - 4_473_511_424
    assert perform(reads=False).decode_batch == left // (2200 * 163_840) == 170


def test_no_sixteen_bit_arithmetic_on_t4() -> None:
    """A T4 has no bf16 tensor cores, so a bf16 model has no prefill there and serves nothing."""
    model = served("llama-3.1-8b-instruct", quantization="bf16")
    assert peak_tflops(gpus()["t4"], "bf16") is None
    got = perform(model, "t4", tensor=4)
    assert got.prefill_tokens_per_second is None
    assert got.requests_per_second.high == 0


def test_arithmetic_falls_back() -> None:
    """fp8 weights on A100 (no fp8) and int4 anywhere compute in bf16; nvfp4 in fp4 on B200."""
    assert peak_tflops(gpus()["a100-80gb"], "fp8") == 312
    assert peak_tflops(gpus()["h100"], "int4") == 989
    assert peak_tflops(gpus()["b200"], "nvfp4") == 9000


def test_fp4_weights_before_blackwell_compute_in_sixteen_bit() -> None:
    """vLLM runs NVFP4 on GPUs without fp4 weight-only (Marlin), so the arithmetic is bf16, not fp8."""
    assert peak_tflops(gpus()["h100"], "nvfp4") == 989
    assert peak_tflops(gpus()["h100"], "mxfp4") == 989


def test_data_parallel_rank_has_its_own_batch_limit() -> None:
    """``max_sequences`` is the limit of one rank: four ranks decode four times as many."""
    one, four = (
        perform(tensor=2, reads=False, sequences=64),
        perform(tensor=2, data=4, reads=False, sequences=64),
    )
    assert one.decode_batch == 64
    assert four.decode_batch == 4 * 64
    assert four.decode_step_ms == one.decode_step_ms


def test_a_prompt_is_read_by_one_data_parallel_rank() -> None:
    """More ranks read more prompts at a time, none of them sooner."""
    one, four = perform(tensor=2, writes=False), perform(tensor=2, data=4, writes=False)
    assert four.prefill_tokens_per_second is not None
    assert one.prefill_tokens_per_second is not None
    assert four.prefill_tokens_per_second.low == pytest.approx(4 * one.prefill_tokens_per_second.low)
    assert four.prefill_ms == one.prefill_ms


def test_pipeline_stages_read_a_prompt_one_after_another() -> None:
    """A prompt goes through all stages in turn, so two stages do not halve its time."""
    one, two = perform(tensor=2, writes=False), perform(tensor=2, pipeline=2, writes=False)
    assert one.prefill_ms is not None
    assert two.prefill_ms is not None
    assert two.prefill_ms.low >= one.prefill_ms.low * 0.999


@cheap
@given(
    st.sampled_from(MODELS),
    st.sampled_from(("h100", "h200", "b200")),
    st.sampled_from((1, 2, 4, 8)),
    st.sampled_from((1, 2)),
    st.sampled_from((1, 2, 4)),
    st.integers(1, 600),
)
def test_batch_keeps_its_bounds(name: str, gpu: str, tensor: int, pipeline: int, data: int, sequences: int) -> None:
    """Decoded together are never more than the KV cache holds nor than the ranks' batch limits allow."""
    model = served(name, kv_cache_dtype="fp8")
    spread = Parallelism(tensor=tensor, pipeline=pipeline, data=data)
    memory = plan_memory(model, gpus()[gpu], spread, gpu_memory_utilization=0.92, batched_tokens=8192, sequences=256)
    got = perform(model, gpu, sequences=sequences, tensor=tensor, pipeline=pipeline, data=data)
    each = bytes_per_sequence_and_gpu(model.shape, "fp8", 2200, tensor_parallel=tensor, pipeline_parallel=pipeline)
    assert got.decode_batch * each <= memory.kv_capacity_bytes_per_gpu * data * (1 + 1e-9)
    assert got.decode_batch <= sequences * data


# -- beside published measurements

OFFLINE = [m for m in throughput().measurements if m.trust == "A" and "offline" in m.load]


def estimate(m: Measurement) -> tuple[float, float]:
    """Lowest and highest estimated output tokens a second and GPU, with as large a batch as the memory
    holds."""
    model = served(
        m.model,
        quantization=m.quantization,
        kv_cache_dtype="fp8",
        context_tokens=m.prompt_tokens + m.output_tokens,
    )
    tensor = m.tensor_parallel or 1
    got = perform(model, m.gpu, tensor=tensor, prompt=m.prompt_tokens, output=m.output_tokens, sequences=4096)
    assert got.requests_per_second.high is not None
    return tuple(r * m.output_tokens / tensor for r in (got.requests_per_second.low, got.requests_per_second.high))  # type: ignore[return-value]


def identify(m: Measurement) -> str:
    return f"{m.model}-{m.gpu}-{m.quantization}-tp{m.tensor_parallel}-{m.prompt_tokens}-{m.output_tokens}"


DENSE_SMALL_TP = [m for m in OFFLINE if m.model.startswith("llama-3") and (m.tensor_parallel or 1) <= 2]
OTHERS = [m for m in OFFLINE if m not in DENSE_SMALL_TP]


@pytest.mark.parametrize("m", DENSE_SMALL_TP, ids=identify)
def test_dense_on_one_or_two_gpus_is_within_a_fifth_of_the_range(m: Measurement) -> None:
    """Offline throughput of dense models at TP 1 and 2 lies between 0.8 x the low and 1.25 x the high
    estimate."""
    low, high = estimate(m)
    assert 0.8 * low <= m.output_tokens_per_second_per_gpu <= 1.25 * high


@pytest.mark.parametrize("m", OTHERS, ids=identify)
def test_large_tensor_parallelism_and_experts_are_estimated_too_well(m: Measurement) -> None:
    """The roofline has no term for collectives and expert imbalance: at TP 4 and 8 the low estimate
    may be up to
    2.2 times what was measured. It is never too low, and never worse than that."""
    low, high = estimate(m)
    assert low / 2.2 <= m.output_tokens_per_second_per_gpu <= high


def test_most_dense_points_lie_inside_the_range() -> None:
    """At least two thirds of the dense points at TP 1 and 2 are inside the estimated range itself."""
    inside = [low <= m.output_tokens_per_second_per_gpu <= high for m in DENSE_SMALL_TP for low, high in [estimate(m)]]
    assert len(inside) >= 15
    assert sum(inside) >= len(inside) * 2 / 3
