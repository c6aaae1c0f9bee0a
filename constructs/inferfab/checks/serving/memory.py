"""Memory of engines in manifests: on the GPU where model and GPU are known, and in the pod."""

from collections.abc import Iterator

import inferfab.checks.host_memory
import inferfab.checks.memory  # noqa: F401 - enter the rules that judge manifests too
from inferfab.catalog.gpu_labels import gpu_of
from inferfab.catalog.gpus import Gpu, gpus
from inferfab.catalog.models import Model, Quantization
from inferfab.checks.registry import Problem, manifest_rule
from inferfab.checks.remedies import plain
from inferfab.checks.serving.known_models import entry_of, model_of
from inferfab.checks.serving.kv_transfer import FLAG, transfer_of
from inferfab.checks.serving.register import judges_manifests, of_manifests
from inferfab.checks.serving.views import EngineView, Serving
from inferfab.environment.served_models import KvDtype, ServedModel
from inferfab.manifests.model import Manifests
from inferfab.plan.memory import MemoryPlan, Parallelism, plan_memory
from inferfab.plan.quantities import GB, GIB
from inferfab.plan.served import plan_model

_LEAST_OVERHEAD_BYTES = 1 * GIB
"""CUDA context alone: what is an error here goes wrong with any engine settings."""
_DEFAULT_UTILIZATION = 0.92
_LONG = "--max-model-len"
_OTHER_LAYOUT = (
    "--hf-overrides",
    "--load-format",
    "--cpu-offload-gb",
    "--hf-config-path",
    "--num-gpu-blocks-override",
    "--kv-cache-memory-bytes",
    "--decode-context-parallel-size",
    "--prefill-context-parallel-size",
)
"""Flags with which the sums below do not hold."""


def _planned(engine: EngineView) -> tuple[Model, Gpu, MemoryPlan] | None:
    """Memory of an engine whose model and GPU are both known."""
    entry, model = entry_of(engine), model_of(engine)
    gpu = gpu_of(engine.workload.pod.node_selector) if engine.workload is not None else None
    shape = (engine.tensor, engine.pipeline, engine.data)
    if entry is None or model is None or gpu is None or not all(shape) or engine.hidden:
        return None
    if any(flag in engine.given for flag in _OTHER_LAYOUT) or "mig-" in " ".join(engine.resources):
        return None
    quantization: Quantization = entry[1]
    stated = engine.value("--quantization")
    if stated == "fp8" and quantization == "bf16":
        quantization = "fp8"
    elif stated not in (None, "fp8", "modelopt", "modelopt_fp4", "compressed-tensors", "mxfp4", "gptq", "awq"):
        return None
    asked = engine.whole(_LONG, model.shape.max_context_tokens)
    context = asked if asked is not None and 0 < asked <= 10_000_000 else None
    share = _share(engine)
    kv = {None: "auto", "auto": "auto", "bfloat16": "bf16", "fp8": "fp8", "fp8_e4m3": "fp8", "fp8_e5m2": "fp8"}.get(
        engine.value("--kv-cache-dtype")
    )
    if share is None or kv is None or not all(0 < (n or 0) <= 1024 for n in shape):
        return None
    dtype: KvDtype = kv  # type: ignore[assignment]
    planned = plan_model(
        "model",
        ServedModel(
            catalog=entry[0],
            revision="0000000",
            context_tokens=context or 1,
            quantization=quantization,
            kv_cache_dtype=dtype,
        ),
    )
    memory = plan_memory(
        planned,
        gpus()[gpu],
        Parallelism(tensor=shape[0] or 1, pipeline=shape[1] or 1, data=shape[2] or 1,
                    expert=bool(engine.on("--enable-expert-parallel"))),
        gpu_memory_utilization=share,
        batched_tokens=2048,
        sequences=1,
        stated_overhead_bytes=_LEAST_OVERHEAD_BYTES,
    )  # fmt: skip
    return model, gpus()[gpu], memory


def _share(engine: EngineView) -> float | None:
    text = engine.value("--gpu-memory-utilization")
    if text is None:
        return None if engine.unsure("--gpu-memory-utilization") else _DEFAULT_UTILIZATION
    try:
        share = float(text)
    except ValueError:
        return None
    return share if 0 < share <= 1 else None


@judges_manifests("IF-MEM-001")
def weights_fit(serving: Serving) -> Iterator[Problem]:
    for engine in serving.engines:
        found = _planned(engine)
        if found is not None and _weights_alone_go_over(found[2]):
            model, gpu, memory = found
            flag = "--tensor-parallel-size" if "--tensor-parallel-size" in engine.given else "--model"
            yield engine.at(flag).problem(
                f"{model.title} needs {memory.weights_bytes_per_gpu / GB:,.1f} GB of weights a GPU, and "
                f"{memory.gpu_memory_utilization:.0%} of a {gpu.title} is "
                f"{gpu.memory_bytes * memory.gpu_memory_utilization / GB:,.1f} GB",
                "split it over more GPUs, or use a smaller precision",
            )


def _weights_alone_go_over(memory: MemoryPlan) -> bool:
    total = memory.gpu_memory_bytes * memory.gpu_memory_utilization
    return memory.weights_bytes_per_gpu + _LEAST_OVERHEAD_BYTES > total


@judges_manifests("IF-MEM-002")
def context_fits(serving: Serving) -> Iterator[Problem]:
    for engine in serving.engines:
        found = _planned(engine)
        longest = engine.whole(_LONG, 0)
        if found is None or longest is None or longest < 0:
            continue
        model, gpu, memory = found
        if memory.missing_bytes_per_gpu and not _weights_alone_go_over(memory):
            stated = "" if _LONG in engine.given else ", which is the model's own where none is given"
            yield engine.at(_LONG if _LONG in engine.given else "--model").problem(
                f"one sequence of {memory.context_tokens:,} tokens{stated} needs "
                f"{memory.kv_bytes_per_sequence_per_gpu / GB:,.1f} GB a GPU, and {model.title} leaves "
                f"{memory.kv_capacity_bytes_per_gpu / GB:,.1f} GB on a {gpu.title}",
                "lower `--max-model-len`, or split over more GPUs",
                # A checkpoint's own length may be less than what the catalog has with its stated scaling.
                severity=None if _LONG in engine.given else "warning",
            )


@judges_manifests("IF-MEM-003")
def context_is_the_models(serving: Serving) -> Iterator[Problem]:
    for engine in serving.engines:
        model, longest = model_of(engine), engine.whole(_LONG)
        allowed = engine.env.get("VLLM_ALLOW_LONG_MAX_MODEL_LEN")
        stretched = "--hf-overrides" in engine.given or (allowed is not None and allowed.value != "0")
        if model is not None and longest is not None and not stretched and longest > model.shape.max_context_tokens:
            yield engine.at(_LONG).problem(
                f"{model.title} takes {model.shape.max_context_tokens:,} tokens, {longest:,} are asked for",
                f"write at most {model.shape.max_context_tokens}",
                value=str(longest),
            )


@judges_manifests("IF-MEM-010")
def memory_left_beside(serving: Serving) -> Iterator[Problem]:
    for engine in serving.engines:
        share = _share(engine)
        if share is not None and share > 0.97:
            rest = plain(round(100 - share * 100, 6))
            yield engine.at("--gpu-memory-utilization").problem(
                f"{plain(round(share * 100, 6))} % of the GPU's memory leave {rest} % for the driver",
                "write at most 0.97",
            )


def _number(text: str | None) -> float | None:
    return float(text) if text and text.replace(".", "", 1).isdigit() else None


def _cpu_tier_bytes(engine: EngineView) -> float:
    """CPU memory that a KV tier of the pod takes: vLLM's own offloading, a connector's, or KVBM's."""
    found = 0.0
    size = engine.value("--kv-offloading-size")
    with_flag = (_number(size) or 0.0) * GIB
    transfer = transfer_of(engine)
    for connector in transfer.all() if transfer else ():
        stated = connector.extra.get("cpu_bytes_to_use")
        if isinstance(stated, (int, float)) and not isinstance(stated, bool):
            found += stated * max(1, engine.data or 1)
    for name in ("DYN_KVBM_CPU_CACHE_GB", "LMCACHE_MAX_LOCAL_CPU_SIZE"):
        variable = engine.env.get(name)
        if variable is not None:
            found += (_number(variable.value) or 0.0) * GB * (engine.gpus or 1 if name.startswith("LMC") else 1)
    return found + with_flag


@judges_manifests("IF-MEM-005")
def pod_memory_holds(serving: Serving) -> Iterator[Problem]:
    for engine in serving.engines:
        workload, process = engine.workload, engine.process
        if workload is None or process is None:
            continue
        limit = process.container.limits.get("memory")
        if limit is None:
            continue
        tier, shm = _cpu_tier_bytes(engine), workload.shm_bytes or 0.0
        mounted = shm if shm > 64 * 1024**2 else 0.0
        # vLLM keeps its CPU tier in /dev/shm; a /dev/shm that is smaller leaves it elsewhere, so the larger counts.
        asked = max(tier, mounted) if tier <= mounted else tier
        if asked >= limit.value:
            spot = type(engine.spot)(limit.ref.path, limit.ref.at)
            parts = [f"{mounted / GIB:,.0f} GiB of shared memory" if mounted else "",
                     f"{tier / GIB:,.0f} GiB of KV cache on the CPU" if tier else ""]  # fmt: skip
            yield spot.problem(
                f"{engine.name} may use {' and '.join(p for p in parts if p)}, and its memory limit is "
                f"{limit.value / GIB:,.1f} GiB",
                "raise the limit above them, with room for the process, or make them smaller",
                severity="error" if tier >= limit.value else "warning",
            )


@judges_manifests("IF-MEM-006")
def tiers_grow(serving: Serving) -> Iterator[Problem]:
    for engine in serving.engines:
        cpu, disk = (engine.env.get(f"DYN_KVBM_{part}_CACHE_GB") for part in ("CPU", "DISK"))
        sizes = [_number(v.value) if v else None for v in (cpu, disk)]
        if disk is not None and sizes[0] is not None and sizes[1] is not None and 0 < sizes[1] < sizes[0]:
            yield disk.spot.problem(
                f"the disk tier of {sizes[1]:g} GB is smaller than the CPU tier of {sizes[0]:g} GB",
                f"write at least {sizes[0]:g}",
            )
        found, tier = _planned(engine), _cpu_tier_bytes(engine)
        if found is not None and tier and engine.gpus:
            cache = found[2].kv_capacity_bytes_per_gpu * engine.gpus
            if tier < cache * 0.5:
                yield engine.at(FLAG if FLAG in engine.given else "--kv-offloading-size").problem(
                    f"the CPU tier of {tier / GIB:,.0f} GiB is smaller than the GPUs' own KV cache of some "
                    f"{cache / GIB:,.0f} GiB",
                    f"write at least {cache / GIB:,.0f} GiB, or leave the tier out",
                )


@manifest_rule(
    "IF-MEM-012",
    "several GPUs on 64 MiB of shared memory",
    severity="warning",
    joins=("pod", "engine"),
    why="the processes of a split model talk through /dev/shm, and a container has 64 MiB of it: NCCL ends with a bus "
    "error or the start hangs.",
    do="mount an emptyDir with `medium: Memory` on /dev/shm.",
    source="vLLM documentation, deployment with Kubernetes: shared memory is needed for tensor parallel inference",
)
def shared_memory_mounted(manifests: Manifests) -> Iterator[Problem]:
    for serving in of_manifests(manifests):
        for engine in serving.engines:
            workload = engine.workload
            if workload is None or engine.gpus < 2 or (engine.tensor or 1) < 2 or workload.graph is not None:
                continue
            ipc = workload.node.get("spec", "template", "spec", "hostIPC").value is True
            if workload.shm_bytes == 64 * 1024**2 and not ipc:
                yield engine.spot.problem(
                    f"{engine.name} splits over {engine.tensor} GPUs and mounts nothing on /dev/shm",
                    "add `{name: dshm, emptyDir: {medium: Memory, sizeLimit: 10Gi}}` and mount it on /dev/shm",
                )
