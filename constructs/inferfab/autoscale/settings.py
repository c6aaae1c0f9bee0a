"""What the forecast's rules are filled with."""

from pydantic import Field, PositiveFloat, PositiveInt

from inferfab.record import Record

MOST_GROWTH = 3.0
"""Largest factor that a forecast puts on the last value. After an outage demand returns from next to nothing, and that
ratio would stay the upper quantile of a whole window. On ServeGen's m-mid, which has such gaps, the loss of the 0.99
quantile over a day, half an hour ahead, falls from 40 % of demand to 2 % with it (docs/autoscaling.md).
"""
JUDGED_SHARE = 4
"""A window counts once a fourth of it holds samples; before, constant headroom stands in."""
QUIET_QUANTILE = 0.25
"""Quiet hours: those in which demand is in the lowest fourth of its trailing window."""


class ForecastSettings(Record):
    """One pool's forecast. Recording rules and the back-test read the same fields."""

    quantile: float = Field(gt=0, lt=1)
    """Share of the time in which demand, one horizon later, is to be at or below the forecast."""
    window_s: PositiveInt
    """Trailing window of relative changes."""
    horizon_s: PositiveInt
    """How far ahead: what is asked for now serves then."""
    headroom: float = Field(ge=1)
    """Constant factor, used until the forecast is known to be the better one, and wherever it is not."""
    interval_s: PositiveInt
    """Between two evaluations."""
    most_growth: PositiveFloat = MOST_GROWTH

    @property
    def least_samples(self) -> int:
        """Relative changes below which the window says nothing yet."""
        return max(2, self.window_s // self.interval_s // JUDGED_SHARE)

    def at_resolution(self, interval_s: int) -> "ForecastSettings":
        """For a series of coarser samples: horizon and window become whole numbers of them, never shorter."""
        return self.model_copy(
            update={
                "interval_s": interval_s,
                "horizon_s": -(-self.horizon_s // interval_s) * interval_s,
                "window_s": max(4, -(-self.window_s // interval_s)) * interval_s,
            }
        )
