"""A team's own measurements as a profile: AIPerf, guidellm, Dynamo's profiler.

Load tools measure whole requests under a load. A run of one request at a time gives a prefill point; every run gives a
decode point at (requests in flight x tokens of one, tokens of one). Between them the step is a line over KV tokens, as
memory traffic makes it: points on it within the measured range are interpolated, those beyond assumed.
"""

import json
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from inferfab.catalog.facts import Provenance
from inferfab.input_files import MOST_PLAN_BYTES, read_text
from inferfab.performance.npz import BadArchive, read_npz
from inferfab.performance.profile import DecodePoint, How, PerformanceProfile, PrefillPoint, Worker
from inferfab.performance.roofline import CONTEXTS, KV_TOKENS


class Unimportable(Exception):
    """A file is not what a known tool writes; the message says why."""


class Run(NamedTuple):
    """One run of a load tool."""

    prompt_tokens: float
    output_tokens: float
    in_flight: float
    ttft_ms: float
    itl_ms: float


def import_profile(paths: Sequence[Path], worker: Worker, *, engine: str, as_of: date) -> PerformanceProfile:
    """One profile from the results of one tool.

    :param engine: name and version, ``vllm 0.31.0``.
    :param as_of: day of the measurement.
    :raises Unimportable: if a file is no such result, or all together say too little.
    """
    if all(path.suffix == ".npz" for path in paths):
        prefill, decode = _profiler(paths)
        tool = "Dynamo profiler"
    else:
        runs = [run for path in paths for run in _runs(path)]
        prefill, decode = _from_runs(runs)
        tool = "load tool (AIPerf or guidellm)"
    return PerformanceProfile(
        provenance=Provenance(
            source=f"{tool}: {', '.join(path.name for path in paths)}", retrieved=as_of, note="imported measurement"
        ),
        worker=worker,
        engine_version=engine,
        basis="measured",
        prefill=tuple(prefill),
        decode=tuple(decode),
    )


def _runs(path: Path) -> list[Run]:
    try:
        raw = json.loads(read_text(path, MOST_PLAN_BYTES))
    except (OSError, ValueError, RecursionError) as error:
        raise Unimportable(f"{path}: {getattr(error, 'strerror', None) or 'not JSON'}") from error
    try:
        if isinstance(raw, dict) and "benchmarks" in raw:
            runs = [_guidellm(one["metrics"]) for one in raw["benchmarks"] if _answered(one["metrics"])]
            if not runs:
                raise Unimportable(f"{path}: no request of any of its benchmarks succeeded")
            return runs
        if isinstance(raw, dict) and "time_to_first_token" in raw:
            return [_aiperf(raw)]
        if isinstance(raw, dict) and isinstance(raw.get("records"), dict) and "time_to_first_token" in raw["records"]:
            return [_aiperf({**raw, **raw["records"]})]
    except (KeyError, TypeError, ValueError) as error:
        raise Unimportable(f"{path}: without {error}, which AIPerf and guidellm write") from error
    raise Unimportable(
        f"{path} is neither a result of AIPerf (profile_export_aiperf.json) nor of guidellm (benchmarks.json)"
    )


def _aiperf(raw: dict[str, Any]) -> Run:
    """``profile_export_aiperf.json``: a metric is an object with ``avg`` and percentiles."""

    def metric(name: str, key: str = "avg") -> float:
        return float(raw[name][key])

    stated = _concurrency(raw.get("input_config") or {})
    latency, rate = metric("request_latency"), metric("request_throughput")
    return Run(
        prompt_tokens=metric("input_sequence_length"),
        output_tokens=metric("output_sequence_length"),
        # Little's law where no concurrency was set.
        in_flight=float(stated) if stated else latency / 1000 * rate,
        ttft_ms=metric("time_to_first_token", "p50"),
        itl_ms=metric("inter_token_latency"),
    )


def _concurrency(config: dict[str, Any]) -> float | None:
    """Of the measured phase, where the load was a number of requests in flight; a rate says nothing of that.

    AIPerf 0.10 writes phases, of which those of warming up are excluded; earlier ones write ``loadgen``.
    """
    measured = [p for p in config.get("phases") or () if not p.get("exclude_from_results")]
    if measured:
        return measured[0].get("concurrency") if measured[0].get("type") == "concurrency" else None
    return (config.get("loadgen") or {}).get("concurrency") or config.get("concurrency")


def _answered(metrics: dict[str, Any]) -> bool:
    """A benchmark whose requests all failed has zeros for times."""
    return bool(metrics["time_to_first_token_ms"]["successful"].get("count", 1))


def _guidellm(metrics: dict[str, Any]) -> Run:
    """``benchmarks[].metrics``: a metric is an object by outcome, each with mean, median and percentiles."""

    def metric(name: str, key: str = "mean") -> float:
        return float(metrics[name]["successful"][key])

    return Run(
        prompt_tokens=metric("prompt_token_count"),
        output_tokens=metric("output_token_count"),
        in_flight=metric("request_concurrency"),
        ttft_ms=metric("time_to_first_token_ms", "median"),
        itl_ms=metric("inter_token_latency_ms"),
    )


def _from_runs(runs: list[Run]) -> tuple[list[PrefillPoint], list[DecodePoint]]:
    alone = sorted({round(r.prompt_tokens): r.ttft_ms for r in runs if r.in_flight < 1.5}.items())
    if len(alone) < 2:
        raise Unimportable("prefill needs runs of one request at a time (concurrency 1) at two prompt lengths at least")
    steps = [(r.in_flight * (r.prompt_tokens + r.output_tokens / 2), r.itl_ms) for r in runs]
    if len({round(kv) for kv, _ in steps}) < 2:
        raise Unimportable("decode needs runs at two loads at least")
    prefill = [PrefillPoint(prompt_tokens=p, ttft_ms=t, how="measured") for p, t in alone]
    base, slope = _fitted(steps)
    low, high = min(kv for kv, _ in steps), max(kv for kv, _ in steps)
    floor = min(itl for _, itl in steps)

    def origin(kv: int) -> How:
        if any(abs(kv - at) / at < 0.05 for at, _ in steps):
            return "measured"
        return "interpolated" if low <= kv <= high else "assumed"

    sizes = sorted({*KV_TOKENS, *(max(1, round(kv)) for kv, _ in steps)})
    decode = [
        DecodePoint(kv_tokens=kv, context_tokens=c, itl_ms=max(floor / 2, base + slope * kv), how=origin(kv))
        for kv in sizes
        for c in CONTEXTS
    ]
    return prefill, decode


def _fitted(points: list[tuple[float, float]]) -> tuple[float, float]:
    """Least squares: value at 0 and slope, which is never below 0."""
    count = len(points)
    mean_x, mean_y = sum(x for x, _ in points) / count, sum(y for _, y in points) / count
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    slope = max(0.0, sum((x - mean_x) * (y - mean_y) for x, y in points) / spread)
    return mean_y - slope * mean_x, slope


def _profiler(paths: Sequence[Path]) -> tuple[list[PrefillPoint], list[DecodePoint]]:
    """``selected_prefill_interpolation/raw_data.npz`` and the same of decode, or one file with the simulator's keys."""
    arrays: dict[str, list[float]] = {}
    for path in paths:
        try:
            arrays |= read_npz(path)
        except BadArchive as error:
            raise Unimportable(str(error)) from error
    ttft = arrays.get("prefill_ttft") or arrays.get("prefill_ttft_ms")
    if not arrays.get("prefill_isl") or not ttft or len(ttft) != len(arrays["prefill_isl"]):
        raise Unimportable("the profiler's prefill_isl and prefill_ttft are missing, or not as long as each other")
    prefill = [
        PrefillPoint(prompt_tokens=round(p), ttft_ms=t, how="measured")
        for p, t in sorted(zip(arrays["prefill_isl"], ttft, strict=True))
    ]
    if {"decode_active_kv_tokens", "decode_context_length", "decode_itl"} <= set(arrays):
        kv, contexts, itl = (arrays[f"decode_{n}"] for n in ("active_kv_tokens", "context_length", "itl"))
        if len(itl) != len(kv) * len(contexts):
            raise Unimportable("decode_itl is not as large as its axes")
        at = [(k, c, itl[i * len(contexts) + j]) for i, k in enumerate(kv) for j, c in enumerate(contexts)]
    elif {"x_kv_usage", "y_context_length", "z_itl", "max_kv_tokens"} <= set(arrays):
        most = arrays["max_kv_tokens"][0]
        at = [
            (x * most, y, z)
            for x, y, z in zip(arrays["x_kv_usage"], arrays["y_context_length"], arrays["z_itl"], strict=True)
        ]
    else:
        raise Unimportable("the profiler's x_kv_usage, y_context_length, z_itl and max_kv_tokens are missing")
    return prefill, _gridded(at)


def _gridded(points: list[tuple[float, float, float]]) -> list[DecodePoint]:
    """A whole grid: what was not measured takes the value of the nearest that was."""
    kv = sorted({max(1, round(k)) for k, _, _ in points})
    contexts = sorted({max(1, round(c)) for _, c, _ in points})
    at = {(max(1, round(k)), max(1, round(c))): itl for k, c, itl in points}
    found = []
    for k in kv:
        for c in contexts:
            exact = at.get((k, c))
            near = min(at, key=lambda p, k=k, c=c: abs(p[0] - k) / k + abs(p[1] - c) / c)  # type: ignore[misc]
            value = exact if exact is not None else at[near]
            found.append(
                DecodePoint(
                    kv_tokens=k, context_tokens=c, itl_ms=value, how="measured" if exact is not None else "assumed"
                )
            )
    return found
