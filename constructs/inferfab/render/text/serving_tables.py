"""Who answers requests for a model of a tier."""

from typing import TYPE_CHECKING

from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.plan.names import SERVING_NAMESPACE
from inferfab.plan.serving.component import GraphPlan
from inferfab.plan.serving.entries import EntryPlan
from inferfab.render.text.tables import plain, table_of

if TYPE_CHECKING:
    from rich.table import Table


def answers(fleet: FleetPlan) -> "Table":
    """A row for each model of each tier; cells in which all is the same share it."""
    cells: dict[tuple[str, ...], list[str]] = {}
    for cell in fleet.cells:
        for entry in cell.serving.entries:
            row = (entry.tier, entry.model, f"{entry.service}:{entry.port}", _answered_by(cell, entry))
            cells.setdefault(row, []).append(cell.name)
    title = f"Who answers: Services in namespace {SERVING_NAMESPACE}"
    table = table_of(title, "cells", "tier", "model", "Service", "answered by")
    for texts, names in cells.items():
        table.add_row(plain(", ".join(names)), *map(plain, texts))
    return table


def _answered_by(cell: CellPlan, entry: EntryPlan) -> str:
    if entry.target is not None:
        t = entry.target
        return (
            f"the router over tiers, from pool {t.pool}: TTFT target {t.ttft_ms} ms, ITL target {t.itl_ms} ms, or "
            f"priority {t.min_priority} to {t.max_priority}"
        )
    lanes = [(lane, e) for lane in cell.serving.lanes if lane.tier == entry.tier for e in lane.engines]
    asleep = [(lane, engine) for lane, engine in lanes if engine.model == entry.model]
    if asleep:
        lane, engine = asleep[0]
        return (
            f"{sum(lane.replicas for lane, _ in asleep)} lanes of pool {lane.pool}, where it wakes in "
            f"{engine.wake_seconds:.1f} s when asked for; {engine.max_requests} requests a lane run or wait, more get "
            f"429; a fresh lane loads for {lane.start_seconds:.0f} s at least, engine starts on top"
        )
    graphs = [g for g in cell.serving.graphs if g.tier == entry.tier and g.model == entry.model]
    return "; ".join(f"{_frontends(g)} frontends of graph {g.name}" for g in graphs)


def _frontends(graph: GraphPlan) -> int:
    return sum(part.replicas for part in graph.components if part.kind == "frontend")
