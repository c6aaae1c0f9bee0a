"""Runs Dynamo's offline simulator. Lives in Dynamo's virtual environment: it imports nothing of inferfab.

One JSON job a line on stdin, one JSON answer a line on stdout. A job names a trace file and the engines; the answer has
percentiles, what each promise came to, and sums from which utilisation is worked out.
"""

import json
import os
import sys
from typing import Any

os.environ.setdefault("DYN_LOG", "error")

if __name__ == "__main__":
    from dynamo import _core  # type: ignore[import-not-found]

_PERCENTS = (50.0, 75.0, 90.0, 95.0, 99.0, 99.9)


class Loss:
    """Takes workers away at one moment; others start at once and are ready after the startup time."""

    def __init__(self, asked: dict[str, Any], prefill: int, decode: int) -> None:
        self.asked, self.full, self.step = asked, {"prefill": prefill, "decode": decode}, 0

    def initial_tick_ms(self) -> float:
        return float(self.asked["at_ms"])

    def on_tick(self, snapshot: dict[str, Any]) -> dict[str, Any]:
        self.step += 1
        # As many new ones: the startup time of the engine is the time without them.
        gone = self.asked["workers"] if self.step == 1 else dict.fromkeys(self.full, 0)
        return {
            "target_prefill": self.full["prefill"] - gone.get("prefill", 0),
            "target_decode": self.full["decode"] - gone.get("decode", 0),
            "next_tick_ms": self.asked["at_ms"] + 1000.0 if self.step == 1 else None,
        }


def run(job: dict[str, Any]) -> dict[str, Any]:
    """One simulation."""
    keys: dict[str, Any] = {
        "replay_mode": "offline",
        "router_mode": "kv_router",
        "trace_block_size": job["trace_block_tokens"],
        "capture_per_request": True,
        "arrival_speedup_ratio": job.get("speedup", 1.0),
    }
    if job.get("concurrency"):
        keys["replay_concurrency"] = job["concurrency"]
    prefill, decode = job.get("prefill_workers", 0), job["workers"]
    if job.get("prefill_engine"):
        keys |= {
            "prefill_engine_args": job["prefill_engine"],
            "decode_engine_args": job["engine"],
            "num_prefill_workers": prefill,
            "num_decode_workers": decode,
        }
    else:
        keys |= {"extra_engine_args": job["engine"], "num_workers": decode}
    if job.get("loss"):
        keys["scaling_policy"] = Loss(job["loss"], prefill, decode)
    found = _core.run_mocker_trace_replay([job["trace"]], **keys)
    requests = found.per_request or []
    if job.get("loss"):
        break_off(requests, job["loss"], {"prefill": prefill, "decode": decode})
    return summed(requests, found.summary, job)


def break_off(requests: list[dict[str, Any]], loss: dict[str, Any], full: dict[str, int]) -> None:
    """Mark what a lost worker was at: the simulator lets it finish, a node that dies does not.

    The workers that go are those of the start that get nothing after the loss; a prompt's prefill worker is needed
    until its cache has been handed over.
    """
    at = loss["at_ms"]
    for pool, gone in loss["workers"].items():
        pools = (pool,) if pool == "prefill" else ("decode", "agg", "aggregated", "worker")
        last = {}
        for r in requests:
            for step in r.get("routing_history") or ():
                if step["pool"] in pools:
                    last[id(r)] = step["logical_worker_id"]
        after = {last[id(r)] for r in requests if id(r) in last and r["arrival_time_ms"] > at}
        quiet = sorted((w for w in range(full[pool]) if w not in after), reverse=True)
        lost = set(quiet[:gone] or range(full[pool] - gone, full[pool]))
        for r in requests:
            if pool == "prefill":
                until = r.get("source_released_ms") or r.get("first_token_ms")
            else:
                until = r.get("terminal_time_ms")
            if last.get(id(r)) in lost and r["arrival_time_ms"] <= at and until is not None and until > at:
                r["broken_off"] = True


def summed(requests: list[dict[str, Any]], summary: dict[str, Any], job: dict[str, Any]) -> dict[str, Any]:
    """What of all requests is kept."""
    done = [r for r in requests if r.get("terminal_status") == "completed" and r.get("ttft_ms") is not None]
    ttft = sorted(r["ttft_ms"] for r in done)
    # A request of one token has no gap between tokens.
    itl = sorted(r["itl_ms"] for r in done if r["output_length"] > 1 and r.get("itl_ms") is not None)
    kept, good = [], [True] * len(done)
    for promise in job.get("promises", ()):
        inside = total = 0
        for number, r in enumerate(done):
            fits = _fits(r, promise)
            if fits is None:
                continue
            fits = fits and not r.get("broken_off")
            total += 1
            inside += fits
            # A median is no bound for a single request.
            if promise["percentile"] >= 90:
                good[number] = good[number] and fits
        # What never ended broke it.
        lost = len(requests) - len(done)
        kept.append({"inside": inside, "of": total + lost})
    tokens = sum(r["output_length"] for r in done)
    return {
        "requests": len(requests),
        "completed": len(done),
        "good": sum(g and not r.get("broken_off") for g, r in zip(good, done, strict=True)),
        "broken_off": sum(bool(r.get("broken_off")) for r in done),
        "duration_ms": summary["duration_ms"],
        "wall_ms": summary["wall_time_ms"],
        "prompt_tokens": sum(r["input_length"] for r in done),
        "output_tokens": tokens,
        "reused_tokens": sum(r.get("reused_input_tokens") or 0 for r in done),
        "ttft_ms": {str(p): _at(ttft, p) for p in _PERCENTS},
        "itl_ms": {str(p): _at(itl, p) for p in _PERCENTS},
        "mean_ttft_ms": sum(ttft) / len(ttft) if ttft else None,
        "mean_itl_ms": sum(itl) / len(itl) if itl else None,
        # By Little's law: how many sequences and how much KV decode held on average.
        "decode_sequence_ms": sum(r["e2e_latency_ms"] - r["ttft_ms"] for r in done),
        "decode_kv_token_ms": sum(
            (r["e2e_latency_ms"] - r["ttft_ms"]) * (r["input_length"] + r["output_length"] / 2) for r in done
        ),
        "promises": kept,
        "prompts": [[r["input_length"], (r.get("reused_input_tokens") or 0)] for r in done]
        if job.get("prompts")
        else [],
    }


def _fits(r: dict[str, Any], promise: dict[str, Any]) -> bool | None:
    """None for a request that the promise does not speak of."""
    bound = promise["at_most_ms"]
    if promise["metric"] == "ttft":
        return bool(r["ttft_ms"] <= bound)
    if promise["metric"] == "itl":
        return bool(r["itl_ms"] <= bound) if r["output_length"] > 1 and r.get("itl_ms") is not None else None
    upto = promise.get("answers_up_to_tokens")
    if upto is not None and r["output_length"] > upto:
        return None
    return bool(r["e2e_latency_ms"] <= bound)


def _at(ordered: list[float], percent: float) -> float | None:
    """Nearest rank."""
    if not ordered:
        return None
    rank = max(1, -(-len(ordered) * percent // 100))
    return ordered[min(len(ordered), int(rank)) - 1]


def main() -> None:
    """Answer until stdin ends."""
    out, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        try:
            answer = run(json.loads(line))
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"[:600]}
        out.write(json.dumps(answer) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
