"""Changing numbers of a YAML file where they stand: comments, order and style stay."""

import difflib
from collections.abc import Mapping

from inferfab.environment.source import Source
from inferfab.findings import YamlPath


class CannotEdit(Exception):
    """A value is not where it was read; the message says which."""


def edited(source: Source, changes: Mapping[YamlPath, int | float]) -> str:
    """The file's text with scalars replaced.

    :param changes: new value by path; each path is a scalar that the file has.
    :raises CannotEdit: if one is not.
    """
    lines = list(source.lines)
    # From the end, so that what is replaced moves nothing that is still to be.
    for path in sorted(changes, key=lambda p: source.places[p].value if p in source.places else (0, 0), reverse=True):
        place = source.places.get(path)
        text = place.text if place else ""
        if place is None or not text:
            raise CannotEdit(f"{'.'.join(map(str, path))} is not in the file")
        row, column = place.value[0] - 1, place.value[1] - 1
        line = lines[row]
        if line[column : column + len(text)] != text:
            raise CannotEdit(f"{'.'.join(map(str, path))} is not written as a plain number")
        lines[row] = f"{line[:column]}{changes[path]}{line[column + len(text) :]}"
    return "\n".join(lines) + "\n"


def diff(before: str, after: str, name: str) -> str:
    """A unified diff that `git apply` takes; empty where nothing changed."""
    return "".join(
        difflib.unified_diff(
            before.splitlines(keepends=True), after.splitlines(keepends=True), f"a/{name}", f"b/{name}"
        )
    )
