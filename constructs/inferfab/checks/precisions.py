"""Precisions that a GPU cannot compute in."""

from collections.abc import Iterator

from inferfab.catalog.gpus import gpus
from inferfab.checks.facts import Facts
from inferfab.checks.places import once
from inferfab.checks.registry import Problem, rule
from inferfab.checks.remedies import (
    FP8_CACHE_LACKS,
)
from inferfab.findings import YamlPath
from inferfab.plan.served import ModelPlan

FP4_GPUS = "blackwell"


@rule(
    "IF-MEM-004",
    "a precision that the GPU cannot compute in",
    joins=("cloud", "engine"),
    why="the engine stops at start, or unpacks weights to 16 bits and runs slower than planned.",
    do="use a checkpoint in a precision of the GPU, or another GPU.",
    source="vLLM supported hardware for quantized kernels; GPU architectures in the catalog",
)
def precision_supported(facts: Facts) -> Iterator[Problem]:
    for at in once(facts.roles()):
        yield from _precisions(at.model, at.group.gpu, at.where, at.path())
    seen: set[tuple[str, str]] = set()
    for pool in facts.fleet.pools:
        gpu = next(g.gpu for g in facts.fleet.node_groups if g.pool == pool.name and g.cell == pool.cell)
        if pool.shared is not None and (pool.name, gpu) not in seen:
            seen.add((pool.name, gpu))
            for name in pool.models:
                yield from _precisions(facts.model(name), gpu, f"{pool.name} in {pool.cell}", ("pools", pool.name))


def _precisions(model: ModelPlan, gpu_id: str, where: str, workers: YamlPath) -> Iterator[Problem]:
    gpu = gpus()[gpu_id]
    path = ("models", model.name, "quantization")
    if "bf16" not in gpu.dense_tflops:
        yield Problem(
            workers,
            f"{gpu.title} ({where}) does not compute in bf16, which every model of the catalog uses",
            "use a GPU of the Ampere generation or newer",
            of_key=True,
        )
        return  # what else such a GPU cannot do is of no interest
    if model.quantization == "fp8" and "fp8" not in gpu.dense_tflops:
        yield Problem(
            path,
            f"{gpu.title} ({where}) has no fp8 arithmetic; vLLM runs fp8 weights there in 16 bits",
            "expect 16-bit prefill speed, or use another GPU",
            severity="warning",
        )
    elif model.quantization == "nvfp4" and gpu.architecture != FP4_GPUS:
        yield Problem(
            path,
            f"{gpu.title} ({where}) has no fp4 arithmetic; vLLM runs nvfp4 weights there in 16 bits",
            "expect 16-bit prefill speed, or use an fp8 checkpoint",
            severity="warning",
        )
    kv = ("models", model.name, "kv_cache_dtype")
    latent = any(group.kind == "mla" for group in model.shape.attention)
    if model.kv_precision == "nvfp4" and latent:
        yield Problem(
            kv,
            f"{model.title} has latent attention, for which vLLM has no dense NVFP4 cache",
            "write `kv_cache_dtype: fp8`",
        )
    elif model.kv_precision == "nvfp4" and gpu.architecture != FP4_GPUS:
        yield Problem(
            kv,
            f"an nvfp4 KV cache needs a Blackwell GPU, {where} runs on {gpu.title}",
            "write `kv_cache_dtype: fp8`",
        )
    elif model.kv_precision == "fp8" and gpu.architecture in FP8_CACHE_LACKS:
        yield Problem(
            kv,
            f"an fp8 KV cache needs an Ada, Hopper or Blackwell GPU, {where} runs on {gpu.title}",
            "write `kv_cache_dtype: bf16`",
        )
