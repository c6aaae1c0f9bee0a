"""Quantiles and means over a trailing window, as PromQL has them; None is a missing sample."""

import math
from bisect import bisect_left, insort
from collections.abc import Sequence

Samples = Sequence[float | None]


def quantile(ordered: Sequence[float], q: float) -> float:
    """Of a sorted, non-empty list: linear between the two nearest (prometheus promql/quantile.go, ``quantile``)."""
    rank = q * (len(ordered) - 1)
    low = max(0, math.floor(rank))
    high = min(len(ordered) - 1, low + 1)
    weight = rank - math.floor(rank)
    return ordered[low] * (1 - weight) + ordered[high] * weight


def rolling_quantile(samples: Samples, q: float, window: int, least: int = 1) -> list[float | None]:
    """``quantile_over_time`` of the last ``window`` samples, the present one among them.

    :param least: fewest present samples for which it is said at all.
    """
    ordered: list[float] = []
    found: list[float | None] = []
    for at, value in enumerate(samples):
        if value is not None:
            insort(ordered, value)
        gone = samples[at - window] if at >= window else None
        if gone is not None:
            del ordered[bisect_left(ordered, gone)]
        found.append(quantile(ordered, q) if len(ordered) >= max(1, least) else None)
    return found


def rolling_mean(samples: Samples, window: int) -> list[float | None]:
    """``avg_over_time`` of the last ``window`` samples."""
    total, compensation, count = 0.0, 0.0, 0
    found: list[float | None] = []

    def add(value: float) -> None:
        # Neumaier's sum: what leaves the window has to take out exactly what it put in.
        nonlocal total, compensation
        after = total + value
        compensation += (total - after) + value if abs(total) >= abs(value) else (value - after) + total
        total = after

    for at, value in enumerate(samples):
        if value is not None:
            add(value)
            count += 1
        gone = samples[at - window] if at >= window else None
        if gone is not None:
            add(-gone)
            count -= 1
        found.append((total + compensation) / count if count else None)
    return found
