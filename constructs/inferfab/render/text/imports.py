"""What is in the account already, for people."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from inferfab.adopt.imports import Looked, State
from inferfab.render.text.tables import plain, table_of

if TYPE_CHECKING:
    from rich.console import Console


def print_imports(console: "Console", looked: Sequence[Looked], written: Sequence[Path], *, write: bool) -> None:
    """What is found with its id, what could not be told with the reason, and counts by type of the rest."""
    found = [one for one in looked if one.state == "found"]
    if found:
        table = table_of("found", "stack", "address", "import id")
        for one in found:
            table.add_row(plain(one.stack), plain(one.address), plain(one.import_id or ""))
        console.print(table)
        console.print()
    doubtful = [one for one in looked if one.state in ("ambiguous", "unknown")]
    if doubtful:
        table = table_of("not told", "stack", "address", "state", "why")
        for one in doubtful:
            table.add_row(plain(one.stack), plain(one.address), one.state, plain(one.why))
        console.print(table)
        console.print()
    rest = Counter(
        (one.address.partition(".")[0], one.state, one.why) for one in looked if one.state in ("not needed", "cannot")
    )
    if rest:
        table = table_of("without import", "type", "count", "state", "why", right=("count",))
        for (type_, state, why), count in sorted(rest.items()):
            table.add_row(plain(type_), str(count), state, plain(why))
        console.print(table)
        console.print()
    counts = Counter(one.state for one in looked)
    order: tuple[State, ...] = ("found", "absent", "ambiguous", "unknown", "not needed", "cannot")
    console.print(", ".join(f"{counts[state]} {state}" for state in order if counts[state]), soft_wrap=True)
    for path in written:
        console.print(f"wrote {plain(str(path))}", soft_wrap=True)
    if found and not write:
        console.print("nothing was written: --write puts import blocks into the stacks' folders", soft_wrap=True)
