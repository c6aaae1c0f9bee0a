"""The forecast on a real series: chosen on the first half, judged on the second, beside what else could be done."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from inferfab.autoscale.forecast import before, candidate, forecast
from inferfab.autoscale.judging import judge, last_value_errors
from inferfab.autoscale.policies import Fleet, Run, clairvoyant, constant, follow
from inferfab.autoscale.result import Choice, PolicyResult, PoolBacktest
from inferfab.autoscale.rolling import Samples, quantile
from inferfab.autoscale.settings import ForecastSettings
from inferfab.traffic.series import RateSeries

QUANTILES = (0.9, 0.95, 0.99)
WINDOW_HOURS = (24, 48, 72, 120)
RATE_WINDOW_S = 600
LEAST_WINDOWS = 100
"""Below, halves say nothing."""


class TooShortSeries(Exception):
    """The message says what there is and what it takes."""


@dataclass(frozen=True)
class Role:
    """Workers of one role and the nodes that they stand on."""

    name: str
    fleet: Fleet
    gpus_of: Callable[[int], int]
    """GPUs of the whole nodes that so many workers need."""


@dataclass(frozen=True)
class Subject:
    """A pool as the back-test sees it."""

    cell: str
    pool: str
    tier: str
    model: str
    mode: str
    roles: tuple[Role, ...]
    settings: ForecastSettings
    """As configured, at the series' resolution."""
    remarks: tuple[str, ...] = ()

    def runs(self, asks: Samples) -> list[Run]:
        return [follow(asks, role.fleet) for role in self.roles]

    @property
    def most_rps(self) -> float:
        """What the largest fleet serves as planned, without its spare workers."""
        return min((r.fleet.most - r.fleet.spare) * r.fleet.requests_per_second for r in self.roles)


def smoothed(series: RateSeries) -> list[float | None]:
    """As the rules see it: a mean over ten minutes, where samples are finer."""
    width = max(1, RATE_WINDOW_S // series.interval_s)
    if width == 1:
        return list(series.rates)
    found: list[float | None] = []
    for at in range(len(series.rates)):
        part = [r for r in series.rates[max(0, at - width + 1) : at + 1] if r is not None]
        # A present with a gap in it is one: the rate of a part is not the rate of the whole.
        found.append(sum(part) / len(part) if len(part) == min(width, at + 1) else None)
    return found


def backtest(subject: Subject, series: RateSeries, scale: float, most_broken_percent: float) -> PoolBacktest:
    """Try one pool on one series.

    :param scale: that the series was multiplied by; it is only told.
    :raises TooShortSeries: if there is too little to choose from and to judge on.
    """
    count, half = len(series.rates), len(series.rates) // 2
    steps = subject.settings.horizon_s // subject.settings.interval_s
    present = [r for r in series.rates if r is not None]
    if count < LEAST_WINDOWS or half < 4 * steps or not any(present):
        raise TooShortSeries(
            f"{series.file} has {count:,} windows of {series.interval_s} s; halves of at least "
            f"{max(LEAST_WINDOWS // 2, 4 * steps):,} windows with demand are needed, four horizons each"
        )
    rate, truth = smoothed(series), series.rates
    choices, tuned, factor = _choose(subject, rate, truth, half, most_broken_percent)
    configured = forecast(rate, subject.settings)
    best = forecast(rate, tuned)
    by_constant = [None if r is None else r * factor for r in rate]
    peak = max((r for r in truth[:half] if r is not None), default=0.0)
    ways: list[tuple[str, str, list[Run], Samples | None, ForecastSettings]] = [
        ("static peak", "workers for the busiest window of the first half, all the time",
         [constant(r.fleet.asked(peak), count) for r in subject.roles], None, tuned),
        ("reactive", "KEDA on present demand", subject.runs(rate), rate, tuned),
        ("constant headroom", f"present demand × {factor:.2f}, the first half's p{100 * tuned.quantile:g} of change",
         subject.runs(by_constant), by_constant, tuned),
        ("forecast", f"as configured: {_words(subject.settings)}", subject.runs(configured.forecast),
         configured.forecast, subject.settings),
        ("forecast, tuned", f"by the first half: {_words(tuned)}", subject.runs(best.forecast), best.forecast, tuned),
        ("clairvoyant", "lower bound: what each window needs, known beforehand, no spare worker",
         [clairvoyant(truth, r.fleet) for r in subject.roles], None, tuned),
    ]  # fmt: skip
    results = [
        _result(subject, name, how, runs, truth, half)
        .model_copy(update={"judged": judge(rate, asks, settings, half, count) if asks is not None else None})
        for name, how, runs, asks, settings in ways
    ]  # fmt: skip
    bound = results[-1].gpu_hours
    results = [r.model_copy(update={"over_bound": r.gpu_hours / bound if bound else None}) for r in results]
    constant_at_configured = [None if r is None else r * _constant(rate[:half], subject.settings) for r in rate]
    theirs = judge(rate, constant_at_configured, subject.settings, half, count)
    ours = judge(rate, configured.forecast, subject.settings, half, count)
    wape, under = last_value_errors(rate, steps, half, count)
    return PoolBacktest(
        cell=subject.cell,
        pool=subject.pool,
        tier=subject.tier,
        model=subject.model,
        mode=subject.mode,
        series=series.file,
        interval_s=series.interval_s,
        windows=count,
        gaps=series.gaps,
        judged_from=half,
        scale=scale,
        mean_rps=sum(present) / len(present),
        peak_rps=max(present),
        requests_per_second=min(r.fleet.requests_per_second for r in subject.roles),
        most_rps=subject.most_rps,
        configured=subject.settings,
        tuned=tuned,
        choices=tuple(choices),
        policies=tuple(results),
        last_wape_percent=wape,
        last_under_p95_percent=under,
        forecast_wins=ours is not None and theirs is not None and ours.pinball_percent <= theirs.pinball_percent,
        remarks=(*subject.remarks, *_remarks(subject, truth[half:], series)),
        rates=tuple(truth[half:]),
        forecasts=tuple(before(configured.forecast, steps)[half:]),
    )


def _words(settings: ForecastSettings) -> str:
    return f"p{100 * settings.quantile:g} of change over {settings.window_s / 3600:g} h"


def _constant(first: Samples, settings: ForecastSettings) -> float:
    """The quantile of all relative changes of the first half, never below 1."""
    steps = settings.horizon_s // settings.interval_s
    changes = sorted(now / was for now, was in zip(first[steps:], first, strict=False) if now is not None and was)
    return max(1.0, quantile(changes, settings.quantile)) if changes else 1.0


def _choose(
    subject: Subject, rate: list[float | None], truth: Samples, half: int, most_broken_percent: float
) -> tuple[list[Choice], ForecastSettings, float]:
    """By the first half alone: for each quantile the window with the least loss; of these the smallest that breaks the
    promise in few enough windows, else the one that breaks it least.
    """
    first = rate[:half]
    interval = subject.settings.interval_s
    found: list[tuple[Choice, ForecastSettings]] = []
    for q in QUANTILES:
        options: list[tuple[float, float, ForecastSettings]] = []
        for hours in WINDOW_HOURS:
            # What a window says is judged on what comes after it.
            if hours * 3600 > half * interval * 0.75:
                continue
            settings = subject.settings.model_copy(update={"quantile": q}).model_copy(
                update={"window_s": -(-hours * 3600 // interval) * interval}
            )
            # All windows on the same part: what the longest has seen a fourth of.
            judged = judge(first, candidate(first, settings), settings, half // 3, half)
            if judged is not None:
                options.append((judged.pinball_percent, hours, settings))
        if not options:
            options = [(0.0, subject.settings.window_s / 3600.0, subject.settings.model_copy(update={"quantile": q}))]
        loss, window_hours, settings = min(options, key=lambda o: o[:2])
        runs = subject.runs(forecast(first, settings).forecast)
        broken = _broken(subject, runs, truth, half // 3, half)
        found.append(
            (
                Choice(
                    quantile=q,
                    window_hours=window_hours,
                    pinball_percent=loss,
                    constant=_constant(first, settings),
                    broken_percent=broken,
                    chosen=False,
                ),
                settings,
            )
        )
    enough = [f for f in found if f[0].broken_percent <= most_broken_percent]
    best = enough[0] if enough else min(found, key=lambda f: f[0].broken_percent)
    choices = [c.model_copy(update={"chosen": c.quantile == best[0].quantile}) for c, _ in found]
    return choices, best[1], best[0].constant


def _is_broken(subject: Subject, runs: list[Run], rate: float, at: int) -> bool:
    return any(run.ready[at] < role.fleet.needed(rate) for role, run in zip(subject.roles, runs, strict=True))


def _broken(subject: Subject, runs: list[Run], truth: Samples, start: int, end: int) -> float:
    """Percent of windows."""
    known = [(at, r) for at, r in enumerate(truth[:end]) if at >= start and r is not None]
    return 100 * sum(_is_broken(subject, runs, r, at) for at, r in known) / len(known) if known else 0.0


def _result(subject: Subject, name: str, how: str, runs: list[Run], truth: Samples, half: int) -> PolicyResult:
    minutes = subject.settings.interval_s / 60
    known = [(at, r) for at, r in enumerate(truth) if at >= half and r is not None]
    broken = sum(_is_broken(subject, runs, r, at) for at, r in known)
    gpu_hours = sum(
        role.gpus_of(run.paid[at]) for role, run in zip(subject.roles, runs, strict=True) for at, _ in known
    ) * minutes / 60  # fmt: skip
    ready = [
        min(run.ready[at] * role.fleet.requests_per_second for role, run in zip(subject.roles, runs, strict=True))
        for at in range(half, len(truth))
    ]
    return PolicyResult(
        name=name,
        how=how,
        broken_minutes=broken * minutes,
        broken_percent=100 * broken / len(known) if known else 0.0,
        gpu_hours=gpu_hours,
        over_bound=None,
        judged=None,
        ready_rps=tuple(round(r, 3) for r in ready),
    )


def _remarks(subject: Subject, second: Samples, series: RateSeries) -> list[str]:
    whole = min(r.fleet.most * r.fleet.requests_per_second for r in subject.roles)
    above = sum(1 for r in second if r is not None and r > whole)
    found = []
    if above:
        found.append(
            f"in {above} windows of the second half demand is above what the largest fleet serves as planned, spare "
            f"workers too ({whole:.3g} requests a second): no way of scaling keeps these; raise `max`"
        )
    if series.gaps:
        found.append(f"{series.gaps} windows without data are left out of every figure; workers are held over them")
    changes = [1 for a, b in pairwise(series.rates) if a is not None and b is not None and a != b]
    if len(changes) < len(series.rates) / 10:
        found.append("the series hardly changes, so it says little of forecasts")
    return found
