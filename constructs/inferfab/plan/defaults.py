"""What the environment file left open: a default that costs money or breaks a promise is never silent."""

from collections.abc import Iterator

from pydantic import BaseModel

from inferfab.environment.environment import Environment
from inferfab.findings import YamlPath, dotted
from inferfab.record import Record


class DefaultUsed(Record):
    """One field that the file does not have, and what stands in for it."""

    path: str
    value: str
    """As YAML would show it; ``-`` where the plan decides from other fields."""


def defaults_used(environment: Environment) -> tuple[DefaultUsed, ...]:
    """Every field of every mapping in the file that was left out, in file order."""
    return tuple(_walk(environment, ()))


def _walk(part: BaseModel, path: YamlPath) -> Iterator[DefaultUsed]:
    for name in type(part).model_fields:
        value = getattr(part, name)
        here = (*path, name)
        if name not in part.model_fields_set:
            yield DefaultUsed(path=dotted(here), value=_shown(value))
        elif isinstance(value, BaseModel):
            yield from _walk(value, here)
        elif isinstance(value, dict):
            for key, item in value.items():
                if isinstance(item, BaseModel):
                    yield from _walk(item, (*here, key))
        elif isinstance(value, tuple):
            for position, item in enumerate(value):
                if isinstance(item, BaseModel):
                    yield from _walk(item, (*here, position))


def _shown(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, BaseModel):
        kind = getattr(value, "kind", None)
        return str(kind) if kind else ", ".join(f"{k}: {_shown(v)}" for k, v in value if v is not None)
    if isinstance(value, (tuple, dict)) and not value:
        return "none"
    return str(value)
