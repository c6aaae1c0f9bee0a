"""From a file, or bytes, to a :class:`Source`: reading, decoding, and YAML's own errors."""

import codecs
import difflib
from collections.abc import Sequence
from pathlib import Path

import yaml
from yaml.reader import Reader

from inferfab.environment.source import Source
from inferfab.environment.yaml_compose import Composer

MAX_BYTES = 2 * 1024 * 1024
"""Largest file that is read. 400 pools in 40 cells take about 150 kB; more is not an environment file."""


def read_source(path: Path, *, shown_as: str | None = None) -> Source:
    """Read a file. Never raises for bad content: what is wrong stands in ``findings``."""
    source = Source(file=shown_as or str(path))
    data = _read_bytes(path, source)
    if data is None:
        return source
    return parse_source(data, source)


def _read_bytes(path: Path, source: Source) -> bytes | None:
    why = "inferfab plans from this file alone."
    try:
        if path.is_dir():
            source.problem(
                "IF-ENV-001", (1, 1), "is a folder, not a file", why, f"name a file in it: {path / 'dev.yaml'}"
            )
            return None
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        near = difflib.get_close_matches(path.name, [p.name for p in _siblings(path)], n=1)
        hint = "`inferfab init NAME` writes a starter environment."
        below = path.parent / "environments" / path.name
        if below.is_file():
            hint = f"did you mean {below}?"
        elif near:
            hint = f"did you mean {path.parent / near[0]}?"
        source.problem("IF-ENV-001", (1, 1), "there is no such file", why, hint)
        return None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        source.problem("IF-ENV-001", (1, 1), f"cannot be read: {reason}", why, "check the path and its permissions")
        return None
    if len(data) > MAX_BYTES:
        source.problem(
            "IF-ENV-001",
            (1, 1),
            f"is larger than {MAX_BYTES // 1024} KiB",
            "400 pools in 40 cells take about 150 KiB; a larger file is something else.",
            "split the fleet into several environments",
        )
        return None
    return data


def _siblings(path: Path) -> list[Path]:
    try:
        return sorted(path.parent.glob("*.y*ml"))
    except OSError:
        return []


def parse_source(data: bytes, source: Source) -> Source:
    """Compose ``data`` into ``source``."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\x00" in data:
        source.problem(
            "IF-ENV-002",
            (1, 1),
            "is not UTF-8 text (binary, or UTF-16 as some Windows tools write it)",
            "an environment file is UTF-8 YAML.",
            "save it as UTF-8",
        )
        return source
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        source.problem(
            "IF-ENV-002",
            _at_end_of(data[: error.start].decode("utf-8")),
            f"byte 0x{data[error.start]:02x} is not UTF-8",
            "an environment file is UTF-8 YAML.",
            "save it as UTF-8",
        )
        return source
    try:
        source.lines = tuple(text.splitlines())
        Composer(source).run(text)
    except yaml.MarkedYAMLError as error:
        source.forget_values()
        mark = error.problem_mark or error.context_mark
        at = (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)
        detail = " ".join(part for part in (error.problem, error.context) if part)
        if _is_tab(source.lines, at):
            detail = "a tab where only spaces may indent"
        elif error.context_mark is not None and error.context_mark.line + 1 < at[0]:
            detail += f" that begins on line {error.context_mark.line + 1}"
        source.problem(
            "IF-ENV-003",
            at,
            f"is not valid YAML: {detail}",
            "nothing after this place can be read.",
            "mend the syntax here or on the line before (indentation with spaces, `key: value`, closed quotes)",
        )
    except yaml.YAMLError as error:  # characters that YAML forbids; carries no mark, and libyaml counts in bytes
        source.forget_values()
        forbidden = Reader.NON_PRINTABLE.search(text)
        source.problem(
            "IF-ENV-003",
            _at_end_of(text[: forbidden.start()]) if forbidden else (1, 1),
            f"is not valid YAML: {str(error).splitlines()[0]}",
            "YAML allows no control characters.",
            "remove the character",
        )
    return source


def _at_end_of(before: str) -> tuple[int, int]:
    """Line and column of what follows ``before``."""
    lines = f"{before}x".splitlines()
    return len(lines), len(lines[-1])


def _is_tab(lines: Sequence[str], at: tuple[int, int]) -> bool:
    return at[0] <= len(lines) and lines[at[0] - 1][at[1] - 1 : at[1]] == "\t"
