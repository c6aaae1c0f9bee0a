"""What preflight found, as tables: what is missing first."""

from pathlib import Path
from typing import TYPE_CHECKING

from inferfab.preflight.report import Report, Row, Status
from inferfab.render.text.tables import plain, table_of

if TYPE_CHECKING:
    from rich.console import Console

_ORDER: tuple[Status, ...] = ("missing", "unknown", "ok")
_COLOURS: dict[Status, str] = {"missing": "red", "unknown": "yellow", "ok": "green"}


def print_preflight(console: "Console", report: Report, out: Path | None) -> None:
    """Tables by status, then the commands, then one line that counts."""
    for status in _ORDER:
        rows = [row for row in report.rows if row.status == status]
        if rows:
            console.print(_table(status, rows))
            console.print()
    doing = [row for row in report.rows if row.do]
    if doing:
        console.print("[bold]To do[/bold]")
        for row in sorted(doing, key=lambda r: _ORDER.index(r.status)):
            console.print(f"- {plain(row.area)} {plain(row.where)}, {plain(row.what)}:", soft_wrap=True)
            console.print(f"  {plain(row.do)}", soft_wrap=True)
        console.print()
    counts = ", ".join(f"{report.count(s)} {s}" for s in _ORDER)
    console.print(f"{plain(report.environment)} on {report.as_of}: {counts}; nothing was changed", soft_wrap=True)
    if out is not None:
        console.print(f"what was seen is in {plain(str(out))}: inferfab check ENV --observed {plain(str(out))}",
                      soft_wrap=True)  # fmt: skip


def _table(status: Status, rows: list[Row]) -> object:
    table = table_of(f"[{_COLOURS[status]}]{status}[/]", "what", "where", "for", "needed", "found")
    for row in rows:
        table.add_row(*(plain(text) for text in (row.area, row.where, row.what, row.needed, row.found)))
    return table
