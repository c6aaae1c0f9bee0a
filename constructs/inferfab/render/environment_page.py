"""docs/environment.md: every field of an environment file, from the schema."""

import json
from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]


def environment_page(schema: Schema) -> str:
    """The page. Nothing of it is edited by hand."""
    lines = [
        "# The environment file",
        "",
        "Every field, written from the schema by `python tools/update_docs.py`; `inferfab schema` prints the schema "
        "for editors. Fields marked **required** have no default.",
        "",
    ]
    for title, part, places in _sections(schema):
        lines += [f"## {title}", ""]
        if part.get("description"):
            lines += [part["description"], ""]
        if places:
            lines += [f"In {', '.join(f'`{place}`' for place in places)}.", ""]
        required = set(part.get("required", ()))
        for name, field in part.get("properties", {}).items():
            lines.append(f"- `{name}` {_facts(field, name in required)}" + _words(field))
        lines.append("")
    return "\n".join(lines)


def _sections(schema: Schema) -> Iterator[tuple[str, Schema, list[str]]]:
    """Mappings in the order in which a reader of the file meets them, each once with all of its places."""
    defs, places, order = schema.get("$defs", {}), dict[str, list[str]](), list[str]()
    waiting: list[tuple[str, Schema]] = [("", schema)]
    while waiting:
        above, part = waiting.pop(0)
        for name, field in part.get("properties", {}).items():
            for key, suffix in _references(field):
                where = f"{above}{name}{suffix}"
                first = key not in places
                if where not in places.setdefault(key, []):
                    places[key].append(where)
                if first:
                    order.append(key)
                    waiting.append((f"{where}.", defs[key]))
    yield "Environment", schema, []
    for key in order:
        if defs[key].get("properties"):
            yield key, defs[key], places[key]


def _references(field: Any, suffix: str = "") -> Iterator[tuple[str, str]]:
    """Names of mappings that a field holds, with what stands between."""
    if isinstance(field, list):
        for part in field:
            yield from _references(part, suffix)
    elif isinstance(field, dict):
        if "$ref" in field:
            yield field["$ref"].rpartition("/")[2], suffix
        for key, part in field.items():
            if key in ("anyOf", "oneOf", "allOf"):
                yield from _references(part, suffix)
            elif key == "items":
                yield from _references(part, f"{suffix}[]")
            elif key == "additionalProperties":
                yield from _references(part, f"{suffix}.<name>")
            elif key == "patternProperties":
                yield from _references(list(part.values()), f"{suffix}.<name>")


def _facts(field: Schema, required: bool) -> str:
    parts = [_kind(field)]
    for key, word in (("minimum", "at least"), ("exclusiveMinimum", "more than"), ("maximum", "at most")):
        found = next((part[key] for part in _alternatives(field) if key in part), None)
        if found is not None:
            parts.append(f"{word} {found}")
    if required:
        parts.append("**required**")
    elif field.get("default") is not None and not isinstance(field["default"], dict):
        parts.append(f"default `{json.dumps(field['default'], ensure_ascii=False)}`")
    return f"({', '.join(part for part in parts if part)})"


def _alternatives(field: Schema) -> list[Schema]:
    return [field, *field.get("anyOf", ()), *field.get("oneOf", ())]


def _kind(field: Schema) -> str:
    if "const" in field:
        return f"`{field['const']}`"
    if "enum" in field:
        return " or ".join(f"`{one}`" for one in field["enum"])
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    options = field.get("anyOf") or field.get("oneOf") or field.get("allOf")
    if options:
        return " or ".join(dict.fromkeys(_kind(one) for one in options if one.get("type") != "null"))
    if field.get("type") == "array":
        return f"list of {_kind(field.get('items', {}))}"
    if field.get("type") == "object":
        patterns: Schema = field.get("patternProperties", {})
        held: Any = field.get("additionalProperties") or next(iter(patterns.values()), {})
        return f"mapping of {_kind(held)}" if isinstance(held, dict) and held else "mapping"
    kind = str(field.get("type", "anything"))
    return {"string": "text", "integer": "whole number", "boolean": "yes or no"}.get(kind, kind)


def _words(field: Schema) -> str:
    return f": {field['description']}" if field.get("description") else ""
