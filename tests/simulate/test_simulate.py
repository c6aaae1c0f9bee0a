"""On Dynamo's simulator: what queueing theory and arithmetic say must come out."""

import random
from pathlib import Path

import pytest

from inferfab import check, load
from inferfab.performance.npz import write_npz
from inferfab.simulate.engines import worker_engine
from inferfab.simulate.pool import Inputs
from inferfab.simulate.simulator import Outcome, Simulator, SimulatorFailed
from inferfab.simulate.simulator_probe import break_off
from inferfab.traffic.draw import BLOCK_TOKENS, write_replay
from inferfab.traffic.rows import Request
from rehearse.dynamo_python import dynamo_python

PROMPT_MS, STEP_MS = 100.0, 10.0


def flat(folder: Path) -> Path:
    """A worker that reads any prompt in 100 ms and writes any token in 10 ms."""
    path = folder / "flat.npz"
    write_npz(
        path,
        {
            "prefill_isl": (1.0, 100_000.0), "prefill_ttft_ms": (PROMPT_MS, PROMPT_MS),
            "decode_active_kv_tokens": (1.0, 10_000_000.0), "decode_context_length": (1.0, 100_000.0),
            "decode_itl": ((STEP_MS, STEP_MS), (STEP_MS, STEP_MS)),
        },
    )  # fmt: skip
    return path


def ran(
    folder: Path, requests: list[Request], *, workers: int = 1, bandwidth: float = 1000.0, **more: object
) -> Outcome:
    trace = folder / "trace.jsonl"
    write_replay(requests, trace)

    def one(kind: str) -> dict[str, object]:
        return worker_engine(
            kind=kind, block_tokens=16, kv_tokens=1_000_000, max_sequences=256, max_batched_tokens=1000,
            prefix_caching=False, timing=flat(folder), transfer_bytes_per_token=100_000,
            transfer_gigabytes_per_second=bandwidth,
        )  # fmt: skip

    job = {
        "trace": str(trace), "trace_block_tokens": BLOCK_TOKENS, "prefill_engine": one("prefill"),
        "engine": one("decode"), "prefill_workers": workers, "workers": 1, **more,
    }  # fmt: skip
    with Simulator(dynamo_python()) as simulator:
        return simulator.run(job)


def apart(count: int, gap_s: float) -> list[Request]:
    return [Request(at_s=n * gap_s, prompt_tokens=1000, output_tokens=11) for n in range(count)]


def test_a_request_alone(tmp_path: Path) -> None:
    found = ran(tmp_path, apart(20, 5.0))
    assert found.completed == 20
    # The prompt, then the transfer of 1,000 x 100 kB at 1,000 GB/s (0.1 ms), then a step that writes the token.
    assert found.ttft_ms["50.0"] == pytest.approx(PROMPT_MS + STEP_MS, abs=2)
    assert found.itl_ms["50.0"] == pytest.approx(STEP_MS, abs=0.5)
    assert found.output_tokens == 220


def test_a_slow_fabric_adds_the_time_of_the_bytes(tmp_path: Path) -> None:
    """100 MB at 0.5 GB/s are 200 ms."""
    fast, slow = ran(tmp_path, apart(20, 5.0)), ran(tmp_path, apart(20, 5.0), bandwidth=0.5)
    assert fast.ttft_ms["50.0"] is not None
    assert slow.ttft_ms["50.0"] is not None
    assert slow.ttft_ms["50.0"] - fast.ttft_ms["50.0"] == pytest.approx(200, rel=0.1)


def test_waiting_is_what_queueing_theory_says(tmp_path: Path) -> None:
    """One server, equal service of 100 ms, independent arrivals at 60 %: M/D/1 waits rho / (2 (1 - rho)) services."""
    generator, at, requests = random.Random(7), 0.0, []
    for _ in range(6000):
        at += generator.expovariate(6.0)
        requests.append(Request(at_s=at, prompt_tokens=1000, output_tokens=2))
    found = ran(tmp_path, requests)
    alone = ran(tmp_path, apart(20, 5.0)).mean_ttft_ms
    assert found.mean_ttft_ms is not None
    assert alone is not None
    # 0.6 / (2 x 0.4) x 100 ms = 75 ms.
    assert found.mean_ttft_ms - alone == pytest.approx(75, rel=0.25)


def test_promises_count_what_they_speak_of(tmp_path: Path) -> None:
    requests = [Request(at_s=n * 5.0, prompt_tokens=1000, output_tokens=11 if n % 4 else 201) for n in range(40)]
    promises = [
        {"metric": "ttft", "percentile": 95.0, "at_most_ms": 150.0},
        {"metric": "ttft", "percentile": 95.0, "at_most_ms": 50.0},
        {"metric": "whole_answer", "percentile": 95.0, "at_most_ms": 500.0, "answers_up_to_tokens": 100},
        {"metric": "whole_answer", "percentile": 95.0, "at_most_ms": 500.0},
    ]
    found = ran(tmp_path, requests, promises=promises)
    assert [(k.inside, k.of) for k in found.promises] == [(40, 40), (0, 40), (30, 30), (30, 40)]
    # A request is good if it is inside all of them, and none is inside the second.
    assert found.good == 0


def test_a_lost_worker_makes_the_others_wait_until_another_is_there(tmp_path: Path) -> None:
    """Two workers at 75 % each; one alone is at 150 % for a while, so work piles up."""
    requests = [Request(at_s=n / 15, prompt_tokens=1000, output_tokens=2) for n in range(1500)]
    whole = ran(tmp_path, requests, workers=2)
    lost = ran(tmp_path, requests, workers=2, loss={"at_ms": 20_000.0, "workers": {"prefill": 1}})
    assert lost.completed == 1500
    assert whole.ttft_ms["99.0"] is not None
    assert lost.ttft_ms["99.0"] is not None
    assert whole.ttft_ms["99.0"] < lost.ttft_ms["99.0"]


def test_what_a_lost_worker_was_at_is_broken_off(tmp_path: Path) -> None:
    """Two workers with more to read than they can, one lost at 5 s: what it had then keeps no promise."""
    requests = [Request(at_s=n / 25, prompt_tokens=1000, output_tokens=2) for n in range(150)]
    promises = [{"metric": "ttft", "percentile": 95.0, "at_most_ms": 60_000.0}]
    loss = {"at_ms": 5000.0, "workers": {"prefill": 1}}
    found = ran(tmp_path, requests, workers=2, promises=promises, loss=loss)
    assert found.completed == 150
    # One being read at least; of the 25 that have piled up by then (5 s x 5 a second) half, and what is handed over.
    assert 1 <= found.broken_off <= 25
    (kept,) = found.promises
    assert (kept.inside, kept.of) == (150 - found.broken_off, 150)
    assert found.good == 150 - found.broken_off


def test_only_what_is_at_the_lost_worker_at_that_moment_is_broken_off() -> None:
    """Worker 1 of decode is lost at 100 ms: it had the second request until 150 ms, the third was over at 90 ms."""

    def one(arrived: float, worker: int, ended: float) -> dict[str, object]:
        steps = [{"pool": "prefill", "logical_worker_id": 0}, {"pool": "decode", "logical_worker_id": worker}]
        return {"arrival_time_ms": arrived, "routing_history": steps, "terminal_time_ms": ended}

    requests = [one(0, 0, 200), one(10, 1, 150), one(20, 1, 90), one(120, 0, 300), one(130, 2, 300)]
    break_off(requests, {"at_ms": 100.0, "workers": {"decode": 1}}, {"prefill": 1, "decode": 2})
    assert [bool(r.get("broken_off")) for r in requests] == [False, True, False, False, False]


def test_what_it_refuses_is_said(tmp_path: Path) -> None:
    with pytest.raises(SimulatorFailed, match="refused"), Simulator(dynamo_python()) as simulator:
        simulator.run({"trace": str(tmp_path / "absent.jsonl"), "trace_block_tokens": 512, "engine": {}, "workers": 1})
    with (
        pytest.raises(SimulatorFailed, match="ended with exit code 1 without a word"),
        Simulator("/bin/false") as simulator,
    ):
        simulator.run({})


def test_owned_racks_have_speeds_too(tmp_path: Path) -> None:
    """Their machines stand in a list of their own, though the cell's cloud is AWS."""
    fleet = check(load(Path(__file__).resolve().parents[2] / "environments" / "prod-hybrid.yaml")).plan
    assert fleet is not None
    (cell,) = fleet.cells
    inputs = Inputs(fleet, cell, cell.pools[0], (), tmp_path)
    assert set(inputs.profiles) == {"prefill", "decode"}
