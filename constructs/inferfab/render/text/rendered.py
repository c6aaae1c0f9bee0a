"""What ``inferfab render`` wrote."""

from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from inferfab.plan.fleet import FleetPlan


def print_rendered(console: Console, fleet: FleetPlan, out: Path, files: tuple[str, ...]) -> None:
    """A line a cell: graphs, and what stands in front of them."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("cell", "files", "graphs", "over tiers", "workers", "folder"):
        table.add_column(heading, justify="right" if heading in ("files", "graphs", "workers") else "left")
    for cell in fleet.cells:
        graphs = cell.serving.graphs
        table.add_row(
            cell.name,
            str(sum(1 for file in files if file.startswith(f"{cell.name}/"))),
            str(len(graphs)),
            ", ".join(g.model for g in graphs if g.global_router) or "-",
            str(sum(c.replicas for g in graphs for c in g.components if c.node_group)),
            escape(str(out / cell.name)),
        )
    console.print(table)
    for cell in fleet.cells:
        for without in cell.serving.without_router:
            console.print(f"{cell.name}: no router over the tiers of {without.model}: {without.why}", markup=False)
