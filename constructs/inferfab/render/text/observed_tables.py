"""What preflight saw in the account, beside what the plan needs of it."""

from typing import TYPE_CHECKING

from inferfab.catalog.quotas import quotas
from inferfab.plan.fleet import FleetPlan
from inferfab.plan.quotas import quota_needs
from inferfab.render.text.tables import plain, table_of

if TYPE_CHECKING:
    from rich.table import Table


def quota_table(fleet: FleetPlan) -> "Table | None":
    """None where nothing was observed."""
    seen = fleet.observed
    if seen is None:
        return None
    right = ("desired", "max", "others", "granted")
    table = table_of(f"Quotas, as seen on {seen.as_of}", "where", "quota", *right, right=right)
    for need in quota_needs(fleet):
        granted = seen.quotas.get(need.key)
        if granted is None:
            continue
        others = seen.used.get(need.use_key)
        table.add_row(
            plain(need.within or need.region),
            quotas()[need.quota].title,
            f"{need.desired:,.4g}" if need.desired < 100 else f"{need.desired:,.0f}",
            f"{need.maximum:,.4g}" if need.maximum < 100 else f"{need.maximum:,.0f}",
            "not known" if others is None else f"{others:,.0f}",
            f"{granted:,.0f}",
        )
    return table if table.row_count else None
