"""Our arithmetic and Prometheus' own, sample by sample."""

import random
from pathlib import Path

import pytest

from inferfab.autoscale.forecast import Forecast, forecast
from inferfab.autoscale.settings import ForecastSettings
from inferfab.render.autoscaling import forecast_rules as names
from inferfab.render.autoscaling.forecast_rules import forecast_rules, selector

from .promtool import expect, run, values
from .series import servegen

OF = {"cell": "use1-a", "pool": "chat"}
ALL = OF | {"tier": "priority", "model": "llama-70b"}
SERIES = {
    names.GROWTH: "growth", names.QUANTILE: "quantile", names.HEADROOM: "headroom",
    names.QUANTILE_PINBALL: "quantile_pinball", names.HEADROOM_PINBALL: "headroom_pinball",
    names.QUIET: "quiet",
    names.QUANTILE_PINBALL_QUIET: "quantile_pinball_quiet",
    names.HEADROOM_PINBALL_QUIET: "headroom_pinball_quiet",
    names.FORECAST: "forecast", names.PINBALL: "pinball", names.COVERED: "covered",
    names.COVERED_QUIET: "covered_quiet",
}  # fmt: skip


def drawn(seed: int) -> list[float | None]:
    """A day that rises and falls, with noise, bursts, zeros and missing samples."""
    chance = random.Random(seed)
    found: list[float | None] = []
    level = 20.0
    for _ in range(90):
        level *= chance.choice((0.7, 0.9, 0.97, 1.0, 1.03, 1.1, 1.5))
        kind = chance.random()
        found.append(None if kind < 0.06 else 0.0 if kind < 0.1 else round(level * chance.uniform(0.9, 1.1), 3))
    return found


def compare(folder: Path, rate: list[float | None], settings: ForecastSettings, at: list[int]) -> Forecast:
    found = forecast(rate, settings)
    tests: list[object] = [
        expect(f"{series}{selector(OF)}", moment, settings.interval_s, getattr(found, field)[moment], selector(ALL))
        for series, field in SERIES.items()
        for moment in at
    ]
    rules = forecast_rules(OF, settings)
    inputs = {f"{names.RATE}{selector(ALL)}": values(rate)}
    assert run(folder, rules, settings.interval_s, inputs, tests) == ""
    return found


@pytest.mark.parametrize("seed", range(4))
def test_random_series_with_gaps_come_out_the_same(tmp_path: Path, seed: int) -> None:
    settings = ForecastSettings(
        quantile=(0.5, 0.9, 0.95, 0.99)[seed],
        window_s=600 * (8, 12, 20, 40)[seed],
        horizon_s=600 * (1, 2, 3, 2)[seed],
        headroom=(1.0, 1.2, 1.3, 1.5)[seed],
        interval_s=600,
    )
    rate = drawn(seed)
    found = compare(tmp_path, rate, settings, list(range(len(rate))))
    # Both candidates were used, and samples are missing where the rate is.
    used = [a == b for a, b in zip(found.forecast, found.quantile, strict=True) if a is not None]
    assert None in rate
    assert any(used)
    assert not all(used)
    assert all((r is None) == (f is None) for r, f in zip(rate, found.forecast, strict=True))


@pytest.mark.parametrize("name", ["m-large", "m-mid"])
def test_real_series_come_out_the_same(tmp_path: Path, name: str) -> None:
    rate = servegen(name)
    settings = ForecastSettings(quantile=0.95, window_s=432 * 600, horizon_s=1800, headroom=1.3, interval_s=600)
    compare(tmp_path, rate, settings, [*range(100, len(rate), 57), len(rate) - 1])


def test_a_wrong_number_is_noticed(tmp_path: Path) -> None:
    rate: list[float | None] = [10.0, 20.0, 30.0]
    settings = ForecastSettings(quantile=0.9, window_s=2400, horizon_s=600, headroom=1.5, interval_s=600)
    tests: list[object] = [expect(names.FORECAST, 2, 600, 45.1, selector(ALL))]
    told = run(tmp_path, forecast_rules(OF, settings), 600, {f"{names.RATE}{selector(ALL)}": values(rate)}, tests)
    assert "FAILED" in told


def test_worked_by_hand() -> None:
    """10, 20, 30, 30, 60: growth over one sample is 2, 1.5, 1, 2; the median of the last four is 1.75."""
    settings = ForecastSettings(quantile=0.5, window_s=2400, horizon_s=600, headroom=1.2, interval_s=600)
    found = forecast([10.0, 20.0, 30.0, 30.0, 60.0], settings)
    assert found.growth == [None, 2.0, 1.5, 1.0, 2.0]
    assert found.quantile == [None, None, 30.0 * 1.75, 30.0 * 1.5, 60.0 * 1.75]
    # At 30 (the fourth) 52.5 was forecast: half of 22.5 lost, and 36 by the constant factor: half of 6.
    assert found.quantile_pinball[3] == pytest.approx(11.25)
    assert found.headroom_pinball[3] == pytest.approx(3.0)
    assert found.forecast[3] == pytest.approx(36.0)
    # At 60 it was 45, 36: 7.5 and 12 more; 9.375 is more than 7.5 on average, so the constant factor stays.
    assert found.quantile_pinball[4] == pytest.approx(7.5)
    assert found.headroom_pinball[4] == pytest.approx(12.0)
    assert found.forecast[4] == pytest.approx(72.0)
    assert found.covered == [None, 0.0, 0.0, 1.0, 0.0]
