"""From a planned role to the engine that the simulator runs: limits, cache, speed and transfer as planned."""

from pathlib import Path
from typing import Any

from inferfab.performance.npz import write_npz
from inferfab.performance.profile import PerformanceProfile, surface
from inferfab.plan.kv_transfer import KvTransferPlan
from inferfab.plan.placement import Role
from inferfab.plan.roles import RolePlan

GIGABITS = 8
_TYPES: dict[Role, str] = {"prefill": "prefill", "decode": "decode", "worker": "aggregated"}
_LEAST_BLOCKS = 64


def write_timing(profile: PerformanceProfile, path: Path) -> None:
    """The profile as the simulator's timing model ``dynamo_profile`` reads it."""
    points = surface(profile)
    write_npz(
        path,
        {
            "prefill_isl": points.prompts,
            "prefill_ttft_ms": points.ttft_ms,
            "decode_active_kv_tokens": points.kv_tokens,
            "decode_context_length": points.contexts,
            "decode_itl": points.itl_ms,
        },
    )


def engine(
    role: RolePlan,
    timing: Path,
    transfer: KvTransferPlan | None,
    *,
    prefix_caching: bool,
    startup_seconds: float | None = None,
) -> dict[str, Any]:
    """One worker of a role."""
    limit = role.engine.value_of("--max-num-batched-tokens")
    return worker_engine(
        kind=_TYPES[role.role],
        block_tokens=role.engine.block_tokens,
        kv_tokens=role.memory.kv_capacity_tokens // role.parallelism.data,
        max_sequences=role.batch.max_sequences,
        max_batched_tokens=int(limit) if limit else 8192,
        prefix_caching=prefix_caching,
        timing=timing,
        transfer_bytes_per_token=round(transfer.bytes_moved / transfer.prompt_tokens) if transfer else None,
        transfer_gigabytes_per_second=transfer.available_gbps / GIGABITS if transfer else None,
        ranks=role.parallelism.data,
        startup_seconds=startup_seconds,
    )


def worker_engine(
    *,
    kind: str,
    block_tokens: int,
    kv_tokens: int,
    max_sequences: int,
    max_batched_tokens: int,
    prefix_caching: bool,
    timing: Path,
    transfer_bytes_per_token: int | None = None,
    transfer_gigabytes_per_second: float | None = None,
    ranks: int = 1,
    startup_seconds: float | None = None,
) -> dict[str, Any]:
    """The simulator's own configuration of one worker."""
    own: dict[str, Any] = {
        "worker_type": kind,
        "block_size": block_tokens,
        "num_gpu_blocks": max(_LEAST_BLOCKS, kv_tokens // block_tokens),
        "max_num_seqs": max_sequences,
        "max_num_batched_tokens": max_batched_tokens,
        "enable_prefix_caching": prefix_caching,
        "timing_model": {"type": "external", "provider": "dynamo_profile", "config": {"path": str(timing)}},
    }
    if transfer_gigabytes_per_second:
        own["kv_transfer_bytes_per_token"] = transfer_bytes_per_token
        own["kv_transfer_bandwidth"] = transfer_gigabytes_per_second
    found: dict[str, Any] = {"engine": own}
    if ranks > 1:
        found["dp_size"] = ranks
    if startup_seconds:
        found["startup_time"] = startup_seconds
    return found
