"""Fabrics of a plan as tables: marks, leaves, racks, closeness, and what is kept apart."""

from typing import TYPE_CHECKING

from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.plan.separation import Separation
from inferfab.render.text.numbers import figure
from inferfab.render.text.tables import plain, table_of

if TYPE_CHECKING:
    from rich.table import Table


def fabric_tables(fleet: FleetPlan) -> tuple["Table | None", ...]:
    """Those that the fleet has something for."""
    return _leaves(fleet), _racks(fleet), _locality(fleet), _separation(fleet)


def _leaves(fleet: FleetPlan) -> "Table | None":
    table = table_of("Owned RoCE fabrics", "cell", "marks", "MTU", "leaf", "servers", "uplinks", "buffer of a port")
    for cell in fleet.cells:
        marking = cell.fabric.marking
        if cell.racks is None or marking is None or marking.switch is None:
            continue
        ours = marking.switch
        marks = (
            f"DSCP {marking.dscp}, priority {ours.priority}; CNP DSCP {ours.cnp_dscp}, priority {ours.cnp_priority}; "
            f"{marking.congestion_control.replace('_', ' ')}"
        )
        for n, leaf in enumerate(cell.racks.leaves):
            ratio = f", {figure(leaf.oversubscription)} : 1" if leaf.oversubscription else ""
            table.add_row(
                plain(cell.name) if n == 0 else "",
                marks if n == 0 else "",
                f"{marking.ib_mtu} in {marking.mtu} in {ours.mtu}" if n == 0 else "",
                f"{plain(leaf.name)} ({plain(leaf.hwsku)})",
                f"{figure(leaf.server_gbps / 1000)} Tbit/s",
                f"{figure(leaf.uplink_gbps / 1000)} Tbit/s{ratio}",
                "; ".join(f"{b.gbps}G at {b.length_m:g} m: {b.xoff:,} bytes ({b.basis})" for b in leaf.buffers),
            )
    return table if table.row_count else None


def _racks(fleet: FleetPlan) -> "Table | None":
    table = table_of("Racks", "cell", "rack", "servers", "holds", "gateways", "spills to")
    for cell in fleet.cells:
        for n, rack in enumerate(cell.racks.racks if cell.racks else ()):
            table.add_row(
                plain(cell.name) if n == 0 else "",
                plain(rack.name),
                str(len(rack.servers)),
                ", ".join(plain(role) for role in rack.roles) or "nothing",
                str(rack.gateways),
                ", then ".join(plain(other) for other in rack.spills_to) or "nowhere",
            )
    return table if table.row_count else None


def _locality(fleet: FleetPlan) -> "Table | None":
    table = table_of(
        "How near a request's parts are", "cell", "known", "guaranteed", "only preferred", "gateway connections"
    )
    for cell in fleet.cells:
        near = cell.locality
        if near is None:
            continue
        limit = near.flows.single_flow_gbps
        each = f" of at most {figure(limit)} Gbit/s" if limit else ""
        table.add_row(
            plain(cell.name),
            near.known,
            plain("; ".join(near.guaranteed)),
            "; ".join(near.preferred),
            f"{near.flows.connections}{each} for {figure(near.flows.busiest_gbps)} Gbit/s",
        )
    return table if table.row_count else None


def _separation(fleet: FleetPlan) -> "Table":
    """One row for cells that are alike."""
    table = table_of("What keeps inference traffic apart", "fabric", "from", "apart", "how")
    apart: dict[tuple[Separation, ...], CellPlan] = {}
    for cell in fleet.cells:
        apart.setdefault(cell.fabric.separation, cell)
    for lines, cell in apart.items():
        name = f"{cell.fabric.kind} on racks" if cell.racks else cell.fabric.kind
        for line in lines:
            table.add_row(name, line.traffic, line.kept_apart, line.how)
    return table
