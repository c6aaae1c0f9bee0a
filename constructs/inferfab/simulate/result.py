"""What a simulation found, per pool."""

from typing import Literal

from inferfab.plan.quantities import Range
from inferfab.record import Record


class PromiseResult(Record):
    """One promise, held against the simulated requests."""

    promise: str
    percentile: float
    share: float
    """Of the requests that it speaks of, the part that is inside."""
    seen_ms: float | None
    """The promised percentile as simulated; None where it is a percentile that was not kept (whole answers)."""
    kept: bool


class Busy(Record):
    """How full a pool is, from 0 to 1 and above; what it has none of is 0."""

    prefill: float
    """Time that reading the prompts takes, over the time that the workers have."""
    kv: float
    """KV cache held by answers in progress, of the whole."""
    batch: float
    """Answers in progress, of the batch limits."""

    @property
    def fullest(self) -> tuple[str, float]:
        return max((("prefill", self.prefill), ("KV cache", self.kv), ("batch", self.batch)), key=lambda b: b[1])


class Knee(Record):
    """The load at which the first promise breaks."""

    factor: float
    """Times the simulated load. At least this much where ``broke`` is empty."""
    broke: str
    """The promise that breaks first; empty if none did up to the factor."""
    fullest: str
    """What was fullest then."""

    @property
    def utilization(self) -> float:
        """Of the simulated load."""
        return 1 / self.factor


class LossResult(Record):
    """A node of one role is lost at a quarter of the run, and another serves after the provisioning delay."""

    role: str
    workers: int
    provision_seconds: float | None = None
    """Until another node serves; None where none does."""
    provision_how: str = ""
    broken_off: int = 0
    """Answers that ended with the node; they keep no promise."""
    outage: bool
    """No worker of the role is left."""
    promises: tuple[PromiseResult, ...]


class PoolResult(Record):
    """One pool in one cell."""

    cell: str
    pool: str
    tier: str
    model: str
    fabric: str
    status: Literal["simulated", "no traffic", "not simulated"]
    why: str = ""
    traffic: str = ""
    requests: int = 0
    too_long: int = 0
    rate_rps: float = 0.0
    good_rps: float = 0.0
    """Goodput: requests a second inside every promise of p90 and above."""
    ttft_ms: dict[str, float | None] = {}
    itl_ms: dict[str, float | None] = {}
    promises: tuple[PromiseResult, ...] = ()
    busy: Busy | None = None
    reused_share: float = 0.0
    gpus: int = 0
    gpu_hours: float = 0.0
    usd_per_million_output_tokens: Range | None = None
    usd_per_million_total_tokens: Range | None = None
    knee: Knee | None = None
    losses: tuple[LossResult, ...] = ()
    simulated_per_second: float = 0.0
    """Requests a second of this machine's time."""
    notes: tuple[str, ...] = ()

    @property
    def kept(self) -> bool:
        return all(p.kept for p in self.promises) and all(
            not loss.outage and all(p.kept for p in loss.promises) for loss in self.losses
        )


class Simulation(Record):
    """All pools of an environment."""

    environment: str
    engine: str
    scenario: str
    pools: tuple[PoolResult, ...]

    @property
    def kept(self) -> bool:
        return all(p.kept for p in self.pools)
