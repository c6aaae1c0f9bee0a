"""What a back-test found."""

from pydantic import NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from inferfab.autoscale.settings import ForecastSettings
from inferfab.record import Record


class Judged(Record):
    """A forecast against what came, over the second half."""

    pinball_percent: NonNegativeFloat
    """Mean pinball loss in percent of mean demand; less is better."""
    coverage_percent: NonNegativeFloat
    """Share of windows with demand at or below the forecast."""
    quiet_pinball_percent: NonNegativeFloat | None
    """The same for forecasts made in the quietest fourth of the trailing window."""
    quiet_coverage_percent: NonNegativeFloat | None
    windows: PositiveInt


class PolicyResult(Record):
    """One way of scaling over the second half."""

    name: str
    how: str
    broken_minutes: NonNegativeFloat
    """In which demand was above what ready workers serve as planned."""
    broken_percent: NonNegativeFloat
    gpu_hours: NonNegativeFloat
    """Of whole nodes, from asking for them on."""
    over_bound: PositiveFloat | None
    """GPU-hours over those of the clairvoyant."""
    judged: Judged | None
    """Of forecasts."""
    ready_rps: tuple[NonNegativeFloat, ...]
    """Requests a second that ready workers serve as planned, window by window."""


class Choice(Record):
    """What the first half said of one quantile."""

    quantile: float
    window_hours: float
    pinball_percent: float
    constant: float
    """The quantile of all relative changes: the constant factor that would have been right."""
    broken_percent: float
    chosen: bool


class PoolBacktest(Record):
    """One pool."""

    cell: str
    pool: str
    tier: str
    model: str
    mode: str
    series: str
    interval_s: PositiveInt
    windows: PositiveInt
    gaps: NonNegativeInt
    judged_from: NonNegativeInt
    """First window of the second half."""
    scale: PositiveFloat
    mean_rps: PositiveFloat
    peak_rps: PositiveFloat
    requests_per_second: PositiveFloat
    """Of the slowest role's worker."""
    most_rps: PositiveFloat
    """What the largest fleet serves as planned."""
    configured: ForecastSettings
    tuned: ForecastSettings
    choices: tuple[Choice, ...]
    policies: tuple[PolicyResult, ...]
    last_wape_percent: NonNegativeFloat
    """Absolute error of the last value in percent of demand, over the second half."""
    last_under_p95_percent: NonNegativeFloat
    """19 of 20 windows had no more demand than this share above the last value, in percent of that demand."""
    forecast_wins: bool
    """The configured forecast loses less than a constant factor from the first half."""
    remarks: tuple[str, ...]
    rates: tuple[float | None, ...]
    """Of the second half, scaled."""
    forecasts: tuple[float | None, ...]
    """What was forecast for each of those windows."""

    def policy(self, name: str) -> PolicyResult:
        return next(p for p in self.policies if p.name == name)

    @property
    def too_small(self) -> bool:
        """Even known beforehand, a twentieth of the time is above what the largest fleet serves: ways are all alike."""
        return self.policy("clairvoyant").broken_percent >= 5


class Backtest(Record):
    """All pools that were tried."""

    environment: str
    file: str
    sha256: str
    most_broken_percent: NonNegativeFloat
    pools: tuple[PoolBacktest, ...]
    left_out: tuple[tuple[str, str], ...]
    """(pool, why)"""
