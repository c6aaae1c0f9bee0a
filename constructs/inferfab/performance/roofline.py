"""A profile where nobody measured: the plan's roofline at its lower efficiencies. Every point is assumed."""

from datetime import date

from inferfab.catalog.facts import Provenance
from inferfab.catalog.gpus import Gpu
from inferfab.performance.profile import DecodePoint, PerformanceProfile, PrefillPoint, Worker
from inferfab.plan.memory import MemoryPlan, Parallelism
from inferfab.plan.performance import flops_per_prompt_token, low_efficiencies, peak_tflops
from inferfab.plan.served import ModelPlan

PROMPTS = (64, 256, 1024, 2048, 4096, 8192, 16_384, 32_768, 131_072)
KV_TOKENS = (512, 4096, 16_384, 65_536, 262_144, 786_432, 2_097_152)
CONTEXTS = (128, 512, 2048, 8192, 32_768, 131_072)
_WRITTEN = date(2026, 11, 30)
_LAUNCH_MS = 1.0
"""Of a step that has nothing to do: kernels are started all the same. An estimate."""


def roofline_profile(
    model: ModelPlan, gpu_id: str, gpu: Gpu, parallel: Parallelism, memory: MemoryPlan
) -> PerformanceProfile | None:
    """None where the GPU cannot do the checkpoint's arithmetic."""
    peak = peak_tflops(gpu, model.quantization)
    if peak is None:
        return None
    flops_share, bandwidth_share = low_efficiencies(model, parallel)
    rate = peak * 1e12 * parallel.tensor * parallel.pipeline * flops_share
    bandwidth = gpu.memory_gb_per_second * 1e9 * bandwidth_share
    weights = memory.weights_bytes_per_gpu + memory.draft_bytes_per_gpu
    per_token = memory.kv_bytes_per_sequence_per_gpu / memory.context_tokens
    return PerformanceProfile(
        provenance=Provenance(
            source="roofline of inferfab/plan/performance.py: arithmetic and memory traffic at the lower efficiencies",
            retrieved=_WRITTEN,
            note="a bound, not a measurement",
        ),
        worker=Worker(
            model=model.catalog,
            quantization=model.quantization,
            kv_precision=model.kv_precision,
            gpu=gpu_id,
            tensor=parallel.tensor,
        ),
        engine_version="",
        basis="roofline",
        prefill=tuple(
            PrefillPoint(
                prompt_tokens=p,
                ttft_ms=_LAUNCH_MS + p * flops_per_prompt_token(model, p) / rate * parallel.pipeline * 1000,
                how="assumed",
            )
            for p in PROMPTS
        ),
        decode=tuple(
            DecodePoint(
                kv_tokens=kv,
                context_tokens=context,
                itl_ms=_LAUNCH_MS + parallel.pipeline * (weights + max(kv, context) * per_token) / bandwidth * 1000,
                how="assumed",
            )
            for kv in KV_TOKENS
            for context in CONTEXTS
        ),
    )
