"""The forecast, sample by sample: the arithmetic of the recording rules (render/autoscaling/forecast_rules.py).

Forecast = current rate x the q-quantile of rate(t) / rate(t - h) over a trailing window, never below the last value.
Where it has not been better than a constant factor over that window, by pinball loss, the constant factor stands in.
Quiet hours are judged by themselves: demand returns from them faster than it changes otherwise.
Each list has one entry a sample of the series; None is a sample that Prometheus would not have.
"""

from dataclasses import dataclass

from inferfab.autoscale.rolling import Samples, rolling_mean, rolling_quantile
from inferfab.autoscale.settings import QUIET_QUANTILE, ForecastSettings


@dataclass(frozen=True)
class Forecast:
    """All recorded series of one pool."""

    rate: list[float | None]
    growth: list[float | None]
    """Rate over the rate one horizon ago."""
    quantile: list[float | None]
    """Candidate: rate times the quantile of growth."""
    headroom: list[float | None]
    """Candidate: rate times the constant factor."""
    quantile_pinball: list[float | None]
    headroom_pinball: list[float | None]
    quiet: list[float | None]
    """1 where demand is in the lowest fourth of its window, else 0."""
    quantile_pinball_quiet: list[float | None]
    """The same for forecasts made in a quiet hour."""
    headroom_pinball_quiet: list[float | None]
    forecast: list[float | None]
    """The one of the two that is used."""
    pinball: list[float | None]
    covered: list[float | None]
    """1 where demand is at or below what was forecast one horizon ago, else 0."""
    covered_quiet: list[float | None]
    """The same where the forecast was made in a quiet hour."""


def pinball_loss(actual: float, forecast: float, q: float) -> float:
    """Loss whose mean the q-quantile makes smallest, in the unit of its arguments.

    Koenker and Bassett, Regression Quantiles, Econometrica 46 (1978).
    """
    return q * max(actual - forecast, 0.0) + (1 - q) * max(forecast - actual, 0.0)


def before(samples: Samples, steps: int) -> list[float | None]:
    """``offset``: the sample of so many steps ago."""
    return [samples[at - steps] if at >= steps else None for at in range(len(samples))]


def candidate(rate: Samples, settings: ForecastSettings) -> list[float | None]:
    """Rate times the clamped quantile of its growth."""
    steps, window = _steps(settings)
    factors = rolling_quantile(_growth(rate, steps), settings.quantile, window, settings.least_samples)
    return [
        None if r is None or f is None else r * min(max(f, 1.0), settings.most_growth)
        for r, f in zip(rate, factors, strict=True)
    ]


def forecast(rate: Samples, settings: ForecastSettings) -> Forecast:
    """Every series that the rules record, from the rate alone."""
    steps, window = _steps(settings)
    q = settings.quantile
    by_quantile = candidate(rate, settings)
    by_headroom = [None if r is None else r * settings.headroom for r in rate]
    old_quantile, old_headroom = before(by_quantile, steps), before(by_headroom, steps)
    quantile_loss = _losses(rate, old_quantile, q)
    headroom_loss = [
        # Both are judged on the same samples.
        loss if was is not None else None
        for loss, was in zip(_losses(rate, old_headroom, q), old_quantile, strict=True)
    ]
    calm = rolling_quantile(rate, QUIET_QUANTILE, window)
    quiet = [None if r is None or c is None else float(r <= c) for r, c in zip(rate, calm, strict=True)]
    was_quiet = before(quiet, steps)
    quantile_quiet = [loss if was else None for loss, was in zip(quantile_loss, was_quiet, strict=True)]
    headroom_quiet = [loss if was else None for loss, was in zip(headroom_loss, was_quiet, strict=True)]
    wins = _wins(quantile_loss, headroom_loss, window)
    wins_quiet = _wins(quantile_quiet, headroom_quiet, window)
    chosen = [
        a if a is not None and (in_quiet if now else ever) else b
        for a, b, now, ever, in_quiet in zip(by_quantile, by_headroom, quiet, wins, wins_quiet, strict=True)
    ]
    promised = before(chosen, steps)
    covered = [None if r is None or f is None else float(r <= f) for r, f in zip(rate, promised, strict=True)]
    return Forecast(
        rate=list(rate),
        growth=_growth(rate, steps),
        quantile=by_quantile,
        headroom=by_headroom,
        quantile_pinball=quantile_loss,
        headroom_pinball=headroom_loss,
        quiet=quiet,
        quantile_pinball_quiet=quantile_quiet,
        headroom_pinball_quiet=headroom_quiet,
        forecast=chosen,
        pinball=_losses(rate, promised, q),
        covered=covered,
        covered_quiet=[c if was else None for c, was in zip(covered, was_quiet, strict=True)],
    )


def _wins(ours: Samples, theirs: Samples, window: int) -> list[bool]:
    """Where the mean of ours is known and no larger."""
    means = zip(rolling_mean(ours, window), rolling_mean(theirs, window), strict=True)
    return [a is not None and b is not None and a <= b for a, b in means]


def _steps(settings: ForecastSettings) -> tuple[int, int]:
    """(samples of the horizon, samples of the window); both divide evenly, see ``at_resolution``."""
    return settings.horizon_s // settings.interval_s, settings.window_s // settings.interval_s


def _growth(rate: Samples, steps: int) -> list[float | None]:
    old = before(rate, steps)
    return [None if now is None or not was else now / was for now, was in zip(rate, old, strict=True)]


def _losses(rate: Samples, old: Samples, q: float) -> list[float | None]:
    return [None if r is None or f is None else pinball_loss(r, f, q) for r, f in zip(rate, old, strict=True)]
