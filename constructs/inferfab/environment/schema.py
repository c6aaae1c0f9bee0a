"""JSON Schema of the environment file, with every field's documentation, for editors and other tools."""

from typing import Any, get_args

from pydantic import BaseModel

from inferfab.environment.environment import Environment
from inferfab.environment.fields import field_docs

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> dict[str, Any]:
    """The schema; each field carries the text that stands under it in the source."""
    schema = Environment.model_json_schema()
    by_name = {model.__name__: model for model in _models(Environment, set())}
    for name, part in [("Environment", schema), *schema.get("$defs", {}).items()]:
        model = by_name.get(name)
        if model is None:
            continue
        docs = field_docs(model)
        for field, described in part.get("properties", {}).items():
            described.pop("title", None)
            doc = docs.get(field) or _doc_of_type(model, field)
            if doc:
                described["description"] = " ".join(doc.split())
        if model.__doc__:
            part["description"] = _first_paragraph(model)
    _close_named(schema)
    return {"$schema": DIALECT, **schema, "title": "inferfab environment"}


def _first_paragraph(model: type[BaseModel]) -> str:
    return " ".join((model.__doc__ or "").split("\n\n")[0].split())


def _doc_of_type(model: type[BaseModel], field: str) -> str:
    """For a field without words of its own: a union's tag says which mapping this is, others what they hold."""
    if field in ("kind", "topology"):
        return _first_paragraph(model)
    held = _models_of(model.model_fields[field].annotation)
    return _first_paragraph(held[0]) if len(held) == 1 else ""


def _models_of(kind: Any) -> list[type[BaseModel]]:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return [kind]
    return [model for part in get_args(kind) for model in _models_of(part)]


def _close_named(node: Any) -> None:
    """Pydantic leaves mappings with patterned keys open: an editor would accept a name that the reader refuses."""
    if isinstance(node, dict):
        if "patternProperties" in node:
            node.setdefault("additionalProperties", False)
        for part in node.values():
            _close_named(part)
    elif isinstance(node, list):
        for part in node:
            _close_named(part)


def _models(model: type[BaseModel], seen: set[type[BaseModel]]) -> set[type[BaseModel]]:
    """Every model that is reachable from ``model``."""
    if model in seen:
        return seen
    seen.add(model)
    stack: list[Any] = [f.annotation for f in model.model_fields.values()]
    while stack:
        kind = stack.pop()
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            _models(kind, seen)
        else:
            stack.extend(get_args(kind))
    return seen
