"""Files that a command has read: none of them is written over by an option that says where output goes."""

import os
import sys
from functools import cache
from pathlib import Path

_READ: set[str] = set()
_OWN = (".py", ".pyc", ".so")


def _note(event: str, details: tuple[object, ...]) -> None:
    if event != "open":
        return
    path, mode = details[0], details[1]
    # Without a mode it is a file descriptor's, as of temporary files.
    if isinstance(path, str) and isinstance(mode, str) and mode.startswith("r") and not path.endswith(_OWN):
        _READ.add(os.path.abspath(path))  # noqa: PTH100 - the folder may change before it is compared


def begin() -> None:
    """A command begins: nothing is read yet. Every later ``open`` is noted, whoever does it (PEP 578)."""
    _READ.clear()
    _watch()


@cache
def _watch() -> None:
    sys.addaudithook(_note)  # for good: a hook cannot be taken away


def was_read(path: Path) -> bool:
    """Whether the command has read this file, under any of its names."""
    if not path.is_file():
        return False
    return any(os.path.isfile(one) and os.path.samefile(one, path) for one in _READ)  # noqa: PTH113, PTH121
