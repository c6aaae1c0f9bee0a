"""A sizing, ready to be shown."""

from inferfab.record import Record
from inferfab.sizing.shapes import Passed


class CurvePoint(Record):
    """The chosen fleet at another load."""

    load: float
    """Times the sized load."""
    ttft_p50_ms: float | None
    ttft_p95_ms: float | None
    ttft_p99_ms: float | None
    itl_p95_ms: float | None
    kept: bool


class Option(Record):
    """One shape at its cheapest."""

    name: str
    instance: str
    gpu: str
    topology: str
    tensor: int
    batch: int
    nodes: dict[str, int]
    """By role."""
    workers: dict[str, int]
    gpus: int
    usd_per_hour: float
    usd_per_month: float
    priced: str
    limit: str
    speed: str
    """Where the speeds come from."""


class Queueing(Record):
    """Why it is not smaller: the shape of the traffic."""

    dispersion_10s: float | None
    """Variance over mean of arrivals in 10 s; 1 is what independent users make."""
    prompt_p50: int
    prompt_p99: int
    breaks_at: float | None
    """Times the sized load at which the first promise breaks; None if none broke."""
    broke: str

    @property
    def utilization(self) -> float | None:
        """At the sized load."""
        return 1 / self.breaks_at if self.breaks_at else None


class PoolSize(Record):
    """One pool in one cell."""

    cell: str
    pool: str
    tier: str
    model: str
    promises: tuple[str, ...]
    traffic: str
    requests: int
    rate_rps: float
    planned_gpus: int
    planned_usd_per_hour: float | None
    """At the size that the file has; None where a price is unknown."""
    best: Option | None
    others: tuple[Option, ...]
    passed: tuple[Passed, ...]
    queueing: Queueing | None
    curve: tuple[CurvePoint, ...]
    trials: int
    simulations: int
    exhausted: bool
    why: str = ""
    """Where there was nothing to size."""


class Sizing(Record):
    """All pools that were sized."""

    environment: str
    engine: str
    utilization: float
    pools: tuple[PoolSize, ...]

    @property
    def complete(self) -> bool:
        return bool(self.pools) and all(p.best is not None or p.why for p in self.pools)
