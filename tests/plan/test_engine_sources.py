"""Engine command lines against what the pinned sources read.

Expectations are written by hand from the sources of vLLM 0.31.0, ai-dynamo 1.6.1 and the nixl-cu13 1.4.1
wheel; each docstring names the file and symbol. ``vllm_config_classes_0.31.0.json`` (fields of vLLM's
config classes, parsed from its source) is a development by-product and not part of the repository: where it
lies, it checks the hand-written field names.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from inferfab.catalog.engines import engine_pairs, vllm_flags
from inferfab.catalog.gpus import gpus
from inferfab.catalog.models import models
from inferfab.environment.pools import Replicas, Workers
from inferfab.environment.served_models import Draft, Offload, ServedModel, Speculative
from inferfab.plan.engine import (
    LATENT_BLOCK_TOKENS,
    EnginePlan,
    batched_tokens,
    default_block_tokens,
    plan_engine,
)
from inferfab.plan.kv_config import KV_DISK_PATH
from inferfab.plan.memory import Parallelism, plan_memory
from inferfab.plan.placement import Role
from inferfab.plan.served import plan_model
from inferfab.plan.transport import Transport, efa_transport, roce_transport, tcp_transport

GIB = 1024**3
REVISION = "0e9e39f249a16976918f6564b8830bc894c89659"
DRAFT_REVISION = "9216db5781bf21249d130ec9da846c4624c16137"
CLASSES = Path(__file__).resolve().parents[3] / "shared/data/engines/vllm_config_classes_0.31.0.json"
ROLES: tuple[Role, ...] = ("prefill", "decode", "worker", "shared")
EFA = efa_transport(4, dranet=False, image_suffix="-efa")
ROCE = roce_transport(traffic_class=106, nic_resources={"rdma/roce": 4})

FIELDS = {
    "KVTransferConfig": {
        "kv_connector", "kv_role", "kv_connector_extra_config", "kv_load_failure_policy", "kv_buffer_device",
        "engine_id", "kv_connector_module_path",
    },
    "KVEventsConfig": {"enable_kv_cache_events", "publisher", "endpoint", "topic", "replay_endpoint"},
    "SpeculativeConfig": {
        "method", "model", "revision", "num_speculative_tokens", "prompt_lookup_max", "prompt_lookup_min",
        "draft_tensor_parallel_size",
    },
}  # fmt: skip
"""Fields of vllm/config/{kv_transfer,kv_events,speculative}.py, not all; an emitted key must be one."""

EXTRA_KEYS = {
    # vllm/distributed/kv_transfer/kv_connector/v1/nixl/base_worker.py, get_from_extra_config
    "NixlConnector": {"backends", "kv_lease_duration", "num_threads", "enforce_handshake_compat"},
    # v1/multi_connector.py _get_connector_classes_and_configs
    "MultiConnector": {"connectors"},
    # v1/offloading/config.py build_offloading_config;
    # vllm/v1/kv_offload/{base,factory,cpu/spec,tiering/spec}.py
    "OffloadingConnector": {
        "cpu_bytes_to_use", "block_size", "blocks_per_chunk", "eviction_policy", "self_describing_kv_events",
        "offload_prompt_only", "spec_name", "secondary_tiers",
    },
}  # fmt: skip
FS_TIER_KEYS = {"type", "root_dir", "n_read_threads", "n_write_threads", "enable_kv_events", "locality"}
"""vllm/v1/kv_offload/tiering/fs/manager.py FileSystemTierManager.__init__; ``type`` is taken off before."""


def engine(
    role: Role,
    transport: Transport = EFA,
    *,
    catalog: str = "llama-3.1-8b-instruct",
    offload: Offload | None = None,
    speculative: Speculative | None = None,
    prefix_caching: bool = True,
    workers: Workers | None = None,
) -> EnginePlan:
    pair = engine_pairs()["1.6.1"]
    model = plan_model(
        "chat",
        ServedModel(
            catalog=catalog, revision=REVISION, context_tokens=8192, quantization="fp8", kv_cache_dtype="fp8",
            offload=offload, speculative=speculative, prefix_caching=prefix_caching,
        ),
    )  # fmt: skip
    asked = workers or Workers(replicas=Replicas(desired=1))
    memory = plan_memory(
        model, gpus()["h200"], Parallelism(tensor=asked.tensor_parallel, data=asked.data_parallel),
        gpu_memory_utilization=0.92, batched_tokens=2048, sequences=64,
    )  # fmt: skip
    return plan_engine(
        pair, model, role, asked, memory, transport,
        block_tokens=default_block_tokens(pair, model.shape), max_sequences=asked.max_sequences or 256,
        image_registry=None,
    )  # fmt: skip


def json_of(plan: EnginePlan, flag: str) -> dict[str, Any]:
    value = plan.value_of(flag)
    assert value is not None, f"{flag} is missing"
    parsed: dict[str, Any] = json.loads(value)
    return parsed


def env_of(transport: Transport) -> dict[str, str | None]:
    return {e.name: e.value for e in transport.env}


# KV transfer


def test_without_offloading_each_role_names_nixl_alone() -> None:
    """v1/nixl/connector.py NixlBaseConnector: producer and consumer; kv_both is deprecated there.

    base_worker.py reads ``backends``. config/kv_transfer.py: kv_buffer_device defaults to the platform's
    device. v1/core/sched/scheduler.py reads the failure policy where KV cache is loaded, that is on decode
    workers.
    """
    assert json_of(engine("prefill"), "--kv-transfer-config") == {
        "kv_connector": "NixlConnector",
        "kv_role": "kv_producer",
        "kv_connector_extra_config": {"backends": ["LIBFABRIC"]},
    }
    assert json_of(engine("decode", ROCE), "--kv-transfer-config") == {
        "kv_connector": "NixlConnector",
        "kv_role": "kv_consumer",
        "kv_connector_extra_config": {"backends": ["UCX"]},
        "kv_load_failure_policy": "recompute",
    }
    assert engine("worker").value_of("--kv-transfer-config") is None


def test_with_offloading_nixl_is_the_first_child_and_each_child_has_a_role() -> None:
    """v1/multi_connector.py makes a KVTransferConfig of each child, which wants kv_role
    (config/kv_transfer.py __post_init__), and adds engine_id itself;
    the first child with tokens loads."""
    transfer = json_of(engine("decode", offload=Offload(cpu_gib_per_gpu=64)), "--kv-transfer-config")
    assert transfer == {
        "kv_connector": "MultiConnector",
        "kv_role": "kv_consumer",
        "kv_load_failure_policy": "recompute",
        "kv_connector_extra_config": {
            "connectors": [
                {
                    "kv_connector": "NixlConnector",
                    "kv_role": "kv_consumer",
                    "kv_connector_extra_config": {"backends": ["LIBFABRIC"]},
                },
                {
                    "kv_connector": "OffloadingConnector",
                    "kv_role": "kv_both",
                    "kv_connector_extra_config": {
                        "cpu_bytes_to_use": 64 * GIB,
                        "self_describing_kv_events": True,
                    },
                },
            ]
        },
    }


def test_an_aggregated_worker_offloads_by_the_connector_alone() -> None:
    """v1/kv_offload/cpu/spec.py CPUOffloadingSpec; offloading/events.py self_describing_kv_events."""
    assert json_of(engine("worker", offload=Offload(cpu_gib_per_gpu=64)), "--kv-transfer-config") == {
        "kv_connector": "OffloadingConnector",
        "kv_role": "kv_both",
        "kv_connector_extra_config": {"cpu_bytes_to_use": 64 * GIB, "self_describing_kv_events": True},
    }


@pytest.mark.parametrize("role", ROLES)
def test_the_flag_that_overwrites_the_connector_is_never_written(role: Role) -> None:
    """config/vllm.py _post_init_kv_transfer_config: it replaces kv_connector and kv_role."""
    assert "--kv-offloading-size" not in engine(role, offload=Offload(cpu_gib_per_gpu=64)).argv()


def test_the_disk_tier_has_a_root_and_no_capacity() -> None:
    """v1/kv_offload/tiering/factory.py passes every key to FileSystemTierManager; it has no capacity."""
    plan = engine("worker", offload=Offload(cpu_gib_per_gpu=64, nvme_gib_per_gpu=500))
    extra = json_of(plan, "--kv-transfer-config")["kv_connector_extra_config"]
    assert extra["spec_name"] == "TieringOffloadingSpec"
    assert extra["secondary_tiers"] == [{"type": "fs", "root_dir": "/var/lib/kv-cache"}]
    assert plan.kv_disk_bytes == 500 * GIB
    assert KV_DISK_PATH == "/var/lib/kv-cache"


def test_a_decode_worker_has_no_disk_tier() -> None:
    """v1/multi_connector.py get_num_new_matched_tokens: any child still looking up delays the request."""
    plan = engine("decode", offload=Offload(cpu_gib_per_gpu=64, nvme_gib_per_gpu=500))
    children = json_of(plan, "--kv-transfer-config")["kv_connector_extra_config"]["connectors"]
    assert children[1]["kv_connector_extra_config"] == {
        "cpu_bytes_to_use": 64 * GIB,
        "self_describing_kv_events": True,
    }
    assert plan.kv_disk_bytes == 0


def test_data_parallel_ranks_share_the_workers_cpu_tier() -> None:
    """v1/engine/core.py gives each data-parallel rank an engine_id, and so a region; a rank of 2 GPUs: 2 * 12."""
    workers = Workers(replicas=Replicas(desired=1), tensor_parallel=2, data_parallel=4)
    plan = engine("worker", offload=Offload(cpu_gib_per_gpu=12), workers=workers)
    transfer = json_of(plan, "--kv-transfer-config")
    assert transfer["kv_connector_extra_config"]["cpu_bytes_to_use"] == 24 * GIB
    assert plan.cpu_tier_bytes == 96 * GIB


def test_shared_memory_holds_the_cpu_tier() -> None:
    """v1/kv_offload/cpu/shared_offload_region.py: the tier is /dev/shm/vllm_offload_*.mmap, checked to fit.

    2 GPUs: 2 * 10 GiB base + 2 * 64 GiB tier = 148 GiB; with 8 + 2 * 4 GiB for processes the limit is 164 GiB.
    """
    workers = Workers(replicas=Replicas(desired=1), tensor_parallel=2)
    plan = engine("worker", offload=Offload(cpu_gib_per_gpu=64), workers=workers)
    assert plan.shm_bytes == 148 * GIB
    assert plan.memory_limit_bytes == 164 * GIB


# KV events


def test_workers_publish_events_where_vllm_and_dynamo_expect_them() -> None:
    """config/kv_events.py KVEventsConfig; dynamo/vllm/args.py create_kv_events_config takes it as given."""
    for role in ("prefill", "decode", "worker"):
        assert json_of(engine(role), "--kv-events-config") == {
            "enable_kv_cache_events": True,
            "publisher": "zmq",
            "endpoint": "tcp://*:5557",
        }
    assert engine("shared").value_of("--kv-events-config") is None


def test_without_prefix_caching_there_are_no_events() -> None:
    """dynamo/vllm/args.py create_kv_events_config returns None then; vLLM negates switches with --no-."""
    plan = engine("worker", prefix_caching=False)
    assert plan.value_of("--kv-events-config") is None
    assert "--no-enable-prefix-caching" in plan.argv()


# Speculative decoding


DRAFT_PATH = f"/models/chat-draft-{DRAFT_REVISION[:12]}"


def _draft(source: str) -> Draft:
    return Draft(source=source, revision=DRAFT_REVISION, weights_gib=1)


@pytest.mark.parametrize(
    ("speculative", "expected"),
    [
        (
            Speculative(method="ngram", tokens=4),
            {
                "method": "ngram", "num_speculative_tokens": 4,
                "prompt_lookup_max": 4, "prompt_lookup_min": 2,
            },
        ),
        (
            Speculative(method="mtp", tokens=1),
            {"method": "mtp", "num_speculative_tokens": 1},
        ),
        (
            Speculative(method="eagle3", tokens=3, draft=_draft("org/eagle3")),
            {
                "method": "eagle3", "num_speculative_tokens": 3,
                "model": DRAFT_PATH,
            },
        ),
        (
            Speculative(method="draft_model", tokens=3, draft=_draft("org/small")),
            {
                "method": "draft_model", "num_speculative_tokens": 3,
                "model": DRAFT_PATH,
            },
        ),
        (
            Speculative(method="suffix", tokens=8),
            {"method": "suffix", "num_speculative_tokens": 8},
        ),
    ],
    ids=lambda value: value.method if isinstance(value, Speculative) else "",
)  # fmt: skip
def test_speculative_methods_have_the_keys_that_they_need(
    speculative: Speculative, expected: dict[str, object]
) -> None:
    """config/speculative.py __post_init__: model is filled in for ngram, suffix and mtp, else its lack is an
    error; drafts, like models, are the node's copies of pinned revisions."""
    assert json_of(engine("decode", speculative=speculative), "--speculative-config") == expected


# Scheduling and cache


def test_a_stated_batch_raises_the_token_budget_to_it() -> None:
    """config/scheduler.py SchedulerConfig.verify_max_model_len: max_num_batched_tokens >= max_num_seqs."""
    plan = engine("decode", workers=Workers(replicas=Replicas(desired=1), max_sequences=4096))
    assert plan.value_of("--max-num-seqs") == "4096"
    assert plan.value_of("--max-num-batched-tokens") == "4096"
    assert batched_tokens("decode", Workers(replicas=Replicas(desired=1))) == 2048


@pytest.mark.parametrize(("model", "block"), [("llama-3.1-8b-instruct", 16), ("deepseek-v3", 64)])
def test_latent_attention_gets_the_block_that_its_kernels_take(model: str, block: int) -> None:
    """v1/attention/backends/mla/: flashmla.py takes 64, flashinfer_mla.py 32 and 64."""
    assert default_block_tokens(engine_pairs()["1.6.1"], models()[model].shape) == block
    assert LATENT_BLOCK_TOKENS % 64 == 0


@pytest.mark.parametrize("model", ["llama-3.1-8b-instruct", "deepseek-v3"])
def test_an_eight_bit_cache_is_spelled_fp8(model: str) -> None:
    """config/cache.py CacheDType; the backends of v1/attention/backends/mla/ list "fp8" as well."""
    workers = Workers(replicas=Replicas(desired=1), tensor_parallel=8)
    plan = engine("worker", catalog=model, workers=workers)
    assert plan.value_of("--kv-cache-dtype") == "fp8"
    choices = vllm_flags("0.31.0")["--kv-cache-dtype"].choices
    assert choices is not None
    assert {"bfloat16", "fp8", "nvfp4"} <= set(choices)


# Environment


def test_ucx_is_configured_by_names_that_the_pinned_ucx_reads() -> None:
    """libuct_ib.so of the nixl-cu13 1.4.1 wheel knows ADDR_TYPE and TRAFFIC_CLASS, no library REG_METHODS.

    NIXL sets RNDV_THRESH itself unless the variable is there (src/plugins/ucx/ucx_utils.cpp, config.cpp).
    """
    env = env_of(ROCE)
    assert env["UCX_IB_TRAFFIC_CLASS"] == "106"
    assert env["NCCL_IB_TC"] == "106"
    assert {name for name in env if name.startswith("UCX_")} == {
        "UCX_TLS", "UCX_IB_ADDR_TYPE", "UCX_IB_TRAFFIC_CLASS",
    }  # fmt: skip
    unmarked = env_of(roce_transport(traffic_class=None, nic_resources={}))
    assert not {"UCX_IB_TRAFFIC_CLASS", "NCCL_IB_TC"} & set(unmarked)


@pytest.mark.parametrize("transport", [EFA, ROCE, tcp_transport()], ids=lambda t: t.kind)
def test_the_side_channel_address_is_the_pods(transport: Transport) -> None:
    """dynamo/vllm/args.py _uses_nixl_connector does not look into a MultiConnector."""
    found = next(e for e in transport.env if e.name == "VLLM_NIXL_SIDE_CHANNEL_HOST")
    assert found.field_ref == "status.podIP"


@pytest.mark.parametrize("transport", [ROCE, tcp_transport()], ids=lambda t: t.kind)
def test_ucx_may_copy_gpu_memory(transport: Transport) -> None:
    """src/plugins/ucx/config.cpp validateTlsCudaSupport (newer NIXL): UCX_TLS needs cuda_copy on a GPU."""
    assert "cuda_copy" in (env_of(transport)["UCX_TLS"] or "").split(",")


# Everything that is emitted

EVERY = [
    pytest.param(role, transport, offload, speculative, id=f"{role}-{transport.kind}-{number}")
    for role in ROLES
    for transport in (EFA, ROCE)
    for number, (offload, speculative) in enumerate(
        [
            (None, None),
            (Offload(cpu_gib_per_gpu=8), Speculative(method="ngram")),
            (Offload(cpu_gib_per_gpu=8, nvme_gib_per_gpu=80), Speculative(method="mtp")),
            (None, Speculative(method="eagle3", draft=_draft("org/eagle3"))),
        ]
    )
]


def _transfer_configs(config: dict[str, Any]) -> list[dict[str, Any]]:
    children = config.get("kv_connector_extra_config", {}).get("connectors", [])
    return [config, *(part for child in children for part in _transfer_configs(child))]


@pytest.mark.parametrize(("role", "transport", "offload", "speculative"), EVERY)
def test_every_emitted_key_is_one_that_the_source_reads(
    role: Role, transport: Transport, offload: Offload | None, speculative: Speculative | None
) -> None:
    """Fields of KVTransferConfig, KVEventsConfig and SpeculativeConfig; extra keys of each connector."""
    plan = engine(role, transport, offload=offload, speculative=speculative)
    if plan.value_of("--kv-transfer-config"):
        for config in _transfer_configs(json_of(plan, "--kv-transfer-config")):
            assert set(config) <= FIELDS["KVTransferConfig"]
            extra = config["kv_connector_extra_config"]
            assert set(extra) <= EXTRA_KEYS[config["kv_connector"]]
            for tier in extra.get("secondary_tiers", []):
                assert set(tier) <= FS_TIER_KEYS
    for flag, name in (("--kv-events-config", "KVEventsConfig"), ("--speculative-config", "SpeculativeConfig")):
        if plan.value_of(flag):
            assert set(json_of(plan, flag)) <= FIELDS[name]


@pytest.mark.parametrize(("role", "transport", "offload", "speculative"), EVERY)
def test_every_emitted_flag_is_declared(
    role: Role, transport: Transport, offload: Offload | None, speculative: Speculative | None
) -> None:
    """vLLM 0.31.0's flags, and the wrapper's own --disaggregation-mode (dynamo/vllm/backend_args.py)."""
    declared = {*vllm_flags("0.31.0"), "--disaggregation-mode"}
    plan = engine(role, transport, offload=offload, speculative=speculative)
    assert {a.flag for a in plan.arguments} <= declared
    assert plan.value_of("--disaggregation-mode") == (role if role in ("prefill", "decode") else None)


@pytest.mark.skipif(not CLASSES.is_file(), reason=f"{CLASSES} (fields parsed from vLLM's source) is not here")
@pytest.mark.parametrize("name", sorted(FIELDS))
def test_the_hand_written_fields_are_those_of_the_released_source(name: str) -> None:
    """Fields that a script parsed from vLLM 0.31.0's dataclasses."""
    classes = json.loads(CLASSES.read_text(encoding="utf-8"))["classes"]
    assert FIELDS[name] <= set(classes[name])
