"""Writing a folder whole or not at all."""

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from inferfab.cli.output import Refused

MARKER = ".inferfab"
"""In a folder that we wrote: the files that it then held, one a line. Only such a folder is replaced, and only while
nobody has put anything else into it.
"""
_HEAD = "Written by inferfab, which replaces these files and leaves a folder alone that holds others:"


def deliver_folder(files: Mapping[str, str], out: Path) -> None:
    """Write ``files`` (relative path to text) into ``out``, which is new, empty, or an earlier output.

    Everything goes into a folder beside it first; then that takes its place.

    :raises Refused: if ``out`` holds something else, or cannot be written.
    """
    target = out.resolve() if out.is_symlink() else out
    if target.exists() and not target.is_dir():
        raise Refused(f"{out} is a file; name a folder")
    try:
        others = _others(target) if target.is_dir() else []
        if others:
            named = ", ".join(others[:3]) + (f" and {len(others) - 3} more" if len(others) > 3 else "")
            raise Refused(
                f"{out} holds files that inferfab did not write ({named}); move them elsewhere, or name another folder"
            )
        if target.resolve() in (Path.cwd(), *Path.cwd().parents):
            raise Refused(f"{out} is the folder that you are in; name one below it")
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as scratch:
            fresh = Path(scratch) / "new"
            marker = "\n".join((_HEAD, *sorted(files), ""))
            for path, text in {MARKER: marker, **files}.items():
                file = fresh / PurePosixPath(path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8", newline="\n")
            aside = Path(scratch) / "old"
            if target.exists():
                target.replace(aside)
            try:
                fresh.replace(target)
            except OSError:
                if aside.exists():
                    aside.replace(target)
                raise
            shutil.rmtree(aside, ignore_errors=True)
    except OSError as error:
        raise Refused(f"cannot write {out}: {error.strerror or error}") from error


def _others(folder: Path) -> list[str]:
    """What in a folder is not ours, the shallowest first; whatever stands in one of somebody else's counts as one."""
    marker = folder / MARKER
    lines = marker.read_text(encoding="utf-8", errors="replace").splitlines() if marker.is_file() else []
    ours = {MARKER, *lines[1:]} if lines[:1] == [_HEAD] else set()
    parents = {parent.as_posix() for path in ours for parent in PurePosixPath(path).parents}
    found, waiting = [], [folder]
    while waiting:
        for entry in sorted(waiting.pop(0).iterdir()):
            path = entry.relative_to(folder).as_posix()
            if path in ours and entry.is_file():
                continue
            if path in parents and entry.is_dir() and not entry.is_symlink():
                waiting.append(entry)
            else:
                found.append(path)
    return found
