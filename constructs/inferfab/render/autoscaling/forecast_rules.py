"""The forecast as Prometheus recording rules. The same arithmetic stands in :mod:`inferfab.autoscale.forecast`, and a
test holds the two against each other with promtool.

Nothing here turns a missing sample into 0: where the rate is missing, so is everything that follows from it.
"""

from inferfab.autoscale.settings import QUIET_QUANTILE, ForecastSettings
from inferfab.record import Record

RATE = "inferfab:pool_requests:rate10m"
GROWTH = "inferfab:pool_requests:growth"
QUANTILE = "inferfab:pool_requests:quantile"
HEADROOM = "inferfab:pool_requests:headroom"
QUANTILE_PINBALL = "inferfab:pool_requests:quantile_pinball"
HEADROOM_PINBALL = "inferfab:pool_requests:headroom_pinball"
QUIET = "inferfab:pool_requests:quiet"
QUANTILE_PINBALL_QUIET = "inferfab:pool_requests:quantile_pinball_quiet"
HEADROOM_PINBALL_QUIET = "inferfab:pool_requests:headroom_pinball_quiet"
FORECAST = "inferfab:pool_requests:forecast"
PINBALL = "inferfab:pool_requests:forecast_pinball"
COVERED = "inferfab:pool_requests:forecast_covered"
COVERED_QUIET = "inferfab:pool_requests:forecast_covered_quiet"


class Rule(Record):
    """One recording rule."""

    record: str
    expr: str
    comment: str = ""
    labels: dict[str, str] = {}


def selector(labels: dict[str, str]) -> str:
    """``{cell="a",pool="b"}``."""
    return "{" + ",".join(f"{name}={_text(value)}" for name, value in sorted(labels.items())) + "}"


def _text(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def forecast_rules(
    of: dict[str, str], settings: ForecastSettings, labels: dict[str, str] | None = None
) -> tuple[Rule, ...]:
    """Rules of one pool, in the order in which they must be evaluated.

    :param of: labels by which the pool's series are found; its recorded rate has them.
    :param labels: of what is recorded; those that the rate has, said once more: rules of several pools would else be
        told apart by their selectors alone, and ``promtool check rules --lint`` takes them for one.
    """
    q, window, ahead = settings.quantile, f"[{settings.window_s}s]", f"offset {settings.horizon_s}s"

    def s(name: str, after: str = "") -> str:
        return f"{name}{selector(of)}{after}"

    def loss(of_series: str) -> str:
        was = s(of_series, f" {ahead}")
        return f"{q!r} * clamp_min({s(RATE)} - {was}, 0) + (1 - {q!r}) * clamp_min({was} - {s(RATE)}, 0)"

    enough = f"(count_over_time({s(GROWTH, window)}) >= {settings.least_samples})"
    rules = (
        Rule(
            record=GROWTH,
            comment="Relative change over the horizon; nothing where there was no demand one horizon ago.",
            expr=f"{s(RATE)} / ({s(RATE, f' {ahead}')} > 0)",
        ),
        Rule(
            record=QUANTILE,
            comment=f"Never below the last value, and never above {settings.most_growth:g} times it.",
            expr=f"{s(RATE)} * clamp(quantile_over_time({q!r}, {s(GROWTH, window)}), 1, {settings.most_growth!r})\n"
            f"and {enough}",
        ),
        Rule(record=HEADROOM, comment="A constant factor instead.", expr=f"{s(RATE)} * {settings.headroom!r}"),
        Rule(
            record=QUANTILE_PINBALL, comment="Pinball loss of what was forecast one horizon ago.", expr=loss(QUANTILE)
        ),
        Rule(
            record=HEADROOM_PINBALL,
            comment="The constant factor is judged on the same samples.",
            expr=f"({loss(HEADROOM)})\nand {s(QUANTILE, f' {ahead}')}",
        ),
        Rule(
            record=QUIET,
            comment="1 in the quietest fourth of the window.",
            expr=f"{s(RATE)} <= bool quantile_over_time({QUIET_QUANTILE!r}, {s(RATE, window)})",
        ),
        Rule(
            record=QUANTILE_PINBALL_QUIET,
            comment="Of forecasts made in quiet hours, which are judged by themselves.",
            expr=f"{s(QUANTILE_PINBALL)} and ({s(QUIET, f' {ahead}')} == 1)",
        ),
        Rule(record=HEADROOM_PINBALL_QUIET, expr=f"{s(HEADROOM_PINBALL)} and ({s(QUIET, f' {ahead}')} == 1)"),
        Rule(
            record=FORECAST,
            comment="The quantile where it has lost no more than the constant factor over the window, else the latter.",
            expr=f"({s(QUANTILE)} and (\n"
            f"  ({s(QUIET)} == 0 and avg_over_time({s(QUANTILE_PINBALL, window)}) "
            f"<= avg_over_time({s(HEADROOM_PINBALL, window)}))\n"
            f"  or ({s(QUIET)} == 1 and avg_over_time({s(QUANTILE_PINBALL_QUIET, window)}) "
            f"<= avg_over_time({s(HEADROOM_PINBALL_QUIET, window)}))))\n"
            f"or {s(HEADROOM)}",
        ),
        Rule(record=PINBALL, comment="Pinball loss of the forecast that was used.", expr=loss(FORECAST)),
        Rule(
            record=COVERED,
            comment=f"1 where demand is at or below its forecast; its mean should be {q:g}.",
            expr=f"{s(RATE)} <= bool ({s(FORECAST, f' {ahead}')})",
        ),
        Rule(
            record=COVERED_QUIET,
            comment="The same for forecasts made in the quietest fourth of the window.",
            expr=f"{s(COVERED)} and ({s(QUIET, f' {ahead}')} == 1)",
        ),
    )
    return tuple(rule.model_copy(update={"labels": labels}) for rule in rules) if labels else rules
