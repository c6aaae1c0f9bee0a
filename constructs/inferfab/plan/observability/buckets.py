"""Edges of the frontend's histograms: a share under a promise is exact only where the promise lies on an edge.

Dynamo's frontend makes edge i = MIN * (MAX / MIN) ^ (i / (COUNT - 1)), rounded to two significant digits, the first
one 0 (measured on ai-dynamo 1.6.1; DYN_METRICS_TTFT_MIN and its like).
"""

import itertools
import math
from collections.abc import Sequence
from functools import cache

from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt

from inferfab.environment.tiers import Metric
from inferfab.plan.tiers import TierPlan
from inferfab.plan.transport import EnvValue
from inferfab.record import Record

_FINEST, _COARSEST = 1.19, 2.0
"""Ratio of neighbouring edges. Between promises, no finer than a quarter octave, for each edge is a series a model."""
_BELOW, _ABOVE = 16.0, 64.0
"""How far edges reach below the lowest promise and above the highest."""
MOST_EDGES = 48
_GRID = 400


class Buckets(Record):
    """Edges of one histogram of the frontends of a graph."""

    prefix: str
    """``DYN_METRICS_TTFT``."""
    min_seconds: PositiveFloat
    max_seconds: PositiveFloat
    count: PositiveInt
    edges_seconds: tuple[NonNegativeFloat, ...]
    """As the frontend will have them, without infinity."""
    missed_ms: tuple[float, ...] = ()
    """Promises that are on no edge."""

    @property
    def env(self) -> tuple[EnvValue, ...]:
        return (
            EnvValue(name=f"{self.prefix}_MIN", value=repr(self.min_seconds)),
            EnvValue(name=f"{self.prefix}_MAX", value=repr(self.max_seconds)),
            EnvValue(name=f"{self.prefix}_COUNT", value=str(self.count)),
        )


def two_digits(value: float) -> float:
    """Rounded to two significant digits, as the frontend rounds its edges."""
    return float(f"{value:.1e}")


def edges(low: float, high: float, count: int) -> tuple[float, ...]:
    """Edges in seconds that the frontend makes of its three settings; without repetition."""
    raw = (two_digits(low * (high / low) ** (i / (count - 1))) for i in range(count))
    return tuple(dict.fromkeys((0.0, *list(raw)[1:])))


@cache
def _planned(prefix: str, wanted: tuple[float, ...]) -> Buckets | None:
    best: Buckets | None = None
    for step in _steps(wanted):
        below = math.ceil(math.log(_BELOW) / math.log(step))
        above = math.ceil(math.log(wanted[-1] / wanted[0] * _ABOVE) / math.log(step))
        count = below + above + 1
        if count > MOST_EDGES:
            continue
        # Few digits, for people read them in a manifest.
        low, high = (float(f"{wanted[0] * step**n:.9g}") for n in (-below, above))
        made = edges(low, high, count)
        missed = tuple(round(w * 1000, 6) for w in wanted if w not in made)
        found = Buckets(
            prefix=prefix, min_seconds=low, max_seconds=high, count=count, edges_seconds=made, missed_ms=missed
        )
        if not missed:
            return found
        if best is None or len(missed) < len(best.missed_ms):
            best = found
    return best


def plan_buckets(prefix: str, promises_ms: Sequence[float]) -> Buckets | None:
    """Edges with every promise on one; None where nothing is promised.

    The coarsest steps between :data:`_FINEST` and :data:`_COARSEST` that fit; where none fits all promises, those that
    fit the most.
    """
    wanted = tuple(sorted({ms / 1000 for ms in promises_ms}))
    return _planned(prefix, wanted) if wanted else None


def _steps(wanted: Sequence[float]) -> list[float]:
    """Candidates, the most legible first: square roots of two, then roots of the ratios between promises."""
    ratios = [b / a for a, b in itertools.pairwise(wanted)]
    whole = wanted[-1] / wanted[0]
    roots = {ratio ** (1 / n) for ratio in (*ratios, whole) for n in range(1, 33) if ratio > 1}
    fitting = sorted((r for r in roots if _FINEST <= r <= _COARSEST), reverse=True)
    # Rounding is forgiving, so between those some other step often hits all promises, too.
    grid = [_COARSEST * (_FINEST / _COARSEST) ** (i / _GRID) for i in range(_GRID + 1)] if len(wanted) > 1 else []
    return [2**0.5, *fitting, *grid]


def covering_edge(edges_seconds: Sequence[float], promise_seconds: float) -> float | None:
    """The lowest edge that is not below a promise; None above the last.

    A share under it is never less than the share under the promise: when even that is too small, the promise is
    broken, so an alert on it is never false, and may come late.
    """
    return min((e for e in edges_seconds if e >= promise_seconds), default=None)


_PREFIX: dict[Metric, str] = {
    "ttft": "DYN_METRICS_TTFT",
    "itl": "DYN_METRICS_ITL",
    "whole_answer": "DYN_METRICS_REQUEST_DURATION",
}


def frontend_buckets(tiers: Sequence[TierPlan]) -> tuple[Buckets, ...]:
    """Histograms of frontends that serve these tiers; a frontend has one set of edges for all of its requests."""
    made = (
        plan_buckets(prefix, [p.at_most_ms for t in tiers for p in t.promises if p.metric == metric])
        for metric, prefix in _PREFIX.items()
    )
    return tuple(one for one in made if one is not None)


def edges_of(buckets: Sequence[Buckets], metric: Metric) -> tuple[float, ...]:
    """Edges that were set for a metric; empty where nothing is promised."""
    return next((b.edges_seconds for b in buckets if b.prefix == _PREFIX[metric]), ())
