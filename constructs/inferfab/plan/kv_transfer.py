"""Whether a pool's KV cache can move from prefill to decode within its share of the promise."""

from pydantic import NonNegativeFloat, PositiveInt

from inferfab.plan.fabric import RoleFabricPlan
from inferfab.plan.kv_cache import bytes_per_sequence
from inferfab.plan.served import ModelPlan
from inferfab.record import Record

JITTER_BUDGET_MS = 10.0
COMPETING_BURST_BYTES = 10**9
"""One burst of other traffic, for example a file read: 1 GB on one card."""


class KvTransferPlan(Record):
    """One prompt's KV cache from a prefill worker to a decode worker."""

    prompt_tokens: PositiveInt
    bytes_per_request: NonNegativeFloat
    ttft_promise_ms: float | None
    """The strictest TTFT promise of the tier; None where it makes none."""
    budget_ms: float | None
    """Share of that promise that the transfer may take."""
    needed_gbps: float | None
    """Rate that keeps the budget, for one transfer of a pair."""
    line_gbps: NonNegativeFloat
    """Line rate between the pair: the lesser of both workers' interfaces."""
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

    @property
    def keeps_budget(self) -> bool:
        return self.needed_gbps is None or self.needed_gbps <= self.available_gbps


def plan_kv_transfer(
    model: ModelPlan,
    prefill: RoleFabricPlan,
    decode: RoleFabricPlan,
    *,
    prompt_tokens: int,
    ttft_promise_ms: float | None,
    share_of_ttft: float,
) -> KvTransferPlan:
    """Needed rate = bytes of the prompt's KV cache x 8 / (promise x share)."""
    size = bytes_per_sequence(model.shape, model.kv_precision, prompt_tokens)
    if model.draft_shape:
        size += bytes_per_sequence(model.draft_shape, model.kv_precision, prompt_tokens)
    budget = ttft_promise_ms * share_of_ttft if ttft_promise_ms is not None else None
    slower = min(prefill, decode, key=lambda f: f.usable_gbps_per_worker)
    available = slower.usable_gbps_per_worker
    card = min((n.gbps for n in slower.layout if n.type in ("efa-only", "mrdma")), default=slower.line_gbps_per_worker)
    burst_ms = COMPETING_BURST_BYTES * 8 / (card * 1e9) * 1000 if card else 0.0
    return KvTransferPlan(
        prompt_tokens=prompt_tokens,
        bytes_per_request=size,
        ttft_promise_ms=ttft_promise_ms,
        budget_ms=budget,
        needed_gbps=size * 8 / (budget / 1000) / 1e9 if budget else None,
        line_gbps=slower.line_gbps_per_worker,
        efficiency=slower.efficiency,
        available_gbps=available,
        transfer_ms=size * 8 / (available * 1e9) * 1000 if available else None,
        burst_ms=burst_ms,
        burst_share_of_jitter_budget=burst_ms / JITTER_BUDGET_MS,
        burst_can_reach_fabric=slower.kind != "roce",
    )
