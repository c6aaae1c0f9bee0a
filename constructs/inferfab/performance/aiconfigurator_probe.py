"""Asks aiconfigurator for one worker's speed. Runs in its own virtual environment: it imports nothing of inferfab.

One JSON question on stdin, one JSON answer on stdout: prefill time over prompt length, and the time of a decode step
over KV tokens in flight and context. Its ``SILICON`` mode composes kernel times that were measured on that GPU,
interpolated between the sizes that were measured. A step whose KV tokens are fewer than one sequence of that context
cannot be asked: the nearest that can is taken, and the point is marked as assumed.
"""

import json
import logging
import sys
import warnings
from typing import Any

MOST_SEQUENCES = 512
"""Of one step: beyond it the surface is held level."""


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    """Points of one worker.

    :param asked: ``model_path``, ``system``, ``tensor``, ``gemm``, ``kv_cache``, ``prompts``, ``kv_tokens``,
        ``contexts``.
    """
    from aiconfigurator.cli import api  # type: ignore[import-not-found]

    common: dict[str, Any] = {
        "model_path": asked["model_path"],
        "system_name": asked["system"],
        "backend_name": "vllm",
        "tp_size": asked["tensor"],
    }
    for key, name in (("gemm", "gemm_quant_mode"), ("kv_cache", "kvcache_quant_mode"), ("moe_tensor", "moe_tp_size")):
        if asked.get(key):
            common[name] = asked[key]
    if asked.get("moe_tensor"):
        common["moe_ep_size"] = asked["tensor"] // asked["moe_tensor"]
    prefill = []
    version = ""
    for prompt in asked["prompts"]:
        found = api.cli_estimate(mode="static_ctx", isl=prompt, osl=1, batch_size=1, **common)
        version = found.backend_version
        prefill.append({"prompt_tokens": prompt, "ttft_ms": round(found.ttft, 3), "how": "interpolated"})
    decode = []
    for tokens in asked["kv_tokens"]:
        for context in asked["contexts"]:
            wanted = round(tokens / context)
            batch = max(1, min(MOST_SEQUENCES, wanted))
            found = api.cli_estimate(mode="static_gen", isl=context, osl=2, batch_size=batch, **common)
            decode.append(
                {
                    "kv_tokens": tokens,
                    "context_tokens": context,
                    "sequences": batch,
                    "itl_ms": round(found.tpot, 4),
                    "how": "interpolated" if batch == wanted else "assumed",
                }
            )
    return {"engine_version": f"{found.backend_name} {version}", "quantization": found.raw, "prefill": prefill,
            "decode": decode}  # fmt: skip


def main() -> None:
    """Answer one question."""
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    asked = json.load(sys.stdin)
    # It prints as it pleases; the answer alone goes to stdout.
    out, sys.stdout = sys.stdout, sys.stderr
    try:
        found = answer(asked)
    except Exception as error:
        found = {"error": f"{type(error).__name__}: {error}"[:600]}
    json.dump(found, out)


if __name__ == "__main__":
    main()
