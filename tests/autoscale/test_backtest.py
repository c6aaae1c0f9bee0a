"""Chosen on the first half, judged on the second."""

import math

import pytest

from inferfab.autoscale.backtest import Role, Subject, TooShortSeries, backtest, smoothed
from inferfab.autoscale.judging import judge, last_value_errors
from inferfab.autoscale.policies import Fleet
from inferfab.autoscale.settings import ForecastSettings
from inferfab.autoscale.trial import try_fleet
from inferfab.render.text.backtest import verdict
from inferfab.traffic.rows import UnusableTrace
from inferfab.traffic.series import RateSeries, read_series
from render.autoscaling.fleets import fleet as planned

from .series import path_of, servegen

SETTINGS = ForecastSettings(quantile=0.95, window_s=72 * 3600, horizon_s=1800, headroom=1.35, interval_s=600)


def subject(**changes: int) -> Subject:
    fleet = Fleet(**{"requests_per_second": 10.0, "spare": 1, "least": 2, "most": 24, "delay": 3, "hold": 3, "step": 2}
                  | changes)  # type: ignore[arg-type]  # fmt: skip
    return Subject(
        cell="a", pool="p", tier="priority", model="m", mode="planner", settings=SETTINGS,
        roles=(Role(name="worker", fleet=fleet, gpus_of=lambda workers: 8 * math.ceil(workers / 2)),),
    )  # fmt: skip


def series(rates: list[float | None], interval_s: int = 600) -> RateSeries:
    return RateSeries(file="x.csv", sha256="0" * 64, interval_s=interval_s, rates=tuple(rates))


def daily(days: int) -> list[float | None]:
    return [100.0 + 80 * math.sin(2 * math.pi * n / 144) for n in range(144 * days)]


def test_no_leakage() -> None:
    """Another second half changes nothing of what was chosen, and nothing that was forecast before it."""
    one = backtest(subject(), series(daily(8)), 1.0, 1.0)
    wild = daily(4) + [5.0 if n % 7 else 400.0 for n in range(144 * 4)]
    other = backtest(subject(), series(wild), 1.0, 1.0)
    assert one.choices == other.choices
    assert one.tuned == other.tuned
    assert [p.how for p in one.policies] == [p.how for p in other.policies]
    steps = 3
    assert one.forecasts[:steps] == other.forecasts[:steps]
    assert one.policy("forecast") != other.policy("forecast")


def test_ways_of_scaling_stand_in_their_order() -> None:
    """A day that is always the same: who knows most pays least, and who asks ahead breaks less."""
    found = backtest(subject(), series(daily(10)), 1.0, 1.0)
    by = {p.name: p for p in found.policies}
    assert by["clairvoyant"].broken_minutes == by["static peak"].broken_minutes == 0
    assert by["forecast"].broken_minutes <= by["reactive"].broken_minutes
    assert by["clairvoyant"].gpu_hours < by["reactive"].gpu_hours <= by["forecast"].gpu_hours
    assert by["forecast"].gpu_hours < by["static peak"].gpu_hours
    assert by["clairvoyant"].over_bound == 1.0
    # 180 requests a second at most: 18 workers and one spare are 10 nodes of 8 GPUs, for five days.
    assert by["static peak"].gpu_hours == pytest.approx(80 * 5 * 24)


def test_a_promise_that_nobody_can_keep_is_told() -> None:
    found = backtest(subject(most=10), series(daily(8)), 1.0, 1.0)
    assert found.policy("clairvoyant").broken_minutes > 0
    assert any("raise `max`" in remark for remark in found.remarks)
    # 100 to 180 requests a second for half of the day, and ten workers do 100: no way of scaling is praised.
    assert found.too_small
    assert verdict(found).startswith("The largest fleet is too small for this series: ")


def test_too_short() -> None:
    with pytest.raises(TooShortSeries, match="has 30 windows of 600 s"):
        backtest(subject(), series([10.0] * 30), 1.0, 1.0)


def test_judging_by_hand() -> None:
    """Demand 10, 20, 30; the last value one window ahead at q = 0.9: 9 each time too low, of 50 in all."""
    settings = ForecastSettings(quantile=0.9, window_s=2400, horizon_s=600, headroom=1.0, interval_s=600)
    rate: list[float | None] = [10.0, 20.0, 30.0, None, 15.0]
    found = judge(rate, rate, settings, 0, 5)
    assert found is not None
    assert found.pinball_percent == pytest.approx(100 * 18 / 50)
    assert (found.coverage_percent, found.windows) == (0.0, 2)
    assert last_value_errors(rate, 1, 0, 5) == (pytest.approx(40.0), pytest.approx(100 * (1 / 3 + 0.95 / 6)))


def test_minutes_are_smoothed_over_ten_as_the_rules_see_them() -> None:
    rates: list[float | None] = [float(n) for n in range(20)]
    rates[15] = None
    found = smoothed(series(rates, 60))
    assert found[12] == pytest.approx(sum(range(3, 13)) / 10)
    assert found[15:] == [None] * 5


@pytest.mark.parametrize(
    ("name", "minutes", "wape", "under"),
    [("m-large", 10, 13.3, 27.3), ("m-large", 20, 17.8, 33.0), ("m-large", 30, 19.6, 35.3),
     ("m-mid", 10, 9.5, 21.6), ("m-mid", 30, 14.1, 32.3)],
)  # fmt: skip
def test_the_published_errors_come_out_again(name: str, minutes: int, wape: float, under: float) -> None:
    """facts/peers.md 7.1: last value, seven days after seven. There gaps of m-mid count as demand of 0."""
    rate = [r or 0.0 for r in servegen(name)]
    steps = minutes // 10
    ours = last_value_errors(rate, steps, 7 * 144, len(rate))
    assert ours == (pytest.approx(wape, abs=0.15), pytest.approx(under, abs=0.5))


def test_pinball_and_coverage_on_real_arrivals() -> None:
    """peers.md: half of WAPE is the pinball loss of the median; AutoETS covered 0.94 to 0.97 of what its 95 % said."""
    rate = servegen("m-large")
    median = SETTINGS.model_copy(update={"quantile": 0.5})
    found = judge(rate, rate, median, 7 * 144, len(rate))
    assert found is not None
    assert found.pinball_percent == pytest.approx(19.6 / 2, abs=0.2)
    whole = backtest(subject(), read_series(path_of("m-large")).times(0.3), 0.3, 1.0)
    judged = whole.policy("forecast").judged
    constant = whole.policy("constant headroom").judged
    assert judged is not None and constant is not None
    assert 90 <= judged.coverage_percent <= 97
    assert whole.forecast_wins
    assert whole.policy("forecast").broken_minutes < whole.policy("reactive").broken_minutes


def test_a_series_is_read_with_its_gaps(tmp_path) -> None:  # type: ignore[no-untyped-def]
    """A window of rate 0 and one that is not there are gaps; windows keep their place."""
    file = tmp_path / "r.csv"
    head = "window_start_s,rate_rps,mean_input_tokens,mean_output_tokens\n"
    file.write_text(head + "0,5,100,10\n600,0,0,0\n1200,7,100,10\n1800,6,100,10\n3000,8,100,10\n")
    found = read_series(file)
    assert (found.interval_s, found.rates, found.gaps) == (600, (5.0, None, 7.0, 6.0, None, 8.0), 2)
    # Requests are counted by the minute, and a minute without any is one of no demand.
    file.write_text("timestamp,prompt_tokens,output_tokens\n" + "".join(f"{t},10,10\n" for t in (0, 10, 30, 150)))
    found = read_series(file)
    assert (found.interval_s, found.rates) == (60, (3 / 60, 0.0, 1 / 60))
    file.write_text(head + "0,5,100,10\n")
    with pytest.raises(UnusableTrace, match="fewer than two windows"):
        read_series(file)


def test_a_plan_is_tried_with_its_own_numbers() -> None:
    """Delay, bounds and GPUs are the plan's; the peak of the first half takes the largest fleet."""
    found = try_fleet(planned("keda-disaggregated"), path_of("m-large"), scale=None)
    (pool,) = found.pools
    plan = planned("keda-disaggregated").cells[0].autoscaling
    assert plan is not None
    slowest = min(5 * role.requests_per_second for role in plan.pools[0].roles)
    assert pool.most_rps == pytest.approx(slowest)
    first = [r for r in servegen("m-large")[: 144 * 7] if r is not None]
    assert pool.scale == pytest.approx(slowest / max(first))
    # Prefill and decode workers of 4 GPUs on nodes of 8: six of each are three nodes of each, for a week.
    static = pool.policy("static peak").gpu_hours
    assert static == pytest.approx((24 + 24) * 7 * 24, rel=0.35)
    fixed = try_fleet(planned("fixed"), path_of("m-large"), scale=1.0)
    assert fixed.pools == ()
    assert fixed.left_out == (("p", "fixed: it has no room to scale (min = max)"),)


def test_windows_that_stand_twice_or_off_the_grid_are_refused(tmp_path) -> None:  # type: ignore[no-untyped-def]
    """Two models in one file, of which the last would count alone; and starts of no one width."""
    head = "window_start_s,rate_rps,mean_input_tokens,mean_output_tokens\n"
    twice = tmp_path / "twice.csv"
    twice.write_text(head + "".join(f"{600 * n},{rate},100,100\n" for n in range(40) for rate in (1, 5)))
    with pytest.raises(UnusableTrace, match="a window that is there already"):
        read_series(twice)
    ragged = tmp_path / "ragged.csv"
    ragged.write_text(head + "".join(f"{600 * n + (n % 2) * 294},1,100,100\n" for n in range(40)))
    with pytest.raises(UnusableTrace, match=r"\d+ of 40 windows do not begin at a multiple of 306 s"):
        read_series(ragged)
