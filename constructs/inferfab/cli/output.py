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

from inferfab.cli.inputs import was_read
from inferfab.input_files import read_bytes
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


def deliver(text: str, out: Path | None, *, over_input: bool = False, ours: "Ours | None" = None) -> None:
    """Write to ``out``, or print. A reader that has gone (``| head``) is no error, and changes no exit code.

    :param over_input: see :func:`write_whole`, as ``ours``.
    """
    # Terminals obey these in JSON too, where `\\u009b` means the same; colours use none of them.
    text = _C1.sub(lambda found: f"\\u{ord(found[0]):04x}", text if text.endswith("\n") else text + "\n")
    if out is not None:
        write_whole(out, text, over_input=over_input, ours=ours)
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


Ours = Callable[[str], bool]
"""Whether the text of a file is what a command wrote earlier."""


def write_whole(path: Path, text: str, *, over_input: bool = False, ours: Ours | None = None) -> None:
    """Write through a temporary file beside the target, so that no half-written file is ever seen.

    A link stays a link. A device or a pipe (``/dev/null``, ``/dev/stdout``) is written to, never replaced.

    :param over_input: the command edits what it reads. Default: a file that it has read is not written over.
    :param ours: for a file under a name that others use too: what is there is only replaced if this says so, and a
        link is left alone. Default: whoever names a file may have it replaced.
    :raises Refused: if the folder cannot be made or written to, or what is there is not to be replaced.
    """
    if ours is not None:
        refuse_foreign(path, ours)
    elif not over_input and was_read(path):
        raise Refused(f"{path} is what this command reads; name another file to write")
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


def refuse_foreign(path: Path, ours: Ours) -> None:
    """:raises Refused: if something is there that we did not write."""
    if path.is_symlink():
        raise Refused(f"{path} is a link, and what it leads to is not inferfab's; move it elsewhere")
    if not path.is_file():
        return
    try:
        there = read_bytes(path).decode("utf-8", "replace")
    except OSError as error:
        raise Refused(f"cannot read {path}: {error.strerror or error}") from error
    if not ours(there):
        raise Refused(f"{path} is there, and inferfab did not write it; move it elsewhere, or name another")
