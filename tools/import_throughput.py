"""Turns collected serving measurements into the catalog's ``throughput.json``.

Run by hand when the collection changes; the same source gives the same bytes::

    python tools/import_throughput.py MEASUREMENTS.json constructs/inferfab/catalog/data/throughput.json

A point is taken only if nothing about it has to be guessed: model and GPU are in the catalog, the engine is
vLLM, Dynamo or TensorRT-LLM, both lengths are stated, nothing was speculated, and the figure is output
tokens of the whole deployment. Of equal configurations the fastest point stays, beside the points that the
collection marks as core.
"""

import argparse
import json
import re
from pathlib import Path
from typing import Any

Point = dict[str, Any]

MODELS = {
    "Llama-3.1-8B-Instruct": "llama-3.1-8b-instruct",
    "Llama-3.1-70B-Instruct": "llama-3.1-70b-instruct",
    "Llama-3.3-70B-Instruct": "llama-3.3-70b-instruct",
    "Llama-3.1-405B-Instruct": "llama-3.1-405b-instruct",
    "Qwen3-8B": "qwen3-8b",
    "Qwen3-32B": "qwen3-32b",
    "Qwen3-235B-A22B": "qwen3-235b-a22b",
    "Qwen3-235B-A22B-Instruct-2507": "qwen3-235b-a22b",
    "DeepSeek-R1": "deepseek-r1",
    "DeepSeek-R1-0528": "deepseek-r1",
    "gpt-oss-120b": "gpt-oss-120b",
}
"""Later releases of a model with the same shape count as that model; Llama 2 is not in the catalog."""

GPUS = ("b200", "gb200", "h100", "h200", "l40s")
"""First word of the collection's GPU name, in lower case. The A100 needs its memory size as well."""

QUANTIZATIONS = {"BF16": "bf16", "FP8": "fp8", "FP4": "nvfp4", "NVFP4": "nvfp4", "MXFP4": "mxfp4"}
"""Plain FP4 is NVFP4: those rows run NVIDIA's ModelOpt checkpoints on Blackwell."""

ENGINES = ("vLLM", "Dynamo", "TensorRT-LLM")

NOT_STEADY = ("llm-d-gptoss-16xh100-ladder",)
"""Series whose stages include their drain, so that their tokens a second are no steady throughput."""

OFFLINE_LENGTHS = ((1000, 1000), (5000, 500), (20000, 2000))
"""Of the offline grid: balanced, prompt-heavy and long requests. The rest lies between them."""

SHORTEST_OUTPUT = 120
"""Runs with fewer output tokens a request mostly measure prefill."""

ESTIMATE_SOURCE = (
    "own run of PyPI aiconfigurator 0.12.0: cli default, nvidia/Llama-3.1-70B-Instruct-FP8, h200_sxm,"
    " 32 GPUs, 4000/500 tokens, TTFT at most 800 ms, TPOT at most 30 ms"
)
ESTIMATES: tuple[tuple[str, int, float, str], ...] = (
    ("aggregated", 4, 349.9, "8 replicas of TP4, batch 40"),
    ("disaggregated", 2, 446.8, "11 prefill TP2 and 5 decode TP2 workers, decode batch 92"),
)


def gpu_id(point: Point) -> str | None:
    """The catalog's id of the point's GPU, or none if we cannot tell or do not have it."""
    name = point.get("gpu", "").lower().split("-")[0]
    if name == "a100":
        return "a100-80gb" if "A100 SXM 80GB" in point.get("notes", "") else None
    return name if name in GPUS else None


def engine_label(point: Point) -> str | None:
    """Engine and version; the collection's remarks behind the version are dropped."""
    name = next((e for e in ENGINES if point.get("engine", "").startswith(e)), None)
    if name is None:
        return None
    version = re.match(r"(commit )?[0-9a-z.]+", point.get("engine_version") or "")
    return f"{name} {version[0]}" if version else f"{name} (version not stated)"


def load_text(point: Point) -> str:
    kind = point["load_type"].split(":")[0].split(" ")[0]
    if kind == "offline":
        text = "offline, all requests queued at once"
    elif kind == "burst":
        text = f"burst of {point['num_requests']} requests at once, averaged until drained"
    elif kind == "open-loop":
        text = f"Poisson at {point['request_rate_offered_rps']:g} requests/s"
    elif kind == "closed-loop":
        text = f"closed loop at concurrency {point['concurrency']}"
    else:
        raise SystemExit(f"{point['id']}: unknown load {point['load_type']!r}")
    if point.get("attention_dp"):
        text += "; attention data-parallel"
    if point.get("prefix_caching"):
        text += "; prefix caching on and prompts share prefixes, so the prompt costs less than its length"
    return text


def is_clear(point: Point) -> bool:
    """The figure is output tokens a second over all GPUs, and agrees with the point's other figures."""
    total, per_gpu = point.get("output_tokens_per_s_total"), point.get("output_tokens_per_s_per_gpu")
    if not total or not per_gpu or not point.get("gpu_count"):
        return False
    if not point.get("per_gpu_basis", "").startswith("derived: total / gpu_count"):
        return False
    if abs(total / point["gpu_count"] / per_gpu - 1) > 0.01:
        return False
    both = point.get("total_tokens_per_s")
    prompt, output = point.get("isl_tokens_mean"), point.get("osl_tokens_mean")
    if both and prompt and output:
        return bool(abs(total * (prompt + output) / output / both - 1) <= 0.03)
    return True


def row(point: Point) -> dict[str, Any] | None:
    """The catalog's record of one point, or none if the point is not for us."""
    model, gpu, engine = MODELS.get(point.get("model", "")), gpu_id(point), engine_label(point)
    prompt = point.get("isl_tokens_mean") or point.get("isl_tokens_nominal")
    output = point.get("osl_tokens_mean") or point.get("osl_tokens_nominal")
    if not (model and gpu and engine and prompt and output) or point["trust"] not in ("A", "B"):
        return None
    if point.get("spec_decode") or point["series"] in NOT_STEADY or output < SHORTEST_OUTPUT:
        return None
    if point.get("serving_mode") not in ("aggregated", "disaggregated") or not is_clear(point):
        return None
    if point["load_type"].startswith("offline") and (prompt, output) not in OFFLINE_LENGTHS:
        return None
    if not re.fullmatch(r"\d+ x TP\d+( EP\d+ attention-DP)?", point["topology"]):
        return None  # Pipeline and plain expert parallelism do not show in the record.
    quantization = QUANTIZATIONS.get(point["weight_precision"].split(" ")[0])
    if quantization is None:
        return None
    return {
        "model": model,
        "gpu": gpu,
        "quantization": quantization,
        "engine": engine,
        "topology": point["serving_mode"],
        "tensor_parallel": point["tp"],
        "prompt_tokens": round(prompt),
        "output_tokens": round(output),
        "output_tokens_per_second_per_gpu": round(point["output_tokens_per_s_per_gpu"], 1),
        "load": load_text(point),
        "trust": point["trust"],
        "source": (
            f"{point['source_repo']} {point['source_path'].split(' ;')[0]} at {point['source_commit'][:12]},"
            f" checkpoint {point['checkpoint']}"
        ),
    }


def two_digits(tokens: int) -> float:
    """Lengths that differ by less than the second digit are one configuration."""
    return float(f"{tokens:.1e}")


def rows(points: list[Point]) -> list[dict[str, Any]]:
    """Core points and the fastest of each configuration, in the order of the collection."""
    usable = [(p, r) for p in points if (r := row(p)) is not None]
    fastest: dict[tuple[Any, ...], tuple[float, int]] = {}
    for index, (point, r) in enumerate(usable):
        key = (
            *(r[k] for k in ("model", "gpu", "quantization", "engine", "topology", "tensor_parallel")),
            point["gpu_count"],
            two_digits(r["prompt_tokens"]),
            point["load_type"].split(" ")[0],
        )
        speed = r["output_tokens_per_second_per_gpu"]
        if key not in fastest or speed > fastest[key][0]:
            fastest[key] = (speed, index)
    keep = {index for _, index in fastest.values()}
    chosen: list[dict[str, Any]] = []
    for index, (point, r) in enumerate(usable):
        if (index in keep or point["core"]) and r not in chosen:
            chosen.append(r)
    return chosen


def estimates() -> list[dict[str, Any]]:
    """What a published simulator says for the project's reference case."""
    return [
        {
            "model": "llama-3.1-70b-instruct",
            "gpu": "h200",
            "quantization": "fp8",
            "engine": "aiconfigurator 0.12.0 estimate (vLLM 0.24.0)",
            "topology": topology,
            "tensor_parallel": tensor_parallel,
            "prompt_tokens": 4000,
            "output_tokens": 500,
            "output_tokens_per_second_per_gpu": speed,
            "load": f"simulated, not measured: steady state without queueing, 32 GPUs, {shape}",
            "trust": "B",
            "source": ESTIMATE_SOURCE,
        }
        for topology, tensor_parallel, speed, shape in ESTIMATES
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("source", type=Path, help="collected measurements, a JSON list of points")
    parser.add_argument("output", type=Path, help="the throughput.json to write")
    parser.add_argument("--retrieved", default="2026-11-30", help="day on which the points were collected")
    arguments = parser.parse_args()
    measured = rows(json.loads(arguments.source.read_text(encoding="utf-8")))
    document = {
        "provenance": {
            "source": "published benchmark results, named row by row; selected by tools/import_throughput.py",
            "retrieved": arguments.retrieved,
            "note": (
                "Offline and burst figures are upper bounds that no served load reaches. Rows of one model"
                " with different loads, lengths or prefix caching do not compare with each other."
            ),
        },
        "measurements": measured + estimates(),
        "cost_bands": [
            {
                "model": "llama-3.1-70b-instruct",
                "gpu": "b200",
                "usd_per_million_tokens_low": 0.15,
                "usd_per_million_tokens_high": 0.30,
                "source": "project mission (issue 2)",
            }
        ],
    }
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    arguments.output.write_text(text, encoding="utf-8")
    print(f"{len(document['measurements'])} measurements written to {arguments.output.name}")


if __name__ == "__main__":
    main()
