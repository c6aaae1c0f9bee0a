"""What tokens cost, as a table and as CSV."""

import csv
import io
from typing import TYPE_CHECKING

from inferfab.token_costs.report import CostReport, DayCost

if TYPE_CHECKING:
    from rich.console import Console

COLUMNS = (
    "ChargePeriodStart", "ChargePeriodEnd", "level", "name", "EffectiveCostLow", "EffectiveCost", "output_tokens",
    "total_tokens", "usd_per_million_output_tokens_low", "usd_per_million_output_tokens_high",
    "usd_per_million_total_tokens_low", "usd_per_million_total_tokens_high",
)  # fmt: skip
"""Names of FOCUS 1.2 where it has them (columns of AWS' cost exports), so that a bill can be laid beside it."""


def _cells(row: DayCost) -> list[str]:
    start = f"{row.day.isoformat()}T00:00:00Z"
    end = f"{row.day.fromordinal(row.day.toordinal() + 1).isoformat()}T00:00:00Z"
    prices = [row.usd_per_million(d, b) for d in ("output", "total") for b in ("low", "high")]
    return [
        start, end, row.level, row.name, f"{row.usd_low:.2f}", f"{row.usd_high:.2f}", f"{row.output_tokens:.0f}",
        f"{row.total_tokens:.0f}", *("" if p is None else f"{p:.4f}" for p in prices),
    ]  # fmt: skip


def costs_csv(report: CostReport) -> str:
    """A line a day, level and name. Empty where nothing was served: idle time is in the dollars."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(_cells(row) for row in report.days)
    return out.getvalue()


def print_costs(console: "Console", report: CostReport) -> None:
    from rich.table import Table

    table = Table("day", "level", "name", "$", "M answer tokens", "$/M answer", "$/M all")
    for row in report.days:
        table.add_row(
            row.day.isoformat(), row.level, row.name, _range(row.usd_low, row.usd_high, 2),
            f"{row.output_tokens / 1e6:,.2f}",
            _range(row.usd_per_million("output", "low"), row.usd_per_million("output", "high"), 3),
            _range(row.usd_per_million("total", "low"), row.usd_per_million("total", "high"), 3),
        )  # fmt: skip
    console.print(table)
    for trend in report.trends:
        console.print(
            f"{trend.level} {trend.name}: {trend.usd_per_million_now:,.3f} $ a million answer tokens this week, "
            f"{trend.usd_per_million_before:,.3f} the week before ({trend.ratio - 1:+.1%})"
        )
    for pool in report.missing:
        console.print(f"{pool}: no cost recorded; its Prometheus was not asked, its price is unknown, or it is new")


def _range(low: float | None, high: float | None, digits: int) -> str:
    if low is None or high is None:
        return "-"
    one, other = f"{low:,.{digits}f}", f"{high:,.{digits}f}"
    return one if one == other else f"{one}–{other}"
