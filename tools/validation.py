"""Writes docs/validation.md: predictions beside published measurements: `DYNAMO_PYTHON=… python -m tools.validation`.

Points and their sources are in docs/validation/measurements.json. They were collected and marked as core before
anything was predicted (one with ``added`` later), and no figure of ours was changed after it was compared. A minute on
one core.
"""

import json
import random
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from inferfab.catalog.gpus import gpus
from inferfab.environment.served_models import ServedModel
from inferfab.extras import DYNAMO, python_of
from inferfab.performance.find import shipped
from inferfab.performance.profile import PerformanceProfile
from inferfab.plan.fabric import RDMA_EFFICIENCY
from inferfab.plan.kv_transfer import bytes_moved
from inferfab.plan.memory import Parallelism, plan_memory
from inferfab.plan.served import plan_model
from inferfab.record import Record
from inferfab.simulate.engines import worker_engine, write_timing
from inferfab.simulate.simulator import Outcome, Simulator
from inferfab.traffic.draw import BLOCK_TOKENS, write_replay
from inferfab.traffic.rows import Request

ROOT = Path(__file__).resolve().parents[1]
POINTS = ROOT / "docs" / "validation" / "measurements.json"
PAGE = ROOT / "docs" / "validation.md"
MODELS = {
    "Llama-3.1-70B-Instruct": "llama-3.1-70b-instruct", "Llama-3.3-70B-Instruct": "llama-3.1-70b-instruct",
    "Llama-3.1-8B-Instruct": "llama-3.1-8b-instruct", "Llama-3.1-405B-Instruct": "llama-3.1-405b-instruct",
    "Qwen3-235B-A22B": "qwen3-235b-a22b", "Qwen3-8B": "qwen3-8b", "gpt-oss-120b": "gpt-oss-120b",
    "DeepSeek-R1": "deepseek-r1", "DeepSeek-R1-0528": "deepseek-r1",
}  # fmt: skip
"""Catalog id; Llama 3.3 70B has the shape of 3.1."""
GPUS = {"H200": "h200", "H100": "h100", "B200": "b200", "L40S": "l40s"}
PRECISIONS = {"FP8": "fp8", "BF16": "bf16", "MXFP4": "mxfp4", "NVFP4": "nvfp4", "FP4": "nvfp4"}
WEIGHTS = ("NVFP4", "MXFP4", "FP4", "FP8", "BF16")
OFFLINE_REQUESTS, MOST_REQUESTS = 1200, 2000
BATCH = {"offline": 1024, "served": 256}
"""Where the source says none: TensorRT-LLM's benchmark lets many run, vLLM 256."""
METRICS = ("throughput", "time per token", "time to first token")


class Compared(Record):
    """One point: measured and predicted."""

    id: str
    series: str
    what: str
    load: str
    measured: dict[str, float]
    predicted: dict[str, float]
    source: str

    def error(self, metric: str) -> float | None:
        if metric not in self.measured or metric not in self.predicted:
            return None
        return self.predicted[metric] / self.measured[metric] - 1


class NotCompared(Exception):
    """A point that we cannot express; the message says why."""


def worker_of(point: dict[str, Any], tensor: int | None) -> PerformanceProfile:
    """The shipped profile of a point's worker."""
    if point["serving_mode"] != "aggregated" and "prefill_tp" not in point:
        raise NotCompared("prefill and decode apart on a GPU or model without profile")
    model = MODELS.get(point["model"])
    gpu = next((g for name, g in GPUS.items() if point["gpu"].startswith(f"{name}-") or point["gpu"] == name), None)
    if model is None:
        raise NotCompared(f"{point['model']} is not in the catalog, or not the same model")
    if gpu is None:
        raise NotCompared(f"no profile of any model on {point['gpu']}")
    weights = point.get("weight_precision", "")
    quantization = next((PRECISIONS[w] for w in WEIGHTS if w in weights), None)
    for one in shipped():
        worker = one.worker
        if (worker.model, worker.quantization, worker.gpu, worker.tensor) == (
            model,
            quantization,
            gpu,
            tensor,
        ):
            return one
    raise NotCompared(f"no shipped profile of {model} in {quantization} on {tensor} x {gpu}")


def lengths(point: dict[str, Any]) -> tuple[int, int]:
    prompt = point.get("isl_tokens_mean") or point.get("isl_tokens_nominal")
    out = point.get("osl_tokens_mean") or point.get("osl_tokens_nominal")
    if point["series"].startswith("llm-d-p2p"):
        out = 2
    if not prompt or not out:
        raise NotCompared("prompt or answer lengths are not in the source")
    return round(prompt), round(out)


def measured(point: dict[str, Any]) -> dict[str, float]:
    """What can be compared of a point."""
    found = {}
    if point.get("output_tokens_per_s_per_gpu"):
        found["throughput"] = point["output_tokens_per_s_per_gpu"]
    step = point.get("tpot_ms_mean") or point.get("tpot_ms_p50") or point.get("itl_ms_mean")
    if step:
        found["time per token"] = step
    first = point.get("ttft_ms_p50") or point.get("ttft_ms_mean")
    # With a cache that the source does not describe, it is no prefill time.
    if first and not point.get("prefix_caching"):
        found["time to first token"] = first
    if not found:
        raise NotCompared("nothing of it is a figure that we predict")
    return found


def requests_of(point: dict[str, Any], prompt: int, out: int) -> tuple[list[Request], int | None]:
    """Requests and, in a closed loop, how many are in flight."""
    count = int(point.get("num_requests") or 1000)
    shared: tuple[int, ...] = ()
    if point.get("prefix_caching"):
        # The prompts are replayed, or begin with one system prompt: all but the last tokens are in the cache.
        shared = tuple(range(10_000_000, 10_000_000 + max(0, prompt - 500) // BLOCK_TOKENS))
    unique = 0

    def one(at: float) -> Request:
        nonlocal unique
        own = -(-prompt // BLOCK_TOKENS) - len(shared)
        blocks = (*shared, *range(unique, unique + own))
        unique += own
        return Request(at_s=at, prompt_tokens=prompt, output_tokens=out, blocks=blocks)

    if point["load_type"].startswith("offline"):
        return [one(0.0) for _ in range(OFFLINE_REQUESTS)], OFFLINE_REQUESTS
    if point.get("request_rate_offered_rps"):
        generator, at, found = random.Random(1), 0.0, []
        for _ in range(max(300, min(MOST_REQUESTS, count))):
            rate = point["request_rate_offered_rps"]
            at += 1 / rate if "constant" in point["load_type"] else generator.expovariate(rate)
            found.append(one(at))
        return found, None
    flight = int(point.get("concurrency") or 1)
    return [one(0.0) for _ in range(max(20, min(MOST_REQUESTS, count, 6 * flight)))], flight


def predict(simulator: Simulator, point: dict[str, Any], profile: PerformanceProfile, folder: Path) -> dict[str, float]:
    prompt, out = lengths(point)
    worker = profile.worker
    model = plan_model(
        "m",
        ServedModel(catalog=worker.model, revision="0" * 40, context_tokens=max(prompt + out + 64, 4096),
              quantization=worker.quantization, kv_cache_dtype=worker.kv_precision),
    )  # fmt: skip
    offline = point["load_type"].startswith("offline")
    batch = int(point.get("max_batch_size") or BATCH["offline" if offline else "served"])
    tokens = int(point.get("max_num_batched_tokens") or 8192)
    apart = "prefill_tp" in point
    moved: dict[str, Any] = {}
    if apart:
        # One transfer goes over the NICs of the smaller side, at the efficiency that plans have.
        narrow = min(point["prefill_tp"], worker.tensor)
        moved = {
            "transfer_bytes_per_token": round(
                bytes_moved(model.shape, model.kv_precision, prompt, worker.tensor) / prompt
            ),
            "transfer_gigabytes_per_second": point["nic_gbps_per_gpu"] * narrow * RDMA_EFFICIENCY / 8,
        }

    def engine(kind: str, one: PerformanceProfile) -> dict[str, Any]:
        memory = plan_memory(
            model, gpus()[worker.gpu], Parallelism(tensor=one.worker.tensor), gpu_memory_utilization=0.9,
            batched_tokens=tokens, sequences=batch, stated_overhead_bytes=None,
        )  # fmt: skip
        timing = folder / f"{kind}.npz"
        write_timing(one, timing)
        return worker_engine(
            kind=kind, block_tokens=16, kv_tokens=memory.kv_capacity_tokens, max_sequences=batch,
            max_batched_tokens=tokens, prefix_caching=bool(point.get("prefix_caching")), timing=timing, **moved,
        )  # fmt: skip

    requests, flight = requests_of(point, prompt, out)
    trace = folder / "trace.jsonl"
    write_replay(requests, trace)
    replicas = int(point.get("replicas") or 1)
    job = {
        "trace": str(trace),
        "trace_block_tokens": BLOCK_TOKENS,
        "workers": replicas,
        "engine": engine("decode" if apart else "aggregated", profile),
        **({"concurrency": flight} if flight else {}),
    }
    gpus_used = replicas * worker.tensor
    if apart:
        job["prefill_engine"] = engine("prefill", worker_of(point, point["prefill_tp"]))
        job["prefill_workers"] = point["prefill_replicas"]
        gpus_used += point["prefill_replicas"] * point["prefill_tp"]
    outcome: Outcome = simulator.run(job)
    found = {"throughput": outcome.output_tokens / outcome.duration_ms * 1000 / gpus_used}
    first, step = outcome.ttft_ms["50.0"], outcome.mean_itl_ms
    return found | ({"time to first token": first} if first else {}) | ({"time per token": step} if step else {})


def compared(points: list[dict[str, Any]]) -> tuple[list[Compared], list[tuple[dict[str, Any], str]]]:
    found, left = [], []
    with tempfile.TemporaryDirectory() as scratch, Simulator(python_of(DYNAMO)) as simulator:
        for point in points:
            try:
                seen, (_, _), profile = measured(point), lengths(point), worker_of(point, point.get("tp"))
                predicted = predict(simulator, point, profile, Path(scratch))
            except NotCompared as why:
                left.append((point, str(why)))
                continue
            prompt, out = lengths(point)
            load = (
                "offline" if point["load_type"].startswith("offline")
                else f"{point['request_rate_offered_rps']:g}/s" if point.get("request_rate_offered_rps")
                else f"{point.get('concurrency', 1)} at once"
            )  # fmt: skip
            found.append(
                Compared(
                    id=point["id"], series=point["series"],
                    what=f"{point['model']}, {_topology(point)} {point['gpu']}, {point['engine']}, "
                    f"{prompt}/{out}",
                    load=load, measured=seen, predicted=predicted,
                    source=point.get("source_url") or point["source_repo"],
                )
            )  # fmt: skip
    return found, left


def _topology(point: dict[str, Any]) -> str:
    decode = f"{point['replicas']} × TP{point['tp']}"
    return f"{point['prefill_replicas']} × TP{point['prefill_tp']} + {decode}" if "prefill_tp" in point else decode


def page(found: list[Compared], left: list[tuple[dict[str, Any], str]]) -> str:
    text = (ROOT / "tools" / "validation_head.md").read_text(encoding="utf-8").format(
        count=len(found), left=len(left), total=len(found) + len(left), summary="\n".join(_summary(found))
    )  # fmt: skip
    lines = [
        text,
        "## Every point",
        "",
        "| point | what | load | " + " | ".join(METRICS) + " |",
        "|---|---|---|---|---|---|",
    ]
    for one in found:
        cells = [_cell(one, metric) for metric in METRICS]
        lines.append(f"| [{one.id}]({one.source}) | {one.what} | {one.load} | {' | '.join(cells)} |")
    lines += [
        "",
        "Cells: predicted / measured, error. Throughput: output tokens a second and GPU; times: milliseconds.",
        "",
    ]
    lines += ["## Core points that are not compared", "", "| points | why |", "|---|---|"]
    grouped: dict[tuple[str, str], int] = {}
    for point, why in left:
        grouped[point["series"], why] = grouped.get((point["series"], why), 0) + 1
    lines += [f"| {count} of {series} | {why} |" for (series, why), count in grouped.items()]
    return "\n".join(lines) + "\n"


def _summary(found: list[Compared]) -> Iterator[str]:
    yield "| series | points | " + " | ".join(METRICS) + " |"
    yield "|---|---|---|---|---|"
    for series in (*dict.fromkeys(c.series for c in found), None):
        part = [c for c in found if series in (None, c.series)]
        cells = []
        for metric in METRICS:
            errors = [e for c in part if (e := c.error(metric)) is not None]
            shown = (
                f"{statistics.median(errors):+.0%} ({min(errors):+.0%} to {max(errors):+.0%}), "
                f"{statistics.median(abs(e) for e in errors):.0%}"
            ) if errors else "-"  # fmt: skip
            cells.append(shown)
        yield f"| {series or '**all**'} | {len(part)} | {' | '.join(cells)} |"


def _cell(one: Compared, metric: str) -> str:
    error = one.error(metric)
    return "-" if error is None else f"{one.predicted[metric]:,.4g} / {one.measured[metric]:,.4g}, {error:+.0%}"


def main() -> None:
    """Write the page."""
    points = json.loads(POINTS.read_text(encoding="utf-8"))["points"]
    found, left = compared(points)
    PAGE.write_text(page(found, left), encoding="utf-8")
    print("\n".join(_summary(found)))


if __name__ == "__main__":
    main()
