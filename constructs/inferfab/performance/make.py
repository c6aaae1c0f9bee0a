"""Profiles from aiconfigurator, which answers in its own virtual environment."""

import json
import subprocess
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from inferfab.catalog.facts import Provenance
from inferfab.extras import AICONFIGURATOR, python_of
from inferfab.performance.profile import DecodePoint, PerformanceProfile, PrefillPoint, Worker
from inferfab.performance.roofline import CONTEXTS, KV_TOKENS, PROMPTS

PROBE = Path(__file__).parent / "aiconfigurator_probe.py"
VERSION = "0.12.0"
SYSTEMS = {"h100": "h100_sxm", "h200": "h200_sxm", "b200": "b200_sxm", "b300": "b300_sxm", "l40s": "l40s", "l4": "l4",
           "a100": "a100_sxm", "gb200": "gb200"}  # fmt: skip
"""Its names of our GPUs."""
CHECKPOINTS = {
    ("llama-3.1-70b-instruct", "fp8"): ("nvidia/Llama-3.1-70B-Instruct-FP8", None),
    ("llama-3.1-8b-instruct", "fp8"): ("meta-llama/Meta-Llama-3.1-8B", "fp8"),
    ("llama-3.1-8b-instruct", "bf16"): ("meta-llama/Meta-Llama-3.1-8B", None),
    ("llama-3.1-405b-instruct", "fp8"): ("meta-llama/Meta-Llama-3.1-405B", "fp8"),
    ("qwen3-32b", "fp8"): ("Qwen/Qwen3-32B-FP8", None),
    ("qwen3-8b", "fp8"): ("Qwen/Qwen3-8B", "fp8"),
    ("qwen3-8b", "bf16"): ("Qwen/Qwen3-8B", None),
    ("qwen3-235b-a22b", "fp8"): ("Qwen/Qwen3-235B-A22B-FP8", None),
    ("gpt-oss-120b", "mxfp4"): ("openai/gpt-oss-120b", None),
    ("deepseek-r1", "fp8"): ("deepseek-ai/DeepSeek-R1", None),
}
"""Its name of a checkpoint, and the arithmetic to ask for where that name is of a 16-bit one."""
_EXPERTS = ("gpt-oss-120b", "qwen3-235b-a22b", "deepseek-r1")
_WHOLE_EXPERTS = ("qwen3-235b-a22b",)
"""Experts whole on their GPUs: 1,536 columns over 8 GPUs do not split along the blocks of 128 of its FP8 checkpoint."""
_KV = {"fp8": "fp8", "bf16": "bfloat16"}


class CannotMake(Exception):
    """aiconfigurator has no answer; the message says why."""


def make_profile(worker: Worker, as_of: date) -> PerformanceProfile:
    """Ask for one worker; a minute or less.

    :param as_of: the day that the profile is dated.
    :raises CannotMake: if it knows no such model, GPU or combination.
    :raises ExtraMissing: if it is not here.
    """
    question = question_of(worker, PROMPTS, KV_TOKENS, CONTEXTS)
    run = subprocess.run(
        [python_of(AICONFIGURATOR), str(PROBE)], input=json.dumps(question), capture_output=True, text=True, check=False
    )
    try:
        answer = json.loads(run.stdout)
    except ValueError:
        answer = {"error": run.stderr.strip()[-400:] or f"it ended with exit code {run.returncode} without a word"}
    if "error" in answer:
        raise CannotMake(f"aiconfigurator has no answer for {worker}: {answer['error']}")
    return profile_from(worker, answer, as_of)


def question_of(
    worker: Worker, prompts: Sequence[int], kv_tokens: Sequence[int], contexts: Sequence[int]
) -> dict[str, Any]:
    """What the probe is asked.

    :raises CannotMake: if the model or GPU has no name there.
    """
    if (worker.model, worker.quantization) not in CHECKPOINTS or worker.gpu not in SYSTEMS:
        raise CannotMake(
            f"no name in aiconfigurator is known for {worker.model} in {worker.quantization} on {worker.gpu}"
        )
    path, gemm = CHECKPOINTS[worker.model, worker.quantization]
    return {
        "model_path": path,
        "system": SYSTEMS[worker.gpu],
        "tensor": worker.tensor,
        "gemm": gemm,
        # The checkpoint's own where it has experts of four bits.
        "kv_cache": None if worker.quantization == "mxfp4" else _KV.get(worker.kv_precision),
        "moe_tensor": _moe_tensor(worker),
        "prompts": list(prompts),
        "kv_tokens": list(kv_tokens),
        "contexts": list(contexts),
    }


def _moe_tensor(worker: Worker) -> int | None:
    if worker.model in _WHOLE_EXPERTS:
        return 1
    return worker.tensor if worker.model in _EXPERTS else None


def profile_from(worker: Worker, answer: dict[str, Any], as_of: date) -> PerformanceProfile:
    """A profile of the probe's answer."""
    path, _ = CHECKPOINTS[worker.model, worker.quantization]
    raw = answer["quantization"]
    return PerformanceProfile(
        provenance=Provenance(
            source=f"aiconfigurator {VERSION} (Apache-2.0), {path} on {SYSTEMS[worker.gpu]}, its data of "
            f"{answer['engine_version']}",
            retrieved=as_of,
            note=f"database mode SILICON; gemm {raw['gemm']}, KV {raw['kvcache']}, attention {raw['fmha']}; prefill in "
            "batches of 1; single steps, no queueing",
        ),
        worker=worker,
        engine_version=answer["engine_version"],
        basis="aiconfigurator",
        prefill=tuple(PrefillPoint(**p) for p in answer["prefill"]),
        decode=tuple(
            DecodePoint(kv_tokens=p["kv_tokens"], context_tokens=p["context_tokens"], itl_ms=p["itl_ms"], how=p["how"])
            for p in answer["decode"]
        ),
    )


def file_name(worker: Worker) -> str:
    return f"{worker.model}_{worker.quantization}_kv-{worker.kv_precision}_{worker.gpu}_tp{worker.tensor}.json"
