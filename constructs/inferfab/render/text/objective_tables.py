"""What is judged of each promise, as a table."""

from typing import TYPE_CHECKING

from inferfab.plan.fleet import FleetPlan
from inferfab.plan.observability.slos import SloPlan
from inferfab.render.text.tables import plain, table_of

if TYPE_CHECKING:
    from rich.table import Table


def objectives(fleet: FleetPlan) -> "Table | None":
    """Each objective once, whatever the number of cells; None where nothing is promised."""
    seen: dict[str, tuple[str, str, str]] = {}
    for cell in fleet.cells:
        if cell.observability is None:
            continue
        for slo in cell.observability.slos:
            seen.setdefault(slo.name, (slo.tier, _judged(slo), _by(slo)))
        for lost in cell.observability.unmeasured:
            seen.setdefault(f"{lost.pool}: {lost.promise}", ("-", "not judged", lost.why))
    if not seen:
        return None
    table = table_of("Objectives", "objective", "tier", "good is", "judged by")
    for name, (tier, judged, by) in seen.items():
        table.add_row(plain(name), plain(tier), judged, by)
    return table


def _judged(slo: SloPlan) -> str:
    good = "answered" if slo.edge_seconds is None else f"≤ {slo.edge_seconds * 1000:,.6g} ms"
    return f"{good} for {100 * slo.objective:.6g} %"


def _by(slo: SloPlan) -> str:
    where = "frontends" if slo.source == "frontend" else "engines"
    return where if slo.exact else f"{where}, as a lower bound of what is bad"
