"""Printing, and writing files whole or not at all."""

import io
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


class Refused(Exception):
    """A command cannot do what it was asked; the message says why and what to do. Exit code 1."""


def rendered(draw: "Callable[[Console], None]", *, colour: bool = True, stderr: bool = False) -> str:
    """What ``draw`` prints, as text: as wide as the terminal and in colours there, 160 columns and plain elsewhere."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    terminal = colour and stream.isatty()
    width = None if terminal or "COLUMNS" in os.environ else 160
    buffer = io.StringIO()
    console = Console(
        file=buffer,
        force_terminal=terminal,
        width=width or shutil.get_terminal_size((160, 50)).columns,
        highlight=False,
        emoji=False,
        legacy_windows=False,
    )
    draw(console)
    return buffer.getvalue()


def deliver(text: str, out: Path | None) -> None:
    """Write to ``out``, or print."""
    if out is None:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
    else:
        write_whole(out, text if text.endswith("\n") else text + "\n")
        sys.stderr.write(f"wrote {out}\n")


def write_whole(path: Path, text: str) -> None:
    """Write through a temporary file beside the target, so that no half-written file is ever seen.

    :raises Refused: if the folder cannot be made or written to.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
                stream.write(text)
            # mkstemp makes private files; what we write is meant to be read like any other.
            mask = os.umask(0)
            os.umask(mask)
            Path(temporary).chmod(0o666 & ~mask)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise Refused(f"cannot write {path}: {error.strerror or error}") from error
