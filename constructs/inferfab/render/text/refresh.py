"""What a refresh of the catalog would change, for whoever reviews it."""

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING

from inferfab.plan.quantities import Range
from inferfab.refresh.changes import Refresh
from inferfab.refresh.effect import CostEffect
from inferfab.render.text.tables import plain, table_of

if TYPE_CHECKING:
    from rich.console import Console


def print_refresh(
    console: "Console",
    refresh: Refresh,
    costs: Sequence[CostEffect],
    broken: Sequence[str],
    as_of: date,
    *,
    written: bool,
) -> None:
    """Prices, facts, what they do to plans, and whether anything was written."""
    console.print(f"Catalog refresh of {as_of}", soft_wrap=True)
    console.print()
    if refresh.prices:
        right = ("USD/h before", "USD/h now", "change")
        table = table_of("Prices", "region", "machine", "kind", "USD/h before", "of", "USD/h now", "of", "change",
                         right=right)  # fmt: skip
        for one in refresh.prices:
            change = "new" if one.percent is None else f"{one.percent:+.1f} %"
            before = _usd(one.before) if one.before else "-"
            table.add_row(plain(one.region), plain(one.instance), one.kind.replace("_", " "), before,
                          str(one.before_as_of or "-"), _usd(one.after), str(one.as_of), change)  # fmt: skip
        console.print(table)
        console.print()
    if refresh.facts:
        table = table_of("Instance facts", "machine", "fact", "before", "now", "written")
        for fact in refresh.facts:
            how = "by hand: layouts and pod limits hang on it" if fact.by_hand else "yes, with --write"
            table.add_row(plain(fact.instance), fact.fact, str(fact.before), str(fact.after), how)
        console.print(table)
        console.print()
    if costs:
        table = table_of(
            "GPU nodes a month, USD", "environment", "desired before", "desired now", "max before", "max now"
        )
        for cost in costs:
            table.add_row(plain(cost.environment), _month(cost.desired_before), _month(cost.desired_after),
                          _month(cost.maximum_before), _month(cost.maximum_after))  # fmt: skip
        console.print(table)
        for cost in costs:
            for machine in cost.machines:
                console.print(f"another machine type in {plain(cost.environment)}: {plain(machine)}", soft_wrap=True)
        console.print()
    for file in broken:
        console.print(f"not planned, for it has errors: {plain(file)}", soft_wrap=True)
    if refresh.not_in_catalog:
        console.print(f"priced, and not in the catalog: {plain(', '.join(refresh.not_in_catalog))}", soft_wrap=True)
    if refresh.unconfirmed:
        shown = ", ".join(refresh.unconfirmed[:5])
        more = f" and {len(refresh.unconfirmed) - 5} more" if len(refresh.unconfirmed) > 5 else ""
        console.print(f"no longer found, kept as they are: {plain(shown)}{more}", soft_wrap=True)
    console.print(
        f"{len(refresh.prices)} prices changed or new, {refresh.confirmed} confirmed, {refresh.older} older than the "
        f"catalog's, {len(refresh.facts)} facts changed; "
        + ("written: review and commit the data files" if written else "nothing was written (--write)"),
        soft_wrap=True,
    )


def _usd(span: tuple[float, float]) -> str:
    low, high = (f"{value:,.4f}" for value in span)
    return low if low == high else f"{low} to {high}"


def _month(span: Range) -> str:
    if span.high is None:
        return f"{span.low:,.0f} or more"
    return f"{span.low:,.0f}" if span.low == span.high else f"{span.low:,.0f} to {span.high:,.0f}"
