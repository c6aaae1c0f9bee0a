"""From paths, folders and standard input to texts."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from inferfab.checks.manifest_file_rules import finding
from inferfab.findings import Finding

SUFFIXES = (".yaml", ".yml", ".json")
MAX_BYTES = 16 * 1024 * 1024
"""Of one file. A rendered umbrella chart has a few megabytes, most of them CRDs."""
MAX_FILES = 20_000
STDIN = "<stdin>"
_OURS_AND_TOOLS = (".git", "node_modules", ".venv", "__pycache__")


@dataclass(frozen=True)
class TextFile:
    """A text with the name under which findings show it."""

    name: str
    text: str
    lines: tuple[str, ...]


def read_files(paths: Iterable[Path | None]) -> tuple[list[TextFile], list[Finding]]:
    """Every YAML or JSON file under ``paths`` (None: standard input), and what could not be read.

    A file that is named is read whatever its suffix; in folders suffixes decide.
    """
    found: dict[str, TextFile] = {}
    problems: list[Finding] = []
    for path in paths:
        if path is None:
            _add(found, problems, STDIN, sys.stdin.buffer.read(MAX_BYTES + 1))
            continue
        for each in _under(path, problems):
            data = _bytes(each, problems)
            if data is not None:
                _add(found, problems, str(each), data)
    return list(found.values()), problems


def from_text(name: str, text: str) -> TextFile:
    """A file that is in memory already. Line ends of every system are one."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return TextFile(name, text, tuple(text.split("\n")))


def _under(path: Path, problems: list[Finding]) -> Iterator[Path]:
    try:
        if not path.is_dir():
            yield path
            return
        # Links to folders are not followed: they may lead back up.
        inside = sorted(p for p in path.rglob("*") if p.suffix.lower() in SUFFIXES)
    except OSError as error:
        problems.append(finding("IF-MAN-001", str(path), f"cannot be read: {error.strerror or error}", "check it"))
        return
    kept = [p for p in inside if not set(_OURS_AND_TOOLS) & set(p.parts[len(path.parts) :]) and p.is_file()]
    if not kept:
        what = f"holds no {' or '.join(SUFFIXES)} file"
        problems.append(finding("IF-MAN-001", str(path), what, "name the files, or another folder"))
    if len(kept) > MAX_FILES:
        what = f"holds {len(kept):,} files, more than {MAX_FILES:,}"
        problems.append(finding("IF-MAN-001", str(path), what, "name a folder further down"))
        return
    yield from kept


def _bytes(path: Path, problems: list[Finding]) -> bytes | None:
    try:
        with path.open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        problems.append(finding("IF-MAN-001", str(path), f"cannot be read: {reason}", "check the path"))
        return None


def _add(found: dict[str, TextFile], problems: list[Finding], name: str, data: bytes) -> None:
    if len(data) > MAX_BYTES:
        what = f"is larger than {MAX_BYTES // 1024**2} MiB"
        problems.append(finding("IF-MAN-001", name, what, "split it"))
        return
    try:
        # PowerShell's `>` writes UTF-16.
        utf16 = data.startswith((b"\xff\xfe", b"\xfe\xff"))
        text = data.decode("utf-16" if utf16 else "utf-8-sig")
    except UnicodeDecodeError as error:
        what = f"byte {error.start} is not UTF-8"
        problems.append(finding("IF-MAN-001", name, what, "save it as UTF-8"))
        return
    found.setdefault(name, from_text(name, text))
