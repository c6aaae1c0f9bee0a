"""Tables for a terminal."""

from typing import TYPE_CHECKING

from inferfab.render.text.findings import one_line

if TYPE_CHECKING:
    from rich.table import Table


def table_of(title: str, *columns: str, right: tuple[str, ...] = ()) -> "Table":
    from rich import box
    from rich.table import Table

    table = Table(
        title=title, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold", pad_edge=False, show_edge=False
    )
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", overflow="fold")
    return table


def plain(value: str) -> str:
    """Names come from the user's file; nothing in them is markup, a terminal's escape sequence or a line break."""
    from rich.markup import escape

    return escape(one_line(value))
