"""Whether a pool's KV cache can move from prefill to decode within its share of the promise.

A prompt goes from one data-parallel rank to one data-parallel rank, whose GPUs share the transfer. Each GPU of the
decode rank pulls what it will hold: its own KV heads, or a copy where tensor parallelism copies (latent attention;
more GPUs than KV heads). It pulls each piece from one GPU of the prefill rank, so copies on that side are no help
(vLLM 0.31.0 vllm/distributed/kv_transfer/kv_connector/v1/nixl/tp_mapping.py compute_tp_mapping).
"""

from pydantic import NonNegativeFloat, PositiveInt

from inferfab.catalog.models import LatentAttention, ModelShape
from inferfab.plan.fabric import RoleFabricPlan
from inferfab.plan.kv_cache import KvPrecision, bytes_per_sequence, bytes_per_sequence_and_gpu
from inferfab.plan.memory import Parallelism
from inferfab.plan.served import ModelPlan
from inferfab.record import Record

JITTER_BUDGET_MS = 10.0
COMPETING_BURST_BYTES = 10**9
"""One burst of other traffic, for example a file read: 1 GB on one card."""


class TransferEnd(Record):
    """One side of the transfer."""

    fabric: RoleFabricPlan
    parallel: Parallelism


class KvTransferPlan(Record):
    """One prompt's KV cache from a rank of a prefill worker to a rank of a decode worker."""

    prompt_tokens: PositiveInt
    bytes_per_request: NonNegativeFloat
    """The prompt's KV cache, once."""
    bytes_moved: NonNegativeFloat
    """What crosses the fabric: as many copies as the GPUs of the decode rank hold of it together."""
    ttft_promise_ms: float | None
    """The strictest TTFT promise of the tier; None where it makes none."""
    budget_ms: float | None
    """Share of that promise that the transfer may take."""
    needed_gbps: float | None
    """Rate that keeps the budget for what is moved, one transfer of a pair of ranks at a time."""
    line_gbps: NonNegativeFloat
    """Line rate between the ranks: the lesser of the interfaces of the GPUs that send and of those that receive."""
    efficiency: NonNegativeFloat
    available_gbps: NonNegativeFloat
    transfer_ms: float | None
    """One transfer at the available rate; None where there is no path."""
    burst_ms: NonNegativeFloat
    """What a competing burst of 1 GB on one card adds: transfers end with their slowest card."""
    burst_share_of_jitter_budget: NonNegativeFloat
    """That, over the jitter budget of 10 ms; above 1 the burst alone breaks it."""
    burst_can_reach_fabric: bool
    """False where storage and model loading have NICs of their own."""
    oversubscription: float = 1.0
    """Of the leaves between; what is available is after it."""
    shared_part: float = 1.0
    """Part that is left while other traffic bursts on the same NICs; what is available is after it."""
    parts: PositiveInt = 1
    """Reads into which one prompt is split, side by side: each GPU of the decode rank reads from one GPU of the prefill
    rank, or from several that hold different KV heads. vLLM times each by itself (vLLM 0.31.0 nixl/base_worker.py,
    ``record_transfer``).
    """

    @property
    def available_gbps_per_part(self) -> float:
        """What one of the reads should reach while all of them run."""
        return self.available_gbps / self.parts

    @property
    def keeps_budget(self) -> bool:
        return self.needed_gbps is None or self.needed_gbps <= self.available_gbps


def bytes_moved(shape: ModelShape, precision: KvPrecision, tokens: int, tensor_parallel: int) -> float:
    """What the GPUs of a decode rank pull together: the cache once, or more where they hold copies."""
    return tensor_parallel * bytes_per_sequence_and_gpu(
        shape, precision, tokens, tensor_parallel=tensor_parallel, pipeline_parallel=1
    )


def sending_gpus(shape: ModelShape, prefill_tensor: int, decode_tensor: int) -> int:
    """GPUs of a tensor-parallel group that send: one for each distinct piece of the cache or each GPU that pulls.

    Latent attention has a single piece, grouped-query attention one for each KV head.
    """
    pieces = min(1 if isinstance(group, LatentAttention) else group.kv_heads for group in shape.attention)
    return min(prefill_tensor, max(pieces, decode_tensor))


def plan_kv_transfer(
    model: ModelPlan,
    prefill: TransferEnd,
    decode: TransferEnd,
    *,
    prompt_tokens: int,
    ttft_promise_ms: float | None,
    share_of_ttft: float,
) -> KvTransferPlan:
    """Needed rate = bytes moved x 8 / (promise x share); rate that is there = the slower end's.

    The GPUs of a rank share its interfaces evenly, so a prefill rank of which only some GPUs send has their part.
    """
    shapes = [model.shape, *([model.draft_shape] if model.draft_shape else [])]
    size = sum(bytes_per_sequence(shape, model.kv_precision, prompt_tokens) for shape in shapes)
    tensor = decode.parallel.tensor
    moved = sum(bytes_moved(shape, model.kv_precision, prompt_tokens, tensor) for shape in shapes)
    senders = min(sending_gpus(shape, prefill.parallel.tensor, tensor) for shape in shapes)
    reads = -(-senders // tensor)
    sends = senders / prefill.parallel.tensor if prefill.fabric.kind != "tcp" else 1.0
    lines = (
        (prefill.fabric.line_gbps_per_rank * sends, prefill.fabric),
        (decode.fabric.line_gbps_per_rank, decode.fabric),
    )
    line, slower = min(lines, key=lambda end: end[0] * end[1].usable_part)
    available = line * slower.usable_part
    budget = ttft_promise_ms * share_of_ttft if ttft_promise_ms is not None else None
    card = min((n.gbps for n in slower.layout if n.type in ("efa-only", "mrdma", "rail")), default=line)
    burst_ms = COMPETING_BURST_BYTES * 8 / (card * 1e9) * 1000 if card else 0.0
    return KvTransferPlan(
        prompt_tokens=prompt_tokens,
        bytes_per_request=size,
        bytes_moved=moved,
        ttft_promise_ms=ttft_promise_ms,
        budget_ms=budget,
        needed_gbps=moved * 8 / (budget / 1000) / 1e9 if budget else None,
        line_gbps=line,
        efficiency=slower.efficiency,
        available_gbps=available,
        transfer_ms=moved * 8 / (available * 1e9) * 1000 if available else None,
        burst_ms=burst_ms,
        burst_share_of_jitter_budget=burst_ms / JITTER_BUDGET_MS,
        burst_can_reach_fabric=slower.kind != "roce" or slower.shared_part < 1,
        oversubscription=slower.oversubscription,
        shared_part=slower.shared_part,
        parts=tensor * decode.parallel.pipeline * reads,
    )
