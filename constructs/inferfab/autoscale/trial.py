"""All pools of a fleet on one series."""

from pathlib import Path

from inferfab.autoscale.backtest import Subject, backtest
from inferfab.autoscale.result import Backtest
from inferfab.autoscale.subjects import candidates, subject
from inferfab.plan.fleet import FleetPlan
from inferfab.traffic.series import RateSeries, read_series


def fitting_scale(one: Subject, series: RateSeries) -> float:
    """So that the busiest window of the first half takes the largest fleet, without its spare workers."""
    first = [r for r in series.rates[: len(series.rates) // 2] if r is not None]
    peak = max(first, default=0.0)
    return one.most_rps / peak if peak and one.most_rps > 0 else 1.0


def try_fleet(
    fleet: FleetPlan,
    file: Path,
    *,
    scale: float | None,
    cells: tuple[str, ...] = (),
    pools: tuple[str, ...] = (),
    most_broken_percent: float = 1.0,
) -> Backtest:
    """Back-test every pool that scales.

    :param scale: factor on the series; None fits it to each pool.
    :raises UnusableTrace: if the file is no trace.
    :raises TooShortSeries: if there is too little of it.
    """
    series = read_series(file)
    chosen, passed = candidates(fleet, cells, pools)
    found = []
    for cell, pool in chosen:
        one = subject(cell, pool, series.interval_s)
        factor = fitting_scale(one, series) if scale is None else scale
        found.append(backtest(one, series.times(factor), factor, most_broken_percent))
    return Backtest(
        environment=fleet.ownership.name,
        file=series.file,
        sha256=series.sha256,
        most_broken_percent=most_broken_percent,
        pools=tuple(found),
        left_out=tuple(passed),
    )
