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
    itl_p99_ms: float | None = None
    kept: bool


class Option(Record):
    """One shape at its cheapest."""

    name: str
    instance: str
    gpu: str
    topology: str
    tensor: dict[str, int]
    """GPUs that split each layer, by role; empty for a shared pool."""
    pipeline: int
    """Nodes of a worker, where one does not do."""
    batch: int
    nodes: dict[str, int]
    """By role."""
    workers: dict[str, int]
    gpus: int
    usd_per_hour: float | None
    """None where an owned server's price is not known."""
    usd_per_month: float | None
    priced: str
    limit: str
    speed: str
    """Where the speeds come from."""

    @property
    def cost(self) -> float:
        """By which options are compared: dollars an hour, or GPUs where no price is known."""
        return self.gpus if self.usd_per_hour is None else self.usd_per_hour

    @property
    def split(self) -> str:
        """``TP4``, ``TP2 + TP4`` where roles differ, ``TP8 PP2`` over two nodes."""
        sizes = dict.fromkeys(f"TP{n}" for n in self.tensor.values())
        return " + ".join(sizes) + (f" PP{self.pipeline}" if self.pipeline > 1 else "")


class Tail(Record):
    """Why the slowest requests are slow: one cause taken away at a time, at the load that the fleet is sized for."""

    metric: str
    """``TTFT``, or ``ITL`` where nothing is promised of the first."""
    bound_ms: float | None
    """The strictest promise of it; None where there is none."""
    p99_ms: float | None
    """As the traffic is."""
    even_p99_ms: float | None
    """The same requests at even distances: without bursts."""
    short_p99_ms: float | None
    """Prompts beyond the 95th percentile cut to it: without the long tail."""
    long_prompt_tokens: int
    """That percentile."""
    breaks_at: float | None
    """Times the worst hour's load at which p99 passes the bound; None if it does not up to thirty times."""

    @property
    def utilization(self) -> float | None:
        """Of the load at which p99 breaks, the worst hour's part."""
        return 1 / self.breaks_at if self.breaks_at else None

    @property
    def burst_share(self) -> float | None:
        """Part of p99 that bursts make."""
        return _share(self.p99_ms, self.even_p99_ms)

    @property
    def long_share(self) -> float | None:
        """Part of p99 that the longest prompts make."""
        return _share(self.p99_ms, self.short_p99_ms)


def _share(whole: float | None, rest: float | None) -> float | None:
    return max(0.0, 1 - rest / whole) if whole and rest is not None else None


class Queueing(Record):
    """Why it is not smaller: the shape of the traffic."""

    dispersion_10s: float | None
    """Variance over mean of arrivals in 10 s; 1 is what independent users make."""
    prompt_p50: int
    prompt_p99: int
    breaks_at: float | None
    """Times the sized load at which the first promise breaks; None if none broke."""
    broke: str
    tail: "Tail | None" = None

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
    two_away_upto: float | None = None
    """Part of the worst hour's load up to which every promise holds with one node in maintenance and another lost."""
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
    spare: int = 1
    """Nodes of a role that may be away at once in the worst hour."""
    pools: tuple[PoolSize, ...]

    @property
    def complete(self) -> bool:
        return bool(self.pools) and all(p.best is not None or p.why for p in self.pools)
