"""The command line, environment and memory of one role's engine, for a pinned pair.

Flags are written in the long form, flag and value as two items: the Dynamo operator reads only that form when
it decides about several nodes, and ``-tp 2`` or ``--tensor-parallel-size=2`` are invisible to it.

Keys and their meaning are read in the sources of vLLM 0.31.0 and ai-dynamo 1.6.1; docstrings name file and
symbol (``vllm/`` and ``dynamo/`` paths). ``dynamo.vllm`` hands every flag that is not its own to vLLM's
``AsyncEngineArgs`` unchanged (dynamo/vllm/args.py, ``_parse_cli_args``).
"""

import json

from pydantic import NonNegativeInt, PositiveInt

from inferfab.catalog.engines import EnginePair
from inferfab.catalog.models import LatentAttention, ModelShape
from inferfab.environment.pools import Workers
from inferfab.plan.images import ImageSource
from inferfab.plan.kv_config import disk_bytes_per_gpu, kv_events_config, kv_transfer_config
from inferfab.plan.memory import MemoryPlan, Parallelism
from inferfab.plan.placement import Role
from inferfab.plan.quantities import GIB
from inferfab.plan.served import ModelPlan
from inferfab.plan.transport import EnvValue, Transport
from inferfab.record import Record

LATENT_BLOCK_TOKENS = 64
"""KV block of a model with multi-head latent attention.

FlashMLA takes multiples of 64, FlashInfer's MLA of 32 or 64. With a stated 16 vLLM passes both over with no
more than a warning, and an 8-bit cache on Hopper is left with Triton (``get_supported_kernel_block_sizes`` in
vllm/v1/attention/backends/mla/; vllm/platforms/cuda.py, "--block-size precluded higher-priority backend").
"""
SHM_BYTES_PER_GPU = 10 * GIB
"""80 GiB on a node of 8 GPUs, as the Dynamo EKS EFA guide has it."""
SHM_BYTES_ALONE = 4 * GIB
"""A worker of one GPU without RDMA has no peers to talk to through shared memory."""
PROCESS_BYTES = 8 * GIB
PROCESS_BYTES_PER_GPU = 4 * GIB
"""CPU memory beside /dev/shm: one engine process a GPU, tokenizer, load staging. Estimates."""
DEFAULT_PREFILL_BATCHED_TOKENS = 8192
DEFAULT_DECODE_BATCHED_TOKENS = 2048


class Argument(Record):
    """One flag and its value; ``value`` is None for a switch."""

    flag: str
    value: str | None = None


class EnginePlan(Record):
    """What runs in the ``main`` container of a worker; of each of its pods, where it spans nodes."""

    image: str
    command: tuple[str, ...]
    arguments: tuple[Argument, ...]
    env: tuple[EnvValue, ...]
    block_tokens: PositiveInt
    shm_bytes: NonNegativeInt
    """tmpfs on /dev/shm; counts against the memory limit.

    The CPU KV tier is a file in it, and vLLM does not start where that file does not fit
    (vllm/v1/kv_offload/cpu/shared_offload_region.py SharedOffloadRegion).
    """
    memory_limit_bytes: NonNegativeInt
    """Holds /dev/shm, the CPU KV tier in it, and the process."""
    cpu_tier_bytes: NonNegativeInt
    """Part of ``shm_bytes`` that holds the CPU KV tier."""
    kv_disk_bytes: NonNegativeInt
    """Volume to mount on :data:`~inferfab.plan.kv_config.KV_DISK_PATH`; 0 for none.

    vLLM neither limits this tier nor evicts from it (vllm/v1/kv_offload/tiering/fs/manager.py
    FileSystemTierManager): files pile up until a write fails, then the tier only serves reads. So the volume
    must be a file system of this size (a generic ephemeral volume, a partition): Kubernetes would evict a pod
    whose emptyDir outgrows its sizeLimit.
    """
    gpus: PositiveInt
    """Of one pod; the operator multiplies by the nodes of a worker."""
    resources: dict[str, int]
    hugepages_2mi_mib: NonNegativeInt
    privileged: bool
    capabilities: tuple[str, ...]

    def argv(self) -> list[str]:
        """Flags and values as separate items."""
        pairs = ((a.flag,) if a.value is None else (a.flag, a.value) for a in self.arguments)
        return [part for pair in pairs for part in pair]

    def value_of(self, flag: str) -> str | None:
        """Value of a flag; None if it is absent or a switch."""
        return next((a.value for a in self.arguments if a.flag == flag), None)


def default_block_tokens(pair: EnginePair, shape: ModelShape) -> int:
    """KV block size where none is stated: the engine's default, or what latent attention needs."""
    if any(isinstance(group, LatentAttention) for group in shape.attention):
        return max(pair.default_block_tokens, LATENT_BLOCK_TOKENS)
    return pair.default_block_tokens


def batched_tokens(role: Role, workers: Workers) -> int:
    """Tokens of one forward pass; vLLM refuses fewer than ``--max-num-seqs``.

    Source: vllm/config/scheduler.py SchedulerConfig.verify_max_model_len.
    """
    default = DEFAULT_DECODE_BATCHED_TOKENS if role == "decode" else DEFAULT_PREFILL_BATCHED_TOKENS
    return workers.max_batched_tokens or max(default, workers.max_sequences or 0)


def parallelism(workers: Workers) -> Parallelism:
    """How a worker is spread over GPUs."""
    return Parallelism(
        tensor=workers.tensor_parallel,
        pipeline=workers.pipeline_parallel,
        data=workers.data_parallel,
        expert=workers.expert_parallel,
    )


def plan_engine(
    pair: EnginePair,
    model: ModelPlan,
    role: Role,
    workers: Workers,
    memory: MemoryPlan,
    transport: Transport,
    *,
    block_tokens: int,
    max_sequences: int,
    image_registry: ImageSource | None,
    nodes: int = 1,
) -> EnginePlan:
    """Flags, environment and memory of one worker.

    :param max_sequences: batch limit of a rank, the same that the estimate assumes (:mod:`inferfab.plan.batch`).
    :param nodes: nodes that the worker spans; ``transport`` is that of the pod on one of them.
    """
    parallel = parallelism(workers)
    gpus = -(-parallel.gpus // nodes)
    arguments = [
        *_model_arguments(model),
        *_parallel_arguments(parallel),
        Argument(flag="--block-size", value=str(block_tokens)),
        Argument(flag="--gpu-memory-utilization", value=f"{memory.gpu_memory_utilization:g}"),
        Argument(flag="--max-num-seqs", value=str(max_sequences)),
        Argument(flag="--max-num-batched-tokens", value=str(batched_tokens(role, workers))),
        *_role_arguments(role, model, transport, parallel),
    ]
    for flag, value in workers.flags.items():
        arguments = [a for a in arguments if _positive(a.flag) != _positive(flag)]
        arguments += _stated(flag, value)
    cpu_tier = model.cpu_tier_bytes_per_gpu * gpus
    alone = parallel.gpus == 1 and transport.kind == "tcp"
    shm = (SHM_BYTES_ALONE if alone else SHM_BYTES_PER_GPU * gpus) + cpu_tier
    repository = image_registry.engine(pair.image) if image_registry else pair.image
    return EnginePlan(
        image=f"{repository}:{pair.dynamo}{transport.image_suffix}",
        command=("python3", "-m", "dynamo.vllm"),
        arguments=tuple(arguments),
        env=(EnvValue(name="PYTHONHASHSEED", value="0"), *_adapter_env(model), *transport.env),
        block_tokens=block_tokens,
        shm_bytes=shm,
        memory_limit_bytes=shm + PROCESS_BYTES + PROCESS_BYTES_PER_GPU * gpus,
        cpu_tier_bytes=cpu_tier,
        kv_disk_bytes=disk_bytes_per_gpu(role, model) * gpus,
        gpus=gpus,
        resources=transport.resources,
        hugepages_2mi_mib=transport.hugepages_2mi_mib,
        privileged=transport.privileged,
        capabilities=transport.capabilities,
    )


def _adapter_env(model: ModelPlan) -> tuple[EnvValue, ...]:
    """Without it dynamo.vllm refuses to load an adapter by URI (dynamo/vllm/handlers.py, "LoRAManager not
    initialized").
    """
    return (EnvValue(name="DYN_LORA_ENABLED", value="true"),) if model.adapters else ()


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True)


def _model_arguments(model: ModelPlan) -> list[Argument]:
    # Not "auto": a checkpoint's own kv_cache_scheme could make it an 8-bit cache, unlike what was planned
    # (vllm/utils/torch_utils.py resolve_kv_cache_dtype_string); an explicit "bfloat16" wins. "fp8" is right
    # for latent attention as well: dense backends store one byte an element with it, FlashMLA's sparse one
    # turns it into fp8_ds_mla (mla_attention.py _canonicalize_sparse_mla_kv_cache_dtype).
    dtype = {"bf16": "bfloat16", "fp8": "fp8", "nvfp4": "nvfp4"}[model.kv_precision]
    switch = "--enable-prefix-caching" if model.prefix_caching else "--no-enable-prefix-caching"
    arguments = [
        # The node's copy of the pinned revision, which is in the folder's name: no worker downloads by itself.
        Argument(flag="--model", value=model.path),
        Argument(flag="--served-model-name", value=model.name),
        Argument(flag="--max-model-len", value=str(model.context_tokens)),
        Argument(flag="--kv-cache-dtype", value=dtype),
        Argument(flag=switch),
    ]
    if model.speculative:
        arguments.append(Argument(flag="--speculative-config", value=_json(_speculative(model))))
    if model.adapters:
        arguments += [
            Argument(flag="--enable-lora"),
            Argument(flag="--max-loras", value=str(len(model.adapters))),
            Argument(flag="--max-lora-rank", value=str(max(adapter.rank for adapter in model.adapters))),
        ]
    return arguments


def _speculative(model: ModelPlan) -> dict[str, object]:
    """Keys of vLLM's SpeculativeConfig (vllm/config/speculative.py ``__post_init__``, ``_verify_args``).

    ``num_speculative_tokens`` is always needed; ``model`` only for draft_model, eagle and eagle3, which is the
    node's copy of the pinned draft. For mtp vLLM takes the target's model. ``suffix`` needs the package
    arctic-inference, which vLLM does not depend on.
    """
    speculative = model.speculative
    assert speculative is not None
    config: dict[str, object] = {"method": speculative.method, "num_speculative_tokens": speculative.tokens}
    if model.draft_path:
        config["model"] = model.draft_path
    if speculative.method == "ngram":
        config |= {"prompt_lookup_max": 4, "prompt_lookup_min": 2}
    return config


def _parallel_arguments(parallel: Parallelism) -> list[Argument]:
    arguments = [Argument(flag="--tensor-parallel-size", value=str(parallel.tensor))]
    if parallel.pipeline > 1:
        arguments.append(Argument(flag="--pipeline-parallel-size", value=str(parallel.pipeline)))
    if parallel.data > 1:
        arguments.append(Argument(flag="--data-parallel-size", value=str(parallel.data)))
    if parallel.expert:
        arguments.append(Argument(flag="--enable-expert-parallel"))
    return arguments


def _role_arguments(role: Role, model: ModelPlan, transport: Transport, parallel: Parallelism) -> list[Argument]:
    arguments = []
    if role in ("prefill", "decode"):
        arguments.append(Argument(flag="--disaggregation-mode", value=role))
    transfer = kv_transfer_config(role, model, transport, gpus_per_rank=parallel.gpus // parallel.data)
    if transfer:
        arguments.append(Argument(flag="--kv-transfer-config", value=_json(transfer)))
    if role != "shared" and model.prefix_caching:
        arguments.append(Argument(flag="--kv-events-config", value=_json(kv_events_config())))
    return arguments


def _positive(flag: str) -> str:
    """The flag that a negative spelling turns off."""
    return f"--{flag.removeprefix('--no-')}" if flag.startswith("--no-") else flag


def _stated(flag: str, value: str | int | float | bool) -> list[Argument]:
    if value is True:
        return [Argument(flag=flag)]
    if value is False:
        # argparse.BooleanOptionalAction, as vLLM declares its switches (vllm/engine/arg_utils.py get_kwargs).
        return [Argument(flag=f"--no-{flag.removeprefix('--')}")]
    return [Argument(flag=flag, value=str(value))]
