"""Writing a folder whole or not at all."""

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from inferfab.cli.output import Refused

MARKER = ".inferfab"
"""In a folder that we wrote: only such a one is replaced."""


def deliver_folder(files: Mapping[str, str], out: Path) -> None:
    """Write ``files`` (relative path to text) into ``out``, which is new, empty, or an earlier output.

    Everything goes into a folder beside it first; then that takes its place.

    :raises Refused: if ``out`` holds something else, or cannot be written.
    """
    target = out.resolve() if out.is_symlink() else out
    if target.exists() and not target.is_dir():
        raise Refused(f"{out} is a file; name a folder")
    try:
        if target.is_dir() and any(target.iterdir()) and not (target / MARKER).is_file():
            raise Refused(f"{out} holds files that inferfab did not write; name another folder, or empty it")
        if target.resolve() in (Path.cwd(), *Path.cwd().parents):
            raise Refused(f"{out} is the folder that you are in; name one below it")
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as scratch:
            fresh = Path(scratch) / "new"
            for path, text in {MARKER: "Written by inferfab; it is replaced as a whole.\n", **files}.items():
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
