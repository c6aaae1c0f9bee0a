"""Bytes, rates and times of one KV transfer, by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferfab.catalog.instances import instances
from inferfab.plan.fabric import FabricKind, plan_role_fabric
from inferfab.plan.kv_transfer import KvTransferPlan, plan_kv_transfer
from strategies import MODELS, cheap

from .planning import disaggregated, pool_plan, served

LLAMA = served("llama-3.1-70b-instruct", quantization="fp8", kv_cache_dtype="fp8")


def transfer(
    machine: str = "p5en.48xlarge",
    kind: FabricKind = "efa",
    *,
    gpus: tuple[int, int] = (4, 4),
    prompt: int = 2000,
    ttft: float | None = 500.0,
    share: float = 0.2,
    model=LLAMA,  # type: ignore[no-untyped-def]
) -> KvTransferPlan:
    found = (instances("aws") | instances("gcp"))[machine]
    sides = [plan_role_fabric(kind, found, n) for n in gpus]
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
    assert short.transfer_ms == pytest.approx(short.bytes_per_request * 8 / (gpus * 200 * 1e9) * 1000)
    assert short.needed_gbps is not None
    assert short.keeps_budget == (short.transfer_ms <= 100 * (1 + 1e-9))
