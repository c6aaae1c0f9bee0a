"""Bytes, rates and times of one KV transfer, by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferfab.catalog.instances import instances
from inferfab.plan.fabric import FabricKind, plan_role_fabric
from inferfab.plan.kv_transfer import KvTransferPlan, TransferEnd, plan_kv_transfer
from inferfab.plan.memory import Parallelism
from strategies import MODELS, cheap

from .planning import disaggregated, pool_plan, served

LLAMA = served("llama-3.1-70b-instruct", quantization="fp8", kv_cache_dtype="fp8")


def transfer(
    machine: str = "p5en.48xlarge",
    kind: FabricKind = "efa",
    *,
    gpus: tuple[int, int] = (4, 4),
    data: tuple[int, int] = (1, 1),
    prompt: int = 2000,
    ttft: float | None = 500.0,
    share: float = 0.2,
    model=LLAMA,  # type: ignore[no-untyped-def]
) -> KvTransferPlan:
    found = (instances("aws") | instances("gcp"))[machine]
    sides = [
        TransferEnd(
            fabric=plan_role_fabric(kind, found, tensor * ranks, ranks),
            parallel=Parallelism(tensor=tensor, data=ranks),
        )
        for tensor, ranks in zip(gpus, data, strict=True)
    ]
    return plan_kv_transfer(model, *sides, prompt_tokens=prompt, ttft_promise_ms=ttft, share_of_ttft=share)


def test_by_hand() -> None:
    """2,000 tokens x 163,840 bytes = 327.68 MB; in 20 % of 500 ms that is 26.2 Gbit/s; at 800 Gbit/s
    3.28 ms."""
    got = transfer()
    assert got.bytes_per_request == 327_680_000
    assert got.budget_ms == 100
    assert got.needed_gbps == pytest.approx(26.2144)
    assert (got.line_gbps, got.efficiency, got.available_gbps) == (1600, 0.5, 800)
    assert got.transfer_ms == pytest.approx(3.2768)
    assert got.keeps_budget
    # 1 GB on one card of 200 Gbit/s.
    assert got.burst_ms == pytest.approx(40)
    assert got.burst_share_of_jitter_budget == pytest.approx(4)
    assert got.burst_can_reach_fabric


def test_notes_example() -> None:
    """32k tokens of a 70B in bf16 over 3.2 Tbit/s at 50 %: 54 ms (fabric.md section 5)."""
    model = served("llama-3.1-70b-instruct", quantization="fp8")
    got = transfer(gpus=(8, 8), prompt=32_768, model=model)
    assert got.transfer_ms == pytest.approx(54, abs=0.5)
    got = transfer(gpus=(8, 8), prompt=32_768, ttft=1000, share=0.2, model=model)
    assert got.needed_gbps == pytest.approx(429, abs=1)


def test_slower_side_decides() -> None:
    """TP8 to TP2: four EFAs of 200 Gbit/s bound the pair, whichever side is the narrow one."""
    assert transfer(gpus=(8, 2)).line_gbps == transfer(gpus=(2, 8)).line_gbps == 800


def test_one_prompt_has_the_interfaces_of_one_rank() -> None:
    """DP8 on a p5en: 16 EFAs of 200 Gbit/s over eight ranks are 400 Gbit/s a rank, half of it usable."""
    got = transfer(gpus=(1, 1), data=(8, 8))
    assert (got.line_gbps, got.available_gbps) == (400, 200)
    # 327.68 MB at 200 Gbit/s, not at the node's 1,600.
    assert got.transfer_ms == pytest.approx(13.1072)


def test_ranks_of_either_side_bound() -> None:
    """TP8 without data parallelism has 3,200 Gbit/s; four ranks of TP2 on the other side have 800 each."""
    assert transfer(gpus=(8, 2), data=(1, 4)).line_gbps == transfer(gpus=(2, 8), data=(4, 1)).line_gbps == 800


def test_ranks_over_two_nodes() -> None:
    """DP16 on two p5 (32 EFAs of 100 Gbit/s each): 6,400 Gbit/s over 16 ranks are 400, as on one node with DP8."""
    model = served("deepseek-r1", kv_cache_dtype="fp8")
    got = transfer("p5.48xlarge", gpus=(1, 1), data=(16, 8), model=model)
    assert got.line_gbps == 400
    assert got.bytes_moved == got.bytes_per_request == 2000 * 61 * 576


def test_latent_attention_is_pulled_by_every_gpu() -> None:
    """TP8 to TP8 of DeepSeek: each of eight GPUs pulls all of 70.3 MB over its own two EFAs (400 Gbit/s, half
    usable): 2.8 ms, eight times what one copy over 3,200 Gbit/s takes."""
    got = transfer(gpus=(8, 8), model=served("deepseek-r1", kv_cache_dtype="fp8"))
    assert got.bytes_moved == 8 * got.bytes_per_request == 8 * 2000 * 61 * 576
    assert got.line_gbps == 3200
    assert got.transfer_ms == pytest.approx(2000 * 61 * 576 * 8 / 200e9 * 1000)


def test_copies_on_the_prefill_side_do_not_send() -> None:
    """TP8 to one rank of TP1, latent attention: the one GPU that pulls reads from one of the eight that hold the
    same, so one GPU's two EFAs bound either side. From TP1 to TP8 one GPU sends eight copies."""
    model = served("deepseek-r1", kv_cache_dtype="fp8")
    narrow = transfer(gpus=(8, 1), model=model)
    assert (narrow.line_gbps, narrow.bytes_moved) == (400, narrow.bytes_per_request)
    wide = transfer(gpus=(1, 8), model=model)
    assert (wide.line_gbps, wide.bytes_moved) == (400, 8 * wide.bytes_per_request)


def test_heads_are_shared_until_there_is_one_a_gpu() -> None:
    """Llama's eight KV heads over TP4 to TP8 move once; Qwen3-30B's four over TP8 move twice (two GPUs a head), and
    from TP8 to TP2 only four of eight GPUs send: half of 3,200, and TP2 has 800."""
    assert transfer(gpus=(4, 8)).bytes_moved == 327_680_000
    qwen = served("qwen3-30b-a3b", kv_cache_dtype="fp8")
    once = 2000 * 2 * 48 * 4 * 128
    assert transfer(gpus=(8, 8), model=qwen).bytes_moved == 2 * once
    four = transfer(gpus=(8, 4), model=qwen)
    assert (four.bytes_moved, four.line_gbps) == (once, 1600)
    assert transfer(gpus=(8, 2), model=qwen).line_gbps == 800


def test_reads_of_a_prompt_run_side_by_side() -> None:
    """As tp_mapping.py maps ranks: 8 KV heads on 8 prefill GPUs are two reads for each of 4 decode GPUs; a GPU that has
    only half of a prefill GPU's heads reads once; of latent attention each reads one copy.
    """
    assert transfer(gpus=(4, 4)).parts == 4
    assert transfer(gpus=(8, 4)).parts == 8
    assert transfer(gpus=(4, 8)).parts == 8
    assert transfer(gpus=(8, 8)).available_gbps_per_part == pytest.approx(200)
    latent = served("deepseek-r1", kv_cache_dtype="fp8")
    assert transfer(gpus=(8, 4), model=latent).parts == 4
    assert transfer(gpus=(8, 2), model=served("qwen3-30b-a3b", kv_cache_dtype="fp8")).parts == 4


def test_tcp_is_told_for_one_transfer() -> None:
    """1 GB/s is what a transfer reaches over TCP, whatever the number of ranks."""
    assert transfer(kind="tcp", gpus=(1, 1), data=(8, 8)).line_gbps == 8


def test_the_pool_passes_its_ranks() -> None:
    """DP4 x TP2 on a p5en: 3,200 Gbit/s over four ranks, half usable."""
    part = {"tensor_parallel": 2, "data_parallel": 4, "replicas": {"desired": 1}}
    got = pool_plan(disaggregated(prefill=part, decode=part))
    assert got.kv_transfer is not None
    assert got.kv_transfer.available_gbps == 400
    assert got.role("decode").fabric.usable_gbps_per_rank == 400
    assert got.role("decode").fabric.usable_gbps_per_worker == 1600


def test_roce_burst() -> None:
    """A3 Ultra: 1 GB on a 400 Gbit/s NIC would take 20 ms, but storage has gVNICs of its own."""
    got = transfer("a3-ultragpu-8g", "roce")
    assert got.burst_ms == pytest.approx(20)
    assert not got.burst_can_reach_fabric


def test_price_of_tcp() -> None:
    """At 1 GB/s the same 327.68 MB take 328 ms: more than the 100 ms of the budget."""
    got = transfer(kind="tcp")
    assert got.transfer_ms == pytest.approx(327.68)
    assert not got.keeps_budget
    assert got.burst_ms == pytest.approx(1000)


def test_no_promise_needs_no_rate() -> None:
    """A tier without a TTFT promise has no budget and keeps it."""
    got = transfer(ttft=None)
    assert (got.budget_ms, got.needed_gbps, got.keeps_budget) == (None, None, True)


def test_no_path() -> None:
    """Without interfaces there is no time, and the budget is not kept."""
    got = transfer("p6e-gb200.36xlarge", "efa")
    assert got.transfer_ms is None
    assert not got.keeps_budget


def test_draft_cache_travels_too() -> None:
    """An MTP layer of DeepSeek adds 576 bytes a token to 61 x 576."""
    model = served("deepseek-r1", kv_cache_dtype="fp8", speculative={"method": "mtp"})
    assert transfer(model=model, prompt=1000).bytes_per_request == 1000 * 62 * 576


def test_strictest_promise_counts() -> None:
    """Priority promises 200 ms at the median and 500 ms at p95; the transfer is held against a fifth
    of 200 ms."""
    got = pool_plan(disaggregated(tier="priority")).kv_transfer
    assert got is not None
    assert (got.ttft_promise_ms, got.budget_ms) == (200, pytest.approx(40))
    # Priority's default prompt has 2,000 tokens.
    assert got.needed_gbps == pytest.approx(327_680_000 * 8 / 0.040 / 1e9)


@cheap
@given(st.sampled_from(MODELS), st.integers(1, 30_000), st.integers(0, 5000), st.sampled_from((1, 2, 4, 8)))
def test_monotone(name: str, prompt: int, more: int, gpus: int) -> None:
    """A longer prompt moves no fewer bytes and takes no less time; the times are bytes over the rate."""
    model = served(name)
    short, long = (transfer(model=model, prompt=p, gpus=(gpus, gpus)) for p in (prompt, prompt + more))
    assert long.bytes_per_request >= short.bytes_per_request
    assert short.transfer_ms is not None
    assert short.transfer_ms == pytest.approx(short.bytes_moved * 8 / (gpus * 200 * 1e9) * 1000)
    assert short.bytes_moved >= short.bytes_per_request * (1 - 1e-9)
    assert short.needed_gbps is not None
    assert short.keeps_budget == (short.transfer_ms <= 100 * (1 + 1e-9))
