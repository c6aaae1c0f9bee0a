"""Which requests a pool gets in a cell: from a trace or a profile, thinned to the cell's share, scaled.

A trace longer than an hour gives its busiest hour. Of more requests than a run takes, the first so many of that hour
are taken, so the rate stays what it is.
"""

import random
import zlib
from collections.abc import Iterable
from pathlib import Path

from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.plan.pools import PoolPlan
from inferfab.record import Record
from inferfab.traffic.draw import draw
from inferfab.traffic.profile import TrafficProfile, read_profile
from inferfab.traffic.reading import Trace
from inferfab.traffic.rows import Request, UnusableTrace
from inferfab.traffic.sketches import Windows

MOST_REQUESTS = 60_000
"""Of one run: some 300 MB and 15 s of simulation."""
DRAWN_SECONDS = 1800.0
LEAST_DRAWN = 2_000
_HOUR_S, _STEP_S = 3600.0, 60.0


class Source(Record):
    """Where requests come from. Exactly one of the two is set."""

    trace: Path | None = None
    profile: Path | None = None
    scale: float = 1.0

    @property
    def words(self) -> str:
        path = self.trace or self.profile
        assert path is not None
        kind = "trace" if self.trace else "profile"
        return f"{kind} {path.name}" + (f" × {self.scale:g}" if self.scale != 1 else "")


class Demand(Record):
    """Requests of one pool in one cell."""

    requests: tuple[Request, ...]
    speedup: float
    """Arrivals are replayed so many times as fast: how a trace is scaled up."""
    too_long: int
    """Left out: the model is served with a shorter context."""
    words: str

    @property
    def rate_rps(self) -> float:
        span = self.requests[-1].at_s - self.requests[0].at_s if len(self.requests) > 1 else 0.0
        return len(self.requests) / span * self.speedup if span else 0.0


class Reader:
    """Reads each source once."""

    def __init__(self) -> None:
        self._traces: dict[Path, tuple[Request, ...]] = {}
        self._drawn: dict[tuple[Path, float], tuple[Request, ...]] = {}

    def whole(self, source: Source, factor: float = 1.0) -> tuple[tuple[Request, ...], float]:
        """All requests of a source, and the part of their rate that is still to be applied.

        :raises UnusableTrace: if a trace is none.
        :raises UnreadableProfile: if a profile is none.
        :raises Undrawable: if a profile has no lengths.
        """
        if source.trace is not None:
            if source.trace not in self._traces:
                self._traces[source.trace] = busiest(source.trace)
            return self._traces[source.trace], factor * source.scale
        assert source.profile is not None
        profile = read_profile(source.profile)
        rate = worst_rate(profile) * source.scale * factor
        key = (source.profile, rate)
        if key not in self._drawn:
            count = int(min(MOST_REQUESTS, max(LEAST_DRAWN, rate * DRAWN_SECONDS)))
            self._drawn[key] = tuple(draw(profile, rate_rps=rate, count=count))
        return self._drawn[key], 1.0


def worst_rate(profile: TrafficProfile) -> float:
    """Of the busiest hour; the mean of a trace that is not even an hour long."""
    return profile.rates.worst_hour_rps or profile.rates.mean_rps


def busiest(path: Path) -> tuple[Request, ...]:
    """The busiest hour of a trace, at most :data:`MOST_REQUESTS`.

    :raises UnusableTrace: if it is no trace of requests.
    """
    trace = Trace(path)
    if trace.kind == "rates":
        raise UnusableTrace(
            f"{path} is a rate series, which has no requests to replay; give --traffic with a trace's profile"
        )
    windows = Windows(_STEP_S)
    first = last = None
    for request in trace.requests():
        windows.add(request.at_s)
        first = request.at_s if first is None else min(first, request.at_s)
        last = request.at_s if last is None else max(last, request.at_s)
    assert first is not None
    assert last is not None
    start, end = first, last
    if last - first > _HOUR_S * 1.05:
        row = max(1, round(_HOUR_S / windows.width_s))
        begin = max(windows.counts, key=lambda at: sum(windows.counts.get(i, 0) for i in range(at, at + row)))
        start, end = begin * windows.width_s, (begin + row) * windows.width_s
    found = [r for r in Trace(path).requests() if start <= r.at_s <= end]
    found.sort(key=lambda r: r.at_s)
    return tuple(found[:MOST_REQUESTS])


def demand(
    reader: Reader, source: Source, cell: CellPlan, pool: PoolPlan, share: float, context_tokens: int, model: str = ""
) -> Demand:
    """Of one pool in one cell.

    :param share: of the source's requests that come here.
    :param model: of a shared pool: each of its models gets requests of its own.
    """
    requests, factor = reader.whole(source, share)
    if factor < 1:
        requests = thinned(requests, factor, f"{cell.name}/{pool.name}/{model}".rstrip("/"))
    fitting = tuple(r for r in requests if r.prompt_tokens + r.output_tokens <= context_tokens)
    return Demand(
        requests=fitting,
        speedup=max(1.0, factor),
        too_long=len(requests) - len(fitting),
        words=source.words,
    )


def thinned(requests: Iterable[Request], share: float, seed: str) -> tuple[Request, ...]:
    """Each request with probability ``share``; the same ones every time."""
    generator = random.Random(zlib.crc32(seed.encode()))
    return tuple(r for r in requests if generator.random() < share)


def source_of(
    fleet: FleetPlan, pool: PoolPlan, told: Source | None, folder: Path, *, parts: bool = False
) -> tuple[Source, float] | None:
    """What a pool is to be given, and its part of it; None where nothing names traffic for it.

    What the command is told wins over the file, a pool's own profile over its tier's. With ``parts`` it stands for
    what the file names: a tier's is dealt to the tier's pools; else each pool gets the whole. Of a tier's traffic a
    model has the part that its pools' planned capacity is of all pools of the tier, in all cells.
    """
    tier = next(t for t in fleet.tiers if t.name == pool.tier)
    if told is not None and (not parts or pool.traffic is not None or tier.traffic is None):
        return told, 1.0
    if pool.traffic is not None:
        return Source(profile=folder / pool.traffic.profile, scale=pool.traffic.scale), 1.0
    if tier.traffic is None:
        return None
    planned = {p.name: 0.0 for p in fleet.pools if p.tier == pool.tier and p.traffic is None}
    for each in fleet.pools:
        if each.name in planned:
            planned[each.name] += each.requests_per_second.low
    whole = sum(planned.values())
    part = planned[pool.name] / whole if whole else 1 / len(planned)
    return told or Source(profile=folder / tier.traffic.profile, scale=tier.traffic.scale), part


def cell_shares(fleet: FleetPlan, pool: str, lost: str | None = None) -> dict[str, float]:
    """Part of a pool's traffic by cell, over the cells that have it.

    :param lost: a cell that is gone; its traffic goes to the others in proportion, where its tier may spill.
    """
    cells = [c for c in fleet.cells if any(p.name == pool for p in c.pools)]
    whole = sum(c.traffic_share for c in cells)
    shares = {c.name: c.traffic_share / whole if whole else 1 / len(cells) for c in cells}
    if lost is None or lost not in shares:
        return shares
    tier = next(p.tier for p in fleet.pools if p.name == pool)
    spills = next(t.spill for t in fleet.tiers if t.name == tier) != "never"
    gone = shares.pop(lost)
    rest = sum(shares.values())
    return {name: s / rest * (rest + gone) if spills and rest else s for name, s in shares.items()}
