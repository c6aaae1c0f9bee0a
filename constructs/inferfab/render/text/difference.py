"""A FleetDifference for people."""

from typing import TYPE_CHECKING

from inferfab.plan.difference import Amount, Dollars, FleetDifference
from inferfab.plan.quantities import Range
from inferfab.render.text.numbers import bounds, usd, usd_range
from inferfab.render.text.tables import plain, table_of

if TYPE_CHECKING:
    from rich.console import Console


def print_difference(console: "Console", diff: FleetDifference) -> None:
    """GPUs and dollars first, then every decided value that differs."""
    before, after = map(plain, diff.titles)
    if diff.empty:
        console.print(f"{before} and {after} plan the same fleet.")
        return
    table = table_of(
        f"Size and cost: {before} → {after}", "", "before", "after", "change", right=("before", "after", "change")
    )
    for title, amounts in (("GPUs", diff.gpus_by_type), ("tier", diff.gpus_by_tier), ("cell", diff.gpus_by_cell)):
        for name, amount in amounts.items():
            table.add_row(
                f"{title} {plain(name)}" if title == "GPUs" else f"{title} {plain(name)}, GPUs", *_amount(amount)
            )
    table.add_row("nodes", *_amount(diff.nodes))
    table.add_row("$ a month, desired", *_dollars(diff.usd_per_month_at_desired))
    table.add_row("$ a month, maximum", *_dollars(diff.usd_per_month_at_max))
    for tier, dollars in diff.usd_per_month_by_tier.items():
        table.add_row(f"tier {plain(tier)}, $ a month", *_dollars(dollars))
    console.print(table)
    if diff.changes:
        changes = table_of("Decided values", "section", "of", "what", "before", "after")
        for c in diff.changes:
            changes.add_row(c.section, plain(c.subject), plain(c.what), plain(c.before or "-"), plain(c.after or "-"))
        console.print(changes)


def _amount(amount: Amount) -> tuple[str, str, str]:
    delta = amount.after.desired - amount.before.desired
    changed = f"{delta:+d}" if delta else "bounds" if amount.changed else "="
    return bounds(amount.before), bounds(amount.after), changed


def _dollars(dollars: Dollars) -> tuple[str, str, str]:
    return usd_range(dollars.before), usd_range(dollars.after), _delta(dollars.before, dollars.after)


def _delta(before: Range, after: Range) -> str:
    if before == after:
        return "="
    if before.high is None or after.high is None:
        return "unknown"
    low, high = after.low - before.low, after.high - before.high
    signed = [("+" if v >= 0 else "-") + usd(abs(v)) for v in (low, high)]
    return signed[0] if signed[0] == signed[1] else f"{signed[0]} to {signed[1]}"
