"""Checks what a resource was given against the typed dictionary of its arguments, and renders it for Terraform.

The same typed dictionary serves mypy, the editor and this check, so the three cannot disagree. Whatever is
wrong is reported at once, each with the place inside nested blocks and, for a misspelled name, the right one.
"""

import difflib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import get_args, get_origin, get_type_hints, is_typeddict

from inferfab.terraform.engine import Tokenization


class ArgumentsError(TypeError):
    """A resource, data source or provider was given arguments that Terraform would refuse."""

    def __init__(self, what: str, problems: Sequence[str]) -> None:
        self.what = what
        self.problems = tuple(problems)
        super().__init__(f"{what}: " + "; ".join(problems))


class Expression(str):
    """A Terraform expression or template that is passed on as it stands: ``Expression("${var.region}")``.

    Every other text is literal: ``${`` and ``%{`` in it are escaped, whereas references to attributes of
    resources keep working inside it.
    """

    __slots__ = ()


_LITERAL_MARKER = re.compile(r"\$+(?=\$\{TfToken\[)|\$\{(?!TfToken\[)|%\{")


def _escaped(marker: re.Match[str]) -> str:
    # Dollar signs right before a reference would read as the escape of that reference.
    return marker[0][0] + marker[0] if marker[0].endswith("{") else f'${{"{marker[0]}"}}'


def escape(text: str) -> str:
    """The text as a Terraform template that yields exactly it; references to attributes stay references."""
    return text if isinstance(text, Expression) else _LITERAL_MARKER.sub(_escaped, text)


def render(arguments: Mapping[str, object], shape: type, problems: list[str]) -> dict[str, object]:
    """The arguments in Terraform's form. What is wrong with them is added to ``problems``."""
    return _block(arguments, shape, "", problems)


def did_you_mean(name: str, names: Sequence[str]) -> str:
    whole = [one for one in names if one.startswith(name)] or [one for one in names if name in one.split("_")]
    close = whole[:1] or difflib.get_close_matches(name, names, n=1)
    return f'; did you mean "{close[0]}"?' if close else ""


@cache
def argument_types(shape: type) -> Mapping[str, object]:
    """The name and type of every argument that a typed dictionary has."""
    return get_type_hints(shape)


def _block(value: Mapping[str, object], shape: type, path: str, problems: list[str]) -> dict[str, object]:
    types = argument_types(shape)
    where = f"{path} has no argument" if path else "no argument"
    for name in value:
        if name not in types:
            problems.append(f'{where} "{name}"{did_you_mean(name, list(types))}')
    required: frozenset[str] = getattr(shape, "__required_keys__", frozenset())
    where = f"{path} misses the argument" if path else "misses the argument"
    problems.extend(f'{where} "{name}"' for name in sorted(required) if value.get(name) is None)
    prefix = f"{path}." if path else ""
    return {
        name: _value(item, types[name], prefix + name, problems)
        for name, item in value.items()
        if item is not None and name in types
    }


def _value(value: object, type_: object, path: str, problems: list[str]) -> object:
    if _is_resolvable(value) or type_ is object:
        return _escaped_tree(value)
    origin = get_origin(type_)
    if is_typeddict(type_) and isinstance(type_, type):
        if isinstance(value, Mapping):
            return _block(value, type_, path, problems)
    elif origin is Sequence:
        if isinstance(value, Sequence) and not isinstance(value, str | bytes):
            (item_type,) = get_args(type_)
            return [_value(item, item_type, f"{path}[{i}]", problems) for i, item in enumerate(value)]
    elif origin is Mapping:
        if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
            _, item_type = get_args(type_)
            return {escape(key): _value(item, item_type, f"{path}.{key}", problems) for key, item in value.items()}
    elif type_ is str:
        if isinstance(value, str):
            return escape(value)
    elif type_ is bool:
        if isinstance(value, bool):
            return value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        return value
    problems.append(f"{path} must be {_type_name(type_)}, not {_shown(value)}")
    return value


def _is_resolvable(value: object) -> bool:
    """Whether this is one of CDKTF's own values, which are rendered when the stack is written."""
    return hasattr(value, "resolve") and bool(Tokenization.is_resolvable(value))


def _escaped_tree(value: object) -> object:
    if isinstance(value, str):
        return escape(value)
    if isinstance(value, Mapping):
        return {escape(str(key)): _escaped_tree(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [_escaped_tree(item) for item in value]
    return value


def _type_name(type_: object) -> str:
    if is_typeddict(type_):
        return "a block (a mapping)"
    names: dict[object, str] = {str: "a text", bool: "True or False", Sequence: "a list", Mapping: "a mapping"}
    return names.get(get_origin(type_) or type_, "a number")


def _shown(value: object) -> str:
    if hasattr(value, "TERRAFORM_TYPE"):
        return f"the {value.TERRAFORM_TYPE} itself; name one of its attributes, such as .id"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
