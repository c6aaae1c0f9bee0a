"""Forecasts against what came."""

from functools import lru_cache

from inferfab.autoscale.forecast import before, pinball_loss
from inferfab.autoscale.result import Judged
from inferfab.autoscale.rolling import Samples, quantile, rolling_quantile
from inferfab.autoscale.settings import QUIET_QUANTILE, ForecastSettings


def judge(rate: Samples, forecasts: Samples, settings: ForecastSettings, start: int, end: int) -> Judged | None:
    """Windows from ``start`` to before ``end``; None where nothing can be compared.

    A forecast is compared with the window for which it was made, one horizon later. Whether an hour is quiet is said
    from what was known when the forecast was made.
    """
    steps, q = settings.horizon_s // settings.interval_s, settings.quantile
    calm = _calm(tuple(rate), settings.window_s // settings.interval_s)
    made = before(forecasts, steps)
    rows: list[tuple[float, float, bool]] = []
    for at in range(max(start, steps), end):
        actual, was = rate[at], made[at]
        then, limit = rate[at - steps], calm[at - steps]
        if actual is not None and was is not None:
            rows.append((actual, was, then is not None and limit is not None and then <= limit))
    if not rows or not sum(r[0] for r in rows):
        return None
    quiet = [r for r in rows if r[2]]
    return Judged(
        pinball_percent=_pinball(rows, q),
        coverage_percent=_coverage(rows),
        quiet_pinball_percent=_pinball(quiet, q) if quiet and sum(r[0] for r in quiet) else None,
        quiet_coverage_percent=_coverage(quiet) if quiet else None,
        windows=len(rows),
    )


@lru_cache(maxsize=16)
def _calm(rate: tuple[float | None, ...], window: int) -> list[float | None]:
    """Every way of scaling is judged by the same quiet hours."""
    return rolling_quantile(rate, QUIET_QUANTILE, window)


def _pinball(rows: list[tuple[float, float, bool]], q: float) -> float:
    return 100 * sum(pinball_loss(actual, was, q) for actual, was, _ in rows) / sum(r[0] for r in rows)


def _coverage(rows: list[tuple[float, float, bool]]) -> float:
    return 100 * sum(1 for actual, was, _ in rows if actual <= was) / len(rows)


def last_value_errors(rate: Samples, steps: int, start: int, end: int) -> tuple[float, float]:
    """(absolute error in percent of demand, p95 of demand above the last value in percent of it)."""
    pairs = [
        (now, was)
        for now, was in zip(rate[start + steps : end], rate[start : end - steps], strict=True)
        if now is not None and was is not None
    ]
    total = sum(now for now, _ in pairs)
    if not total:
        return 0.0, 0.0
    # Next to nothing of demand is no share of it.
    under = sorted(max(now - was, 0.0) / now for now, was in pairs if now > 1)
    wape = 100 * sum(abs(now - was) for now, was in pairs) / total
    return wape, 100 * quantile(under, 0.95) if under else 0.0
