"""Kubernetes' structural schemas (a CRD's ``openAPIV3Schema``, or definitions of swagger.json) held *closed*.

An API server prunes a key that it does not know without a word, so a schema that leaves mappings open proves little.
Here an unknown key is refused at every level, except where the schema says ``x-kubernetes-preserve-unknown-fields``
or describes a free map. Beyond JSON Schema it knows Kubernetes' own words: int-or-string, quantities, formats, list
types, and the CEL rules of ``x-kubernetes-validations`` that :mod:`cel` answers.
"""

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker, ValidationError
from jsonschema.validators import extend
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from . import cel

Schema = Any
"""A schema is JSON: mappings, lists, scalars."""

QUANTITY = re.compile(
    r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[KMGTPE]i|[numkMGTPE]|[eE][+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))?"
)
"""``resource.Quantity``, as controller-gen writes it into CRDs."""

FREE = {
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1",
    "io.k8s.apimachinery.pkg.runtime.RawExtension",
}
"""Definitions of swagger.json that are objects without properties because anything may stand there."""

SCALARS: dict[str, Schema] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {"format": "quantity"},
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {"type": ["integer", "string"]},
}
"""Definitions that say ``type: string`` but are read by a function that takes numbers too."""


def closed(schema: Schema) -> Schema:
    """The schema with every mapping closed, as a JSON Schema that :func:`problems` understands."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    # A field may have the name of a keyword ("default", "description", "format"), so descend by keyword, not by name.
    made = {key: _closed_keyword(key, value) for key, value in schema.items() if key not in {"description", "default"}}
    if schema.get("x-kubernetes-int-or-string"):
        made.pop("type", None)
        made["anyOf"] = [{"type": "integer"}, {"type": "string"}]
        if schema.get("pattern", "").endswith("|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$"):
            made.pop("pattern")
            made["format"] = "quantity"
    if schema.get("nullable") and isinstance(schema.get("type"), str):
        made["type"] = [schema["type"], "null"]
    if schema.get("type") == "object" and not schema.get("x-kubernetes-preserve-unknown-fields"):
        made.setdefault("additionalProperties", False)
    return made


def _closed_keyword(key: str, value: Schema) -> Schema:
    if key in {"properties", "patternProperties"}:
        return {name: closed(field) for name, field in value.items()}
    if key in {"items", "additionalProperties", "not", "allOf", "anyOf", "oneOf"}:
        return closed(value)
    return value


def closed_definitions(definitions: Mapping[str, Schema]) -> dict[str, Schema]:
    """All definitions of a swagger document, closed, with references among themselves."""
    made: dict[str, Schema] = {}
    for name, definition in definitions.items():
        if name in FREE:
            made[name] = {"type": "object"}
        elif name in SCALARS:
            made[name] = SCALARS[name]
        else:
            made[name] = _swagger(closed(definition))
    return made


def _swagger(node: Schema) -> Schema:
    """Swagger's ``#/definitions/X`` as ``X``, which the registry of :func:`validator` resolves."""
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            # Draft 4 ignored what stands beside $ref ("default": {}); draft 2020-12 would not.
            return {"$ref": "urn:k8s:" + node["$ref"].removeprefix("#/definitions/")}
        return {key: _swagger(value) for key, value in node.items()}
    return [_swagger(item) for item in node] if isinstance(node, list) else node


FORMATS = FormatChecker(formats=())
"""Only the formats below; an unknown one is checked by nobody, as in an API server."""


@FORMATS.checks("int32")
def _int32(value: object) -> bool:
    return not isinstance(value, int) or -(2**31) <= value < 2**31


@FORMATS.checks("int64")
def _int64(value: object) -> bool:
    return not isinstance(value, int) or -(2**63) <= value < 2**63


@FORMATS.checks("quantity")
def _quantity(value: object) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, int | float):
        return True
    return isinstance(value, str) and QUANTITY.fullmatch(value) is not None


@FORMATS.checks("byte", raises=binascii.Error)
def _byte(value: object) -> bool:
    return not isinstance(value, str) or base64.b64decode(value, validate=True) is not None


@FORMATS.checks("date-time", raises=ValueError)
def _date_time(value: object) -> bool:
    return not isinstance(value, str) or datetime.fromisoformat(value).tzinfo is not None


def _pattern(_: Any, pattern: str, value: object, __: Schema) -> Iterator[ValidationError]:
    """Go's ``$`` is the end of the text; Python's also matches before a last line break."""
    if isinstance(value, str) and not re.search(re.sub(r"(?<!\\)\$$", r"\\Z", pattern), value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


def _list_map_keys(_: Any, keys: list[str], value: object, __: Schema) -> Iterator[ValidationError]:
    if not isinstance(value, list):
        return
    seen = set()
    for item in value:
        if not isinstance(item, dict):
            continue
        key = tuple(repr(item.get(name)) for name in keys)
        if key in seen:
            yield ValidationError(f"two entries have the same {', '.join(keys)}: {', '.join(key)}")
        seen.add(key)


def _list_type(_: Any, kind: str, value: object, __: Schema) -> Iterator[ValidationError]:
    if kind == "set" and isinstance(value, list) and len({repr(item) for item in value}) != len(value):
        yield ValidationError("an entry of a set stands twice")


def _validations(_: Any, rules: list[dict[str, Any]], value: object, __: Schema) -> Iterator[ValidationError]:
    for rule in rules:
        if not cel.keeps(rule["rule"], value):
            yield ValidationError(rule.get("message") or rule["rule"])


_Validator = extend(
    Draft202012Validator,
    {
        "pattern": _pattern,
        "x-kubernetes-list-map-keys": _list_map_keys,
        "x-kubernetes-list-type": _list_type,
        "x-kubernetes-validations": _validations,
    },
    # A bool is no number, and 1.0 is no integer: Go's decoder refuses both.
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine_many(
        {
            "integer": lambda _, value: isinstance(value, int) and not isinstance(value, bool),
            "number": lambda _, value: isinstance(value, int | float) and not isinstance(value, bool),
        }
    ),
)


def validator(schema: Schema, definitions: Mapping[str, Schema] | None = None) -> Any:
    """A validator of an already closed schema; ``definitions`` are what ``urn:k8s:NAME`` refers to."""
    registry: Registry[Any] = Registry().with_resources(
        (f"urn:k8s:{name}", Resource(contents=definition, specification=DRAFT202012))
        for name, definition in (definitions or {}).items()
    )
    return _Validator(schema, registry=registry, format_checker=FORMATS)


def problems(holder: Any, value: object) -> list[str]:
    """What a :func:`validator` finds wrong, one line each with the place; empty if nothing."""
    return [f"{_place(error)}: {_short(error.message)}" for error in holder.iter_errors(value)]


def _place(error: ValidationError) -> str:
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path)
    return path.removeprefix(".") or "(document)"


def _short(message: str, limit: int = 300) -> str:
    return message if len(message) <= limit else f"{message[: limit - 20]} … {message[-20:]}"
