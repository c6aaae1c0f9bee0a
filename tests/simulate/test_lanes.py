"""Models that take turns: by hand, with flat speeds of 100 ms a prompt and 10 ms a token."""

from datetime import date

import pytest

from inferfab.catalog.facts import Provenance
from inferfab.performance.profile import DecodePoint, PerformanceProfile, PrefillPoint, Worker
from inferfab.simulate.lanes import LaneModel, take_turns
from inferfab.traffic.rows import Request

FLAT = PerformanceProfile(
    provenance=Provenance(source="made up", retrieved=date(2026, 11, 30), note=""),
    worker=Worker(model="qwen3-8b", quantization="fp8", kv_precision="fp8", gpu="l40s", tensor=1),
    engine_version="",
    basis="measured",
    prefill=tuple(PrefillPoint(prompt_tokens=n, ttft_ms=100, how="measured") for n in (1, 100_000)),
    decode=tuple(
        DecodePoint(kv_tokens=kv, context_tokens=c, itl_ms=10, how="measured")
        for kv in (1, 10_000_000) for c in (1, 100_000)
    ),
)  # fmt: skip


def model(name: str, sequences: int = 4, limit: int = 16) -> LaneModel:
    return LaneModel(name=name, profile=FLAT, max_sequences=sequences, max_requests=limit, move_seconds=2.0)


def asked(*times: float, tokens: int = 11) -> list[Request]:
    return [Request(at_s=at, prompt_tokens=1000, output_tokens=tokens) for at in times]


def test_a_model_alone_wakes_once() -> None:
    """2 s to wake, 100 ms to read; later ones find it awake."""
    found = take_turns([("a",)], {"a": model("a")}, {"a": asked(0.0, 10.0)})
    assert [r["ttft_ms"] for r in found.requests["a"]] == pytest.approx([2100, 100])
    assert [r["itl_ms"] for r in found.requests["a"]] == pytest.approx([10, 10])
    assert found.swaps == 1


def test_the_other_model_waits_for_the_answers_and_both_moves() -> None:
    """a ends at 2.2 s; out and in take 4 s; b's prompt 0.1 s: 6.3 s after the start, asked at 1 s."""
    models = {"a": model("a"), "b": model("b")}
    found = take_turns([("a", "b")], models, {"a": asked(0.0), "b": asked(1.0)})
    assert found.requests["b"][0]["ttft_ms"] == pytest.approx(6300 - 1000)
    assert found.swaps == 2


def test_first_come_first_served_also_for_the_awake_model() -> None:
    """a's second request comes behind b's, so it waits for b's turn, although a is awake when it comes."""
    models = {"a": model("a"), "b": model("b")}
    found = take_turns([("a", "b")], models, {"a": asked(0.0, 2.15), "b": asked(2.05)})
    late = max(r["ttft_ms"] for r in found.requests["a"])
    # b: 2.2 + 4 + 0.1 + 0.1 = 6.4 s; a again: + 4 + 0.1.
    assert late == pytest.approx((6.4 + 4.1 - 2.15) * 1000, abs=1)
    assert found.swaps == 3


def test_a_batch_shares_steps() -> None:
    """Two prompts one after the other, then both write: nobody writes while a prompt is read."""
    found = take_turns([("a",)], {"a": model("a")}, {"a": asked(0.0, 0.0)})
    assert sorted(r["ttft_ms"] for r in found.requests["a"]) == pytest.approx([2100, 2200])
    assert [r["e2e_latency_ms"] for r in found.requests["a"]] == pytest.approx([2300, 2300])


def test_beyond_the_limit_requests_are_refused() -> None:
    found = take_turns([("a",)], {"a": model("a", sequences=1, limit=2)}, {"a": asked(*[0.0] * 5)})
    assert [r["terminal_status"] for r in found.requests["a"]].count("refused") == 3


def test_two_lanes_take_half_each_and_all_is_answered() -> None:
    models = {"a": model("a", limit=10_000)}
    found = take_turns([("a",), ("a",)], models, {"a": asked(*(n / 10 for n in range(400)))})
    one = take_turns([("a",)], models, {"a": asked(*(n / 10 for n in range(400)))})
    assert len(found.requests["a"]) == 400
    assert found.duration_ms < one.duration_ms
