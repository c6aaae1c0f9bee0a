"""Which fields the format has at a place, and what their documentation says."""

import ast
import inspect
import textwrap
import types
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel

from inferfab.environment.environment import Environment
from inferfab.findings import YamlPath


@cache
def field_docs(model: type[BaseModel]) -> dict[str, str]:
    """The string that stands under each field in the class body.

    Pydantic can do this at import (``use_attribute_docstrings``), but reading sources then would cost every
    command what only ``schema`` and error messages need.
    """
    docs: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if base is BaseModel or not (inspect.isclass(base) and issubclass(base, BaseModel)):
            continue
        body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0]
        assert isinstance(body, ast.ClassDef)
        for statement, after in zip(body.body, body.body[1:], strict=False):
            if (
                isinstance(statement, ast.AnnAssign)
                and isinstance(statement.target, ast.Name)
                and isinstance(after, ast.Expr)
                and isinstance(after.value, ast.Constant)
                and isinstance(after.value.value, str)
            ):
                docs[statement.target.id] = inspect.cleandoc(after.value.value)
    return docs


def model_at(tree: object, path: YamlPath) -> type[BaseModel] | None:
    """The model that describes the mapping at ``path``, following union tags in ``tree``; None if there is none."""
    models = models_at(tree, path)
    return models[0] if models else None


def tags_at(tree: object, path: YamlPath, tag: str) -> list[str]:
    """What ``tag`` (``kind``, ``topology``) may be in the mapping at ``path``."""
    models = models_at(tree, path)
    return [str(v) for m in models if tag in m.model_fields for v in get_args(m.model_fields[tag].annotation)]


def models_at(tree: object, path: YamlPath) -> list[type[BaseModel]]:
    """The models that the mapping at ``path`` may be; one, where a union's tag in ``tree`` says which."""
    kind: Any = Environment
    value = tree
    for part in path:
        models = _models_in(kind, value)
        if isinstance(part, str) and models:
            field = models[0].model_fields.get(part)
            if field is None:
                return []
            kind = field.annotation
            if field.metadata or field.discriminator:
                kind = Annotated[kind, field]
        else:
            kind = _item_of(kind)
        if kind is None:
            return []
        try:
            value = value[part]  # type: ignore[index]
        except (KeyError, IndexError, TypeError):
            value = None
    return _models_in(kind, value)


def doc_at(tree: object, path: YamlPath) -> str:
    """The documentation of the field at ``path``; empty where it has none."""
    if not path or not isinstance(path[-1], str):
        return ""
    model = model_at(tree, path[:-1])
    return field_docs(model).get(path[-1], "") if model else ""


def _strip(kind: Any) -> Any:
    while get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    return kind


def _models_in(kind: Any, value: object) -> list[type[BaseModel]]:
    """Models that ``kind`` may be; of a tagged union the one that ``value`` names comes first."""
    kind = _strip(kind)
    if get_origin(kind) in (Union, types.UnionType):
        found = [m for option in get_args(kind) for m in _models_in(option, value)]
        if isinstance(value, Mapping):
            for tag in ("kind", "topology"):
                named = [
                    m
                    for m in found
                    if tag in m.model_fields and value.get(tag) in get_args(m.model_fields[tag].annotation)
                ]
                if named:
                    return named
        return found
    return [kind] if inspect.isclass(kind) and issubclass(kind, BaseModel) else []


def _item_of(kind: Any) -> Any:
    """The type of an item of a list or mapping type."""
    kind = _strip(kind)
    if get_origin(kind) in (Union, types.UnionType):
        return next((item for option in get_args(kind) if (item := _item_of(option)) is not None), None)
    if get_origin(kind) is dict:
        return get_args(kind)[1]
    if get_origin(kind) is tuple:
        return get_args(kind)[0]
    return None
