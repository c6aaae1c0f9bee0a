"""Careful access to values of a plan, which may be absent, unknown, sensitive or of a wrong type."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from inferfab.plan.quantities import Range
from inferfab.review.masking import Hidden
from inferfab.review.span import UNKNOWN

Values = Mapping[str, Any]
_MOST = 1_000_000
"""More nodes than any group has; a larger number is a mistake, or a trap."""


def block(value: Any) -> Values:
    """The one object of a nested block, which plans hold as a list; empty if there is none."""
    if isinstance(value, list):
        value = value[0] if value else None
    return value if isinstance(value, dict) else {}


_REGION = re.compile(r"[a-z]{2,}(-[a-z]+)+-?\d{1,2}(-?[a-z])?")


def place(value: Any) -> str:
    """A region or zone; nothing for a text that looks like none, which is then not shown."""
    found = text(value)
    return found if len(found) <= 40 and _REGION.fullmatch(found) else ""


def blocks(value: Any) -> Iterator[Values]:
    """The objects of a nested block."""
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, dict):
            yield one


def text(value: Any) -> str:
    """A short string, or nothing."""
    return value if isinstance(value, str) and len(value) <= 256 else ""


def texts(value: Any) -> tuple[str, ...]:
    return tuple(filter(None, map(text, value))) if isinstance(value, list) else ()


def hidden(value: Any) -> bool:
    """Unknown or sensitive, also as the only member of a list."""
    if isinstance(value, list):
        return any(isinstance(one, Hidden) for one in value)
    return isinstance(value, Hidden)


def count(value: Any, default: Range | None = None) -> Range:
    """A number of nodes; a range up to nothing known where the plan does not say it."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 8:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST:
        return Range.exact(value)
    return default if value is None and default is not None else UNKNOWN


def at(values: Any, path: str) -> list[Any]:
    """Every value at a dotted path, through lists: ``ingress.cidr_blocks``."""
    found = [values]
    for name in path.split("."):
        step: list[Any] = []
        for value in found:
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, Hidden):
                    step.append(one)
                elif isinstance(one, dict) and name in one:
                    step.append(one[name])
        found = step
    flat: list[Any] = []
    for value in found:
        flat += value if isinstance(value, list) else [value]
    return flat
