"""The command line, environment and memory of one role's engine, for a pinned pair.

Flags are written in the long form, flag and value as two items: the Dynamo operator reads only that form when
it decides about several nodes, and ``-tp 2`` or ``--tensor-parallel-size=2`` are invisible to it.
"""

import json

from pydantic import NonNegativeInt, PositiveInt

from inferfab.catalog.engines import EnginePair
from inferfab.environment.pools import Workers
from inferfab.plan.memory import MemoryPlan, Parallelism, sequence_bytes
from inferfab.plan.placement import Role
from inferfab.plan.quantities import GIB
from inferfab.plan.served import ModelPlan
from inferfab.plan.transport import EnvValue, Transport
from inferfab.record import Record

KV_EVENTS_PORT = 5557
"""vLLM's default; rank n of a data-parallel worker adds n."""
SIDE_CHANNEL_PORT = 5600
SHM_BYTES_PER_GPU = 10 * GIB
"""80 GiB on a node of 8 GPUs, as the Dynamo EKS EFA guide has it."""
HOST_OVERHEAD_BYTES = 24 * GIB
"""CPU memory of the engine process beside /dev/shm and the CPU KV tier: Python, tokenizer, load staging."""
DEFAULT_PREFILL_BATCHED_TOKENS = 8192
DEFAULT_DECODE_BATCHED_TOKENS = 2048
MOST_DEFAULT_SEQUENCES = 256


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
    """tmpfs on /dev/shm; counts against the memory limit."""
    memory_limit_bytes: NonNegativeInt
    """Holds /dev/shm, the CPU KV tier and the process."""
    gpus: PositiveInt
    """Of one pod; the operator multiplies by the nodes of a worker."""
    resources: dict[str, int]
    hugepages_2mi_mib: NonNegativeInt
    privileged: bool
    capabilities: tuple[str, ...]

    def argv(self) -> list[str]:
        """Flags and values as separate items."""
        return [part for a in self.arguments for part in ((a.flag,) if a.value is None else (a.flag, a.value))]

    def value_of(self, flag: str) -> str | None:
        return next((a.value for a in self.arguments if a.flag == flag), None)


def batched_tokens(role: Role, workers: Workers) -> int:
    default = DEFAULT_DECODE_BATCHED_TOKENS if role == "decode" else DEFAULT_PREFILL_BATCHED_TOKENS
    return workers.max_batched_tokens or max(default, workers.max_sequences or 0)


def parallelism(workers: Workers) -> Parallelism:
    """How a worker is spread over GPUs."""
    return Parallelism(
        tensor=workers.tensor_parallel, pipeline=workers.pipeline_parallel,
        data=workers.data_parallel, expert=workers.expert_parallel,
    )  # fmt: skip


def max_sequences(workers: Workers, model: ModelPlan, memory: MemoryPlan, mean_sequence_tokens: float) -> int:
    """The stated batch limit of a rank, or how many typical requests its KV cache holds, at most 256.

    Typical, not longest: a batch sized for the promised context would leave most of the cache empty, and vLLM
    preempts the youngest sequences in the rare case that many are long. Windows count as full as they are at that
    length, which is fuller a token than at the promised context.
    """
    held = memory.kv_capacity_bytes_per_gpu / sequence_bytes(model, parallelism(workers), round(mean_sequence_tokens))
    return workers.max_sequences or max(1, min(MOST_DEFAULT_SEQUENCES, int(held)))


def plan_engine(
    pair: EnginePair,
    model: ModelPlan,
    role: Role,
    workers: Workers,
    memory: MemoryPlan,
    transport: Transport,
    *,
    block_tokens: int,
    mean_sequence_tokens: float,
    image_registry: str | None,
    nodes: int = 1,
) -> EnginePlan:
    """Flags, environment and memory of one worker.

    :param nodes: nodes that the worker spans; ``transport`` is that of the pod on one of them.
    """
    parallel = parallelism(workers)
    gpus = -(-parallel.gpus // nodes)
    arguments = [
        *_model_arguments(model),
        *_parallel_arguments(parallel),
        Argument(flag="--block-size", value=str(block_tokens)),
        Argument(flag="--gpu-memory-utilization", value=f"{memory.gpu_memory_utilization:g}"),
        Argument(flag="--max-num-seqs", value=str(max_sequences(workers, model, memory, mean_sequence_tokens))),
        Argument(flag="--max-num-batched-tokens", value=str(batched_tokens(role, workers))),
        *_role_arguments(role, model, transport),
    ]
    for flag, value in workers.flags.items():
        arguments = [a for a in arguments if _positive(a.flag) != _positive(flag)]
        arguments += _stated(flag, value)
    shm = SHM_BYTES_PER_GPU * gpus
    repository = pair.image if image_registry is None else f"{image_registry.rstrip('/')}/{pair.image.rsplit('/', 1)[-1]}"
    return EnginePlan(
        image=f"{repository}:{pair.dynamo}{transport.image_suffix}",
        command=("python3", "-m", "dynamo.vllm"),
        arguments=tuple(arguments),
        env=(EnvValue(name="PYTHONHASHSEED", value="0"), *transport.env),
        block_tokens=block_tokens,
        shm_bytes=shm,
        memory_limit_bytes=shm + model.cpu_tier_bytes + HOST_OVERHEAD_BYTES,
        gpus=gpus,
        resources=transport.resources,
        hugepages_2mi_mib=transport.hugepages_2mi_mib,
        privileged=transport.privileged,
        capabilities=transport.capabilities,
    )


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True)


def _model_arguments(model: ModelPlan) -> list[Argument]:
    # vLLM spells the 16-bit cache "bfloat16"; "auto" would follow a checkpoint's own hint.
    dtype = {"bf16": "bfloat16", "fp8": "fp8", "nvfp4": "nvfp4"}[model.kv_precision]
    switch = "--enable-prefix-caching" if model.prefix_caching else "--no-enable-prefix-caching"
    arguments = [
        Argument(flag="--model", value=model.source),
        Argument(flag="--served-model-name", value=model.name),
        Argument(flag="--revision", value=model.revision),
        Argument(flag="--max-model-len", value=str(model.context_tokens)),
        Argument(flag="--kv-cache-dtype", value=dtype),
        Argument(flag=switch),
    ]
    if model.speculative:
        arguments.append(Argument(flag="--speculative-config", value=_json(_speculative(model))))
    return arguments


def _speculative(model: ModelPlan) -> dict[str, object]:
    speculative = model.speculative
    assert speculative is not None
    config: dict[str, object] = {"method": speculative.method, "num_speculative_tokens": speculative.tokens}
    if speculative.draft:
        config |= {"model": speculative.draft.source, "revision": speculative.draft.revision}
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


def _role_arguments(role: Role, model: ModelPlan, transport: Transport) -> list[Argument]:
    arguments = []
    connectors: list[dict[str, object]] = []
    kv_role = {"prefill": "kv_producer", "decode": "kv_consumer"}.get(role)
    if kv_role:
        arguments.append(Argument(flag="--disaggregation-mode", value=role))
        nixl: dict[str, object] = {
            "kv_connector": "NixlConnector", "kv_role": kv_role,
            "kv_connector_extra_config": {"backends": [transport.nixl_backend]},
        }  # fmt: skip
        if transport.kind == "efa":
            nixl["kv_buffer_device"] = "cuda"
        connectors.append(nixl)
    if model.cpu_tier_bytes:
        connectors.append(_offloading(model))
    if len(connectors) == 1 and kv_role is None:
        arguments.append(Argument(flag="--kv-transfer-config", value=_json({**connectors[0], "kv_role": "kv_both"})))
    elif len(connectors) == 1:
        arguments.append(Argument(flag="--kv-transfer-config", value=_json(connectors[0])))
    elif connectors:
        multi = {
            "kv_connector": "MultiConnector", "kv_role": kv_role,
            "kv_connector_extra_config": {"connectors": [connectors[0], {**connectors[1], "kv_role": "kv_both"}]},
        }  # fmt: skip
        arguments.append(Argument(flag="--kv-transfer-config", value=_json(multi)))
    if role != "shared":
        events = {
            "enable_kv_cache_events": model.prefix_caching, "publisher": "zmq",
            "endpoint": f"tcp://*:{KV_EVENTS_PORT}",
        }  # fmt: skip
        arguments.append(Argument(flag="--kv-events-config", value=_json(events)))
    return arguments


def _offloading(model: ModelPlan) -> dict[str, object]:
    extra: dict[str, object] = {"cpu_bytes_to_use": model.cpu_tier_bytes}
    if model.nvme_tier_bytes:
        extra["spec_name"] = "TieringOffloadingSpec"
        extra["secondary_tiers"] = [{"type": "fs", "path": "/var/lib/kv-cache", "capacity_bytes": model.nvme_tier_bytes}]
    return {"kv_connector": "OffloadingConnector", "kv_connector_extra_config": extra}


def _positive(flag: str) -> str:
    """The flag that a negative spelling turns off."""
    return f"--{flag.removeprefix('--no-')}" if flag.startswith("--no-") else flag


def _stated(flag: str, value: str | int | float | bool) -> list[Argument]:
    if value is True:
        return [Argument(flag=flag)]
    if value is False:
        return [Argument(flag=f"--no-{flag.removeprefix('--')}")]
    return [Argument(flag=flag, value=str(value))]
