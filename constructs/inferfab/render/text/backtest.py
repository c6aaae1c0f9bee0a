"""A back-test as text."""

from typing import TYPE_CHECKING

from inferfab.render.text.tables import plain, table_of

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from inferfab.autoscale.result import Backtest, Judged, PolicyResult, PoolBacktest


def print_backtest(console: "Console", found: "Backtest") -> None:
    """A table a pool: what each way of scaling breaks and costs."""
    for number, one in enumerate(found.pools):
        if number:
            console.print()
        _pool(console, one)
    for pool, why in found.left_out:
        console.print(f"{pool}: not tried: {why}", style="dim", markup=False)
    if not found.pools:
        console.print("no pool of these scales", markup=False)


def _pool(console: "Console", one: "PoolBacktest") -> None:
    console.print(f"{one.cell} {one.pool}: {one.model}, tier {one.tier}", style="bold", markup=False)
    for line in facts(one):
        console.print(f"  {line}", markup=False)
    console.print(_table(one))
    console.print(f"  {verdict(one)}", markup=False)
    for remark in one.remarks:
        console.print(f"  {remark}", style="dim", markup=False)


def facts(one: "PoolBacktest") -> list[str]:
    """What was tried on what."""
    hours = one.windows * one.interval_s / 3600
    return [
        f"{one.series} × {one.scale:.4g}: {hours / 24:.1f} days in windows of {one.interval_s} s, mean "
        f"{one.mean_rps:.3g} and peak {one.peak_rps:.3g} requests a second; the first half chooses, the second judges",
        f"a worker serves {one.requests_per_second:.3g} requests a second as planned, the largest fleet "
        f"{one.most_rps:.3g} beside its spare ones; asked for {one.configured.horizon_s / 60:.0f} min ahead",
        f"the last value is wrong by {one.last_wape_percent:.1f} % of demand, and by up to "
        f"{one.last_under_p95_percent:.1f} % too low in 19 of 20 windows",
    ]


def _table(one: "PoolBacktest") -> "Table":
    table = table_of(
        "", "way", "promise broken", "GPU-hours", "× bound", "pinball", "covered", "pinball, quiet", "covered, quiet",
        "how",
        right=("promise broken", "GPU-hours", "× bound", "pinball", "covered", "pinball, quiet", "covered, quiet"),
    )  # fmt: skip
    for row in rows(one):
        table.add_row(*(plain(cell) for cell in row))
    return table


def rows(one: "PoolBacktest") -> list[tuple[str, ...]]:
    """Cells of the table, for every form of it."""
    return [
        (
            policy.name,
            f"{policy.broken_minutes:,.0f} min ({policy.broken_percent:.2f} %)",
            f"{policy.gpu_hours:,.0f}",
            f"{policy.over_bound:.2f}" if policy.over_bound else "-",
            *_judged(policy.judged),
            policy.how,
        )
        for policy in one.policies
    ]


def _judged(judged: "Judged | None") -> tuple[str, str, str, str]:
    if judged is None:
        return "-", "-", "-", "-"

    def said(value: float | None, digits: int) -> str:
        return "-" if value is None else f"{value:.{digits}f} %"

    return (
        said(judged.pinball_percent, 2),
        said(judged.coverage_percent, 1),
        said(judged.quiet_pinball_percent, 2),
        said(judged.quiet_coverage_percent, 1),
    )


def verdict(one: "PoolBacktest") -> str:
    """What the numbers say, in a sentence or two."""
    if one.too_small:
        return (
            f"The largest fleet is too small for this series: {one.policy('clairvoyant').broken_percent:.0f} % of the "
            "time more comes than it serves as planned, however it scales. Raise `max`, or scale the series to it "
            "(`--fit`) to compare ways of scaling."
        )
    ours, fixed, static = one.policy("forecast"), one.policy("constant headroom"), one.policy("static peak")
    wins = (
        f"the forecast as configured (p{100 * one.configured.quantile:g}) loses less than a constant factor"
        if one.forecast_wins
        else "a constant factor loses less than the forecast as configured, so at run time it would stand in"
    )
    return f"{wins[0].upper()}{wins[1:]}. Than {_beside(ours, fixed)}; than {_beside(ours, static)}."


def _beside(ours: "PolicyResult", other: "PolicyResult") -> str:
    minutes = ours.broken_minutes - other.broken_minutes
    hours = ours.gpu_hours / other.gpu_hours - 1 if other.gpu_hours else 0.0
    less = "fewer" if minutes < 0 else "more"
    broken = f"{abs(minutes):,.0f} broken minutes {less}" if minutes else "as many broken minutes"
    paid = f"{abs(hours):.0%} {'fewer' if hours < 0 else 'more'}" if abs(hours) >= 0.005 else "as many"
    return f"{other.name} it has {broken} and {paid} GPU-hours"
