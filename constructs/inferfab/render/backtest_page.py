"""A back-test as one HTML page, with the plots that say why. It loads nothing from elsewhere."""

from inferfab.autoscale.result import Backtest, PoolBacktest
from inferfab.render.plots import Line, bars, timeline
from inferfab.render.templates import render
from inferfab.render.text.backtest import facts, rows, verdict

MOST_POINTS = 1500
"""Of a line; longer series are thinned by their largest value in each stretch."""


def backtest_page(found: Backtest) -> str:
    """The whole page."""
    return render(
        "report/backtest.html.j2",
        environment=found.environment,
        file=found.file,
        sha256=found.sha256[:12],
        most_broken=f"{found.most_broken_percent:g}",
        pools=[_pool(one) for one in found.pools],
        left_out=[{"pool": pool, "why": why} for pool, why in found.left_out],
    )


def _pool(one: PoolBacktest) -> dict[str, object]:
    forecast = one.policy("forecast")
    return {
        "title": f"{one.cell} · {one.pool}",
        "about": f"{one.model}, tier {one.tier}, workers owned by {one.mode}",
        "facts": facts(one),
        "verdict": verdict(one),
        "wins": one.forecast_wins and not one.too_small,
        "rows": [{"cells": row[:-1], "how": row[-1]} for row in rows(one)],
        "cost": bars(
            [
                (p.name, p.gpu_hours, f"{p.gpu_hours:,.0f} h, {p.broken_minutes:,.0f} min")
                for p in sorted(one.policies, key=lambda p: p.name != "forecast")
            ]
        ),
        "demand": timeline(
            [
                _line(one, "demand", one.rates),
                _line(one, "forecast", one.forecasts),
            ],
            x_name="days from the start of the series",
            y_name="requests a second",
            x_step=1.0,
        ),
        "capacity": timeline(
            [
                _line(one, "demand", one.rates),
                _line(one, "ready workers", forecast.ready_rps),
                _line(one, "reactive", one.policy("reactive").ready_rps),
            ],
            x_name="days from the start of the series; red: demand above what is ready, scaled by the forecast",
            y_name="requests a second",
            x_step=1.0,
            shaded=_broken(one),
        ),
        "choices": [
            {
                "quantile": f"p{100 * c.quantile:g}",
                "window": f"{c.window_hours:g} h",
                "pinball": f"{c.pinball_percent:.2f} %",
                "constant": f"× {c.constant:.2f}",
                "broken": f"{c.broken_percent:.2f} %",
                "chosen": "chosen" if c.chosen else "",
            }
            for c in one.choices
        ],
        "remarks": one.remarks,
    }


def _day(one: PoolBacktest, window: int) -> float:
    return (one.judged_from + window) * one.interval_s / 86_400


def _line(one: PoolBacktest, name: str, values: tuple[float | None, ...]) -> Line:
    """Thinned by whole stretches, so that no peak is lost."""
    stretch = -(-len(values) // MOST_POINTS)
    points = []
    for begin in range(0, len(values), stretch):
        part = [v for v in values[begin : begin + stretch] if v is not None]
        if part:
            points.append((_day(one, begin), max(part)))
    return Line(name=name, points=tuple(points))


def _broken(one: PoolBacktest) -> list[tuple[float, float]]:
    """Stretches in which demand was above what the forecast had brought."""
    ready = one.policy("forecast").ready_rps
    found: list[tuple[float, float]] = []
    for at, (rate, able) in enumerate(zip(one.rates, ready, strict=True)):
        # `ready` is rounded to a thousandth.
        if rate is None or rate <= able + 1e-3:
            continue
        begin, end = _day(one, at), _day(one, at + 1)
        if found and found[-1][1] >= begin - 1e-9:
            found[-1] = (found[-1][0], end)
        else:
            found.append((begin, end))
    return found
