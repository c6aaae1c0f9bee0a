"""Renews the shipped performance profiles: `AICONFIGURATOR_PYTHON=… python -m tools.shipped_profiles [NAME…]`.

About 35 s a profile, on one core. Each is written when it is done: a broken run is begun anew with the names that lack.
"""

import json
import sys
from datetime import UTC, datetime

from inferfab.performance.find import FOLDER
from inferfab.performance.make import file_name, make_profile
from inferfab.performance.profile import PerformanceProfile, Worker

# (model, weights, KV cache, GPU, tensor parallelism): those of `environments/`, then those that sizing may choose
# instead, then those that published measurements are held against (docs/validation.md).
SHIPPED = (
    *(("llama-3.1-70b-instruct", "fp8", "fp8", "h200", tp) for tp in (1, 2, 4, 8)),
    *(("qwen3-32b", "fp8", "fp8", "h200", tp) for tp in (1, 2, 4)),
    ("llama-3.1-8b-instruct", "fp8", "fp8", "l40s", 1),
    ("qwen3-8b", "fp8", "fp8", "l40s", 1),
    *(("llama-3.1-70b-instruct", "fp8", "fp8", "h100", tp) for tp in (2, 4)),
    ("qwen3-8b", "bf16", "bf16", "h100", 1),
    ("qwen3-8b", "fp8", "bf16", "h100", 1),
    ("llama-3.1-8b-instruct", "fp8", "fp8", "h100", 1),
    ("llama-3.1-8b-instruct", "fp8", "fp8", "h200", 1),
    ("llama-3.1-8b-instruct", "bf16", "bf16", "h100", 1),
    *(("gpt-oss-120b", "mxfp4", "bf16", gpu, tp) for gpu, tp in (("h100", 1), ("h100", 2), ("h200", 1), ("b200", 8))),
    *(("qwen3-235b-a22b", "fp8", "fp8", gpu, 8) for gpu in ("h200", "h100")),
    *(("llama-3.1-405b-instruct", "fp8", "fp8", gpu, 8) for gpu in ("h200", "h100")),
    *(("deepseek-r1", "fp8", "fp8", gpu, 8) for gpu in ("b200", "h200")),
    ("llama-3.1-70b-instruct", "fp8", "fp8", "b200", 1),
)


def compact(profile: PerformanceProfile) -> str:
    """JSON with a point a line."""
    body = profile.model_dump(mode="json")
    points = {name: body.pop(name) for name in ("prefill", "decode")}
    head = json.dumps(body, indent=1)[:-2]
    parts = [
        f' "{name}": [\n' + ",\n".join(f"  {json.dumps(p)}" for p in rows) + "\n ]" for name, rows in points.items()
    ]
    return head + ",\n" + ",\n".join(parts) + "\n}\n"


def main() -> None:
    """Renew all, or those whose file names are given."""
    today = datetime.now(UTC).date()
    for model, quantization, kv, gpu, tensor in SHIPPED:
        worker = Worker(model=model, quantization=quantization, kv_precision=kv, gpu=gpu, tensor=tensor)
        name = file_name(worker)
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        (FOLDER / name).write_text(compact(make_profile(worker, today)), encoding="utf-8")
        print(name, flush=True)


if __name__ == "__main__":
    main()
