"""Arguments that may be left out."""

from typing import TypeVar, cast

Value = TypeVar("Value")


def optional(value: Value | None) -> Value:
    """The value of an argument that may be left out; the resource classes leave out None, their types do not say so."""
    return cast("Value", value)
