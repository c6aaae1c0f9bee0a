"""KV cache on the move: the JSON that vLLM takes for transfer, offloading and events, for a pinned pair."""

from inferfab.plan.placement import Role
from inferfab.plan.served import ModelPlan
from inferfab.plan.transport import Transport

KV_EVENTS_PORT = 5557
"""vLLM's default; rank n of a data-parallel worker adds n, and dynamo.vllm listens there by the same rule.

Source: vllm/distributed/kv_events.py ZmqEventPublisher.offset_endpoint_port; dynamo/vllm/main.py
setup_kv_event_publisher.
"""
KV_DISK_PATH = "/var/lib/kv-cache"
"""Where the disk tier of the KV cache is mounted."""


def kv_events_config() -> dict[str, object]:
    """Keys of vLLM's KVEventsConfig, for every worker that a KV-aware router may choose, decode too.

    dynamo.vllm takes the endpoint as given. Without the flag it publishes nothing, and the router guesses
    with no error; without prefix caching it drops the flag (dynamo/vllm/args.py
    ``create_kv_events_config``).
    """
    return {"enable_kv_cache_events": True, "publisher": "zmq", "endpoint": f"tcp://*:{KV_EVENTS_PORT}"}


def kv_transfer_config(
    role: Role, model: ModelPlan, transport: Transport, *, gpus_per_rank: int
) -> dict[str, object] | None:
    """Keys of vLLM's KVTransferConfig; None where KV cache neither moves nor is offloaded.

    Explicit, and not ``--kv-offloading-size``: that flag overwrites ``kv_connector`` and ``kv_role`` of a
    disaggregated worker without a word (vllm/config/vllm.py ``_post_init_kv_transfer_config``).

    In a MultiConnector each child is a KVTransferConfig of its own, so each needs ``kv_role``. The first
    child that has tokens loads, all children save. NIXL stands first: a decode worker pulls from prefill
    and reads its CPU tier only for preempted sequences
    (vllm/distributed/kv_transfer/kv_connector/v1/multi_connector.py ``get_num_new_matched_tokens``). Dynamo
    finds NIXL among the children (dynamo/vllm/kv_connector_protocols.py ``MULTI_CONNECTOR_WRAPPERS``). Both
    children support the hybrid KV cache manager, so vLLM leaves it on for sliding-window models
    (vllm/config/vllm.py "Hybrid KV cache manager (HMA) runtime rules").
    """
    offloading = _offloading(role, model, gpus_per_rank) if model.cpu_tier_bytes_per_gpu else None
    if role not in ("prefill", "decode"):
        return offloading
    kv_role = "kv_producer" if role == "prefill" else "kv_consumer"
    transfer = _nixl(kv_role, transport)
    if offloading:
        transfer = {
            "kv_connector": "MultiConnector", "kv_role": kv_role,
            "kv_connector_extra_config": {"connectors": [transfer, offloading]},
        }  # fmt: skip
    if role == "decode":
        # vLLM's default fails an answer whose prefill worker is lost in mid-transfer (a spot reclaim, a
        # drain); this reads the prompt again on the decode worker. Taken from the outermost config only
        # (vllm/v1/core/sched/scheduler.py recompute_kv_load_failures).
        transfer["kv_load_failure_policy"] = "recompute"
    return transfer


def _nixl(kv_role: str, transport: Transport) -> dict[str, object]:
    """``kv_both`` is deprecated here; ``kv_buffer_device`` stays away, its default is the GPU.

    Source: vllm/.../v1/nixl/connector.py NixlBaseConnector, base_worker.py (``backends``, default UCX);
    vllm/config/kv_transfer.py ``kv_buffer_device_default_factory``.
    """
    return {
        "kv_connector": "NixlConnector", "kv_role": kv_role,
        "kv_connector_extra_config": {"backends": [transport.nixl_backend]},
    }  # fmt: skip


def disk_bytes_per_gpu(role: Role, model: ModelPlan) -> int:
    """None on decode workers: a lookup on disk would hold up each request, and NIXL's tokens win anyway."""
    return 0 if role == "decode" or not model.cpu_tier_bytes_per_gpu else model.nvme_tier_bytes_per_gpu


def _offloading(role: Role, model: ModelPlan, gpus_per_rank: int) -> dict[str, object]:
    """CPU tier, and a disk tier behind it, of one data-parallel rank.

    ``cpu_bytes_to_use`` is of all tensor- and pipeline-parallel ranks together, but each data-parallel rank
    has an engine and a region of its own (vllm/v1/kv_offload/cpu/spec.py CPUOffloadingSpec;
    vllm/v1/engine/core.py, ``engine_id`` with "_dp"). Without ``self_describing_kv_events`` the router gets
    placeholders and takes blocks in CPU memory for lost (vllm/.../v1/offloading/events.py). The disk tier
    takes ``root_dir`` and no capacity; a key that its constructor does not have ends the start
    (vllm/v1/kv_offload/tiering/fs/manager.py FileSystemTierManager).
    """
    extra: dict[str, object] = {
        "cpu_bytes_to_use": model.cpu_tier_bytes_per_gpu * gpus_per_rank,
        "self_describing_kv_events": True,
    }
    if disk_bytes_per_gpu(role, model):
        extra["spec_name"] = "TieringOffloadingSpec"
        extra["secondary_tiers"] = [{"type": "fs", "root_dir": KV_DISK_PATH}]
    return {"kv_connector": "OffloadingConnector", "kv_role": "kv_both", "kv_connector_extra_config": extra}
