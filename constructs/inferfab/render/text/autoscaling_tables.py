"""How pools follow demand, as a table of the plan."""

from typing import TYPE_CHECKING

from inferfab.plan.autoscaling.autoscaling import PoolAutoscaling
from inferfab.plan.autoscaling.workers import RoleScaling
from inferfab.plan.fleet import FleetPlan
from inferfab.render.text.tables import plain, table_of

if TYPE_CHECKING:
    from rich.table import Table

_OWNERS = {"fixed": "Terraform, fixed", "planner": "Dynamo's planner", "keda": "KEDA"}


def autoscaling_table(fleet: FleetPlan) -> "Table | None":
    """A row for each pool; cells in which all is the same share it."""
    cells: dict[tuple[str, ...], list[str]] = {}
    for cell in fleet.cells:
        for pool in cell.autoscaling.pools if cell.autoscaling else ():
            cells.setdefault(_row(pool), []).append(cell.name)
    if not cells:
        return None
    table = table_of(
        "Following demand (one owner a number; what a worker serves is an estimate)",
        "pool", "cells", "workers belong to", "between", "a worker serves", "asked ahead", "forecast", "room kept",
        "remarks",
    )  # fmt: skip
    for (name, *texts), names in cells.items():
        table.add_row(plain(name), plain(", ".join(names)), *map(plain, texts))
    return table


def _row(pool: PoolAutoscaling) -> tuple[str, ...]:
    owner = _OWNERS[pool.mode] + (", planner advises" if pool.advisory_planner else "")
    scales = pool.mode != "fixed"
    times, settings = pool.provisioning, pool.forecast
    return (
        pool.pool,
        owner,
        "; ".join(_between(r, alone=len(pool.roles) == 1) for r in pool.roles) if scales else "-",
        "; ".join(f"{r.requests_per_second:.3g}/s" for r in pool.roles) if scales else "-",
        f"{settings.horizon_s / 60:.0f} min ({times.total_seconds / 60:.0f} to provision)"
        if scales and settings and times
        else "-",
        f"p{100 * settings.quantile:g} of change over {settings.window_s / 3600:g} h, else × {settings.headroom:g}"
        if scales and settings
        else "-",
        ", ".join(f"{p.most} pods of {p.gpus} GPUs" for p in pool.placeholders) or "-",
        "; ".join(pool.remarks) or "-",
    )


def _between(role: RoleScaling, *, alone: bool) -> str:
    spare = f", {role.spare} spare" if role.spare else ""
    return f"{'' if alone else role.role + ' '}{role.workers.min} and {role.workers.max}{spare}"
