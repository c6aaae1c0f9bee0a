"""A rehearsal as text."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from inferfab.render.text.findings import printable

if TYPE_CHECKING:
    from rich.console import Console

    from inferfab.rehearse.rehearse import Rehearsal


def print_rehearsals(console: "Console", found: "Sequence[Rehearsal]") -> None:
    """Scenes of each cell, what was real and what was mocked."""
    for one in found:
        ready = f"ready after {one.ready_seconds:.1f} s" if one.ready_seconds is not None else "never ready"
        memory = f", {one.memory_bytes / 1024**3:.2f} GiB" if one.memory_bytes else ""
        console.print(
            f"Cell {one.cell}: {one.engine}, {one.processes} processes, {ready}, {one.seconds:.1f} s in all{memory}",
            style="bold",
            markup=False,
        )
        for scene in one.scenes:
            mark = "[green]ok  [/]" if scene.ok else "[red]FAIL[/]"
            console.print(f"  {mark} ", end="")
            console.print(f"{printable(scene.name)}: {printable(scene.seen)}", markup=False, soft_wrap=True)
        for title, lines in (("real", one.real), ("mocked", one.mocked)):
            for line in lines:
                console.print(f"  {title:6} {printable(line)}", markup=False, soft_wrap=True)
        console.print()
