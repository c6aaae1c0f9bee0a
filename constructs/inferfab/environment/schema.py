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
            if field in docs:
                described["description"] = " ".join(docs[field].split())
        if model.__doc__:
            part["description"] = " ".join(model.__doc__.split("\n\n")[0].split())
    return {"$schema": DIALECT, **schema, "title": "inferfab environment"}


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
