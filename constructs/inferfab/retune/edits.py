"""Changing numbers of a YAML file where they stand: comments, order and style stay."""

import difflib
from collections.abc import Mapping

from inferfab.environment.source import Source
from inferfab.findings import YamlPath


class CannotEdit(Exception):
    """A value is not where it was read; the message says which."""


def edited(
    source: Source, changes: Mapping[YamlPath, int | float], added: Mapping[YamlPath, int | float] | None = None
) -> str:
    """The file's text with scalars replaced, and scalars added before the first key of the mapping they belong to.

    :param changes: new value by path; each path is a scalar that the file has.
    :param added: value by path; each path's mapping is in the file, its last key is not.
    :raises CannotEdit: if one is not.
    """
    lines = list(source.lines)
    edits: list[tuple[tuple[int, int], YamlPath, bool]] = []
    for path in changes:
        place = source.places.get(path)
        if place is None or not place.text:
            raise CannotEdit(f"{_dotted(path)} is not in the file")
        edits.append((place.value, path, False))
    for path in added or {}:
        beside = min((p.key for at, p in source.places.items() if at[:-1] == path[:-1] and at != path), default=None)
        if beside is None:
            raise CannotEdit(f"{_dotted(path[:-1])} is not in the file, so {path[-1]} cannot stand in it")
        edits.append((beside, path, True))
    # From the end, so that what is replaced moves nothing that is still to be.
    for (line_number, column_number), path, adds in sorted(edits, key=lambda e: (e[0], str(e[1])), reverse=True):
        row, column = line_number - 1, column_number - 1
        line = lines[row]
        if adds:
            assert added is not None
            pair, before = f"{path[-1]}: {added[path]}", line[:column].rstrip()
            if before.endswith(("{", ",")):
                lines[row] = f"{line[:column]}{pair}, {line[column:]}"
            elif not before:
                lines.insert(row, f"{line[:column]}{pair}")
            else:
                raise CannotEdit(f"{_dotted(path)} has no line of its own to stand on")
            continue
        text = source.text(path)
        if line[column : column + len(text)] != text:
            raise CannotEdit(f"{_dotted(path)} is not written as a plain number")
        lines[row] = f"{line[:column]}{changes[path]}{line[column + len(text) :]}"
    return "\n".join(lines) + "\n"


def _dotted(path: YamlPath) -> str:
    return ".".join(map(str, path))


def diff(before: str, after: str, name: str) -> str:
    """A unified diff that `git apply` takes; empty where nothing changed."""
    return "".join(
        difflib.unified_diff(
            before.splitlines(keepends=True), after.splitlines(keepends=True), f"a/{name}", f"b/{name}"
        )
    )
