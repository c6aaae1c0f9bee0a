"""Printing, and writing files whole or not at all."""

import io
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from inferfab.render.text.findings import printable

if TYPE_CHECKING:
    from rich.console import Console


class Refused(Exception):
    """A command cannot do what it was asked; the message says why and what to do. Exit code 1."""


def rendered(draw: "Callable[[Console], None]", *, colour: bool = True, stderr: bool = False) -> str:
    """What ``draw`` prints, as text: as wide as the terminal and in colours there, 160 columns and plain elsewhere.

    Tables in less than 60 columns would be columns of single letters: on a narrow terminal they run over its edge.
    """
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    terminal = colour and stream.isatty()
    width = None if terminal or "COLUMNS" in os.environ else 160
    buffer = io.StringIO()
    width = width or shutil.get_terminal_size((160, 50)).columns
    console = Console(
        file=buffer,
        force_terminal=terminal,
        width=width if width >= _NARROWEST else _INSTEAD,
        highlight=False,
        emoji=False,
        legacy_windows=False,
    )
    draw(console)
    return for_encoding(buffer.getvalue(), stream.encoding) if colour else buffer.getvalue()


_NARROWEST, _INSTEAD = 60, 100
_IN_ASCII = str.maketrans(
    {"─": "-", "━": "-", "│": "|", "·": "-", "–": "-", "—": "-", "×": "x", "≤": "<=", "≥": ">=", "→": "->", "…": "..."}
)


def for_encoding(text: str, encoding: str | None) -> str:
    """Lines and signs of ours in ASCII where the terminal has nothing else."""
    try:
        "─·–×≤→…".encode(encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return text.translate(_IN_ASCII)
    return text


def deliver(text: str, out: Path | None) -> None:
    """Write to ``out``, or print. A reader that has gone (``| head``) is no error, and changes no exit code."""
    # Terminals obey these in JSON too, where `\\u009b` means the same; colours use none of them.
    text = _C1.sub(lambda found: f"\\u{ord(found[0]):04x}", text if text.endswith("\n") else text + "\n")
    if out is not None:
        write_whole(out, text)
        sys.stderr.write(f"wrote {printable(str(out))}\n")
        return
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        raise Refused(f"cannot write the output: {error.strerror or error}") from error


_C1 = re.compile("[\x7f-\x9f]")


def write_whole(path: Path, text: str) -> None:
    """Write through a temporary file beside the target, so that no half-written file is ever seen.

    A link stays a link. A device or a pipe (``/dev/null``, ``/dev/stdout``) is written to, never replaced.

    :raises Refused: if the folder cannot be made or written to.
    """
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            with path.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as stream:
                stream.write(text)
            return
        path = path.resolve() if path.is_symlink() else path
        if not path.parent.is_dir() and path.parent.exists():
            raise Refused(f"cannot write {path}: {path.parent} is not a folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            # File names that are not UTF-8 come as lone surrogates.
            with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as stream:
                stream.write(text)
            # mkstemp makes private files; what we write is meant to be read like any other.
            mask = os.umask(0)
            os.umask(mask)
            Path(temporary).chmod(path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~mask)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise Refused(f"cannot write {path}: {error.strerror or error}") from error
