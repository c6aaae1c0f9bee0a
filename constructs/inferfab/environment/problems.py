"""Pydantic's errors in the words of somebody who edits the file."""

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from inferfab.environment.base import NAME_PATTERN, PATTERN_WORDS
from inferfab.environment.fields import doc_at, model_at, models_at, tags_at
from inferfab.environment.source import Source
from inferfab.environment.yaml_compose import resolve_plain
from inferfab.findings import Finding, YamlPath, dotted

Detail = tuple[str, str, str]
"""(rule, what, fix)"""


def findings_of(error: ValidationError, tree: Mapping[str, Any], source: Source) -> list[Finding]:
    """One finding for each thing that is wrong, placed in the file."""
    found = []
    for item in error.errors():
        path, of_key = _path(item["loc"], tree, str(item["type"]))
        path += _tag_of(item)
        rule, what, fix = _describe(item, path, tree, source)
        found.append(
            Finding(
                rule=rule,
                severity="error",
                location=source.location(path, of_key=of_key),
                path=path,
                value="" if rule == "IF-ENV-011" else _shown(item.get("input"), source.text(path)),
                what=what,
                why=_why(path, tree, str(item["type"])),
                fix=fix,
            )
        )
    return found


def _path(loc: Sequence[str | int], tree: Any, kind: str) -> tuple[YamlPath, bool]:
    """Pydantic's location without the union tags that it puts in between."""
    path: list[str | int] = []
    value: Any = tree  # typed loosely: it is whatever stands in the file
    for index, part in enumerate(loc):
        if part == "[key]":
            return tuple(path), True
        if (isinstance(value, Mapping) and part in value) or _has_item(value, part):
            value = value[part]
        elif not (kind == "missing" and index == len(loc) - 1):
            continue
        path.append(part)
    return tuple(path), kind in ("extra_forbidden",)


def _tag_of(item: Any) -> tuple[str, ...]:
    """The key that pydantic's errors about a union's tag leave out of their location."""
    return (str(item["ctx"]["discriminator"]).strip("'"),) if str(item["type"]).startswith("union_tag_") else ()


def _has_item(value: Any, part: str | int) -> bool:
    return isinstance(value, list) and isinstance(part, int) and part < len(value)


def _shown(value: object, text: str) -> str:
    if text:
        return text if len(text) <= 60 else text[:57] + "..."
    if isinstance(value, (Mapping, list, tuple)):
        return ""
    return "null" if value is None else repr(value)[:60]


def _why(path: YamlPath, tree: object, kind: str) -> str:
    doc = (doc_at(tree, path) or (doc_at(tree, path[:-1]) if kind.startswith("union_tag_") else "")).replace("\n", " ")
    if kind == "extra_forbidden":
        return "nothing reads this key, so what it asks for would silently not happen."
    return doc or "the plan cannot be worked out without it."


def closest(word: object, options: Sequence[str], *, cutoff: float = 0.6) -> str | None:
    """The option that ``word`` was most likely meant to be; None where it is like none of them.

    Upper and lower case are one. Letters in common are not enough: `m7i.large` and `g7.8xlarge` begin with different
    things, and `float99` has another number than `float16`.
    """
    typed = str(word).lower()
    by_lower = {option.lower(): option for option in reversed(options)}
    if typed in by_lower:
        return by_lower[typed]
    near = difflib.get_close_matches(typed, list(by_lower), n=5, cutoff=cutoff)
    return next((by_lower[option] for option in near if _alike(typed, option)), None)


def _alike(typed: str, option: str) -> bool:
    """The same beginning, and not another number altogether (one digit may be mistyped)."""
    if (bare := re.sub(r"[^a-z0-9]", "", typed)) == re.sub(r"[^a-z0-9]", "", option) and bare:
        return True
    if ":" in option and ":" not in typed:
        option = option.partition(":")[2]  # `eu-west-1` where `aws:eu-west-1` is meant
    first, begins = (re.split(r"[-._/: ]", text.lstrip("-"))[0] for text in (typed, option))
    prefix = first.startswith(begins) or begins.startswith(first)
    if not prefix and difflib.SequenceMatcher(None, first, begins).ratio() < 0.6:
        return False
    numbers = re.sub("[^0-9]", "", typed), re.sub("[^0-9]", "", option)
    return not all(numbers) or bool(set(numbers[0]) & set(numbers[1])) or max(map(len, numbers)) < 2


def meant(word: object, options: Sequence[str], *, most: int = 12) -> str:
    """``did you mean X?`` or what there is to choose from."""
    near = closest(word, options)
    if near:
        return f"did you mean `{near}`?"
    listed = ", ".join(sorted(options)[:most]) or "(none)"
    return f"one of: {listed}" + (" …" if len(options) > most else "")


def _describe(item: Any, path: YamlPath, tree: object, source: Source) -> Detail:
    kind, context, value = str(item["type"]), item.get("ctx", {}), item.get("input")
    name = dotted(path[-2:] if path and isinstance(path[-1], int) else path[-1:]) if path else "the file"
    special = _SPECIAL.get(kind)
    if special:
        return special(name, path, value, context, tree)
    if kind.endswith("_type") or kind in ("float_parsing", "int_parsing", "int_from_float"):
        rule, what, fix = _wrong_type(name, kind, value, source.text(path))
        tag = closest(value, tags_at(tree, path, "kind")) if isinstance(value, str) else None
        return rule, what, f"write {{kind: {tag}}}" if tag else fix
    if kind == "too_short" and not value:
        return "IF-ENV-013", f"`{name}` is empty", "write at least one entry, or see `inferfab schema`"
    rule, what = "IF-ENV-013", f"`{name}` is not possible: {item['msg'][0].lower()}{item['msg'][1:]}"
    fix = _range_fix(kind, context)
    return rule, what, fix


def _range_fix(kind: str, context: Mapping[str, Any]) -> str:
    words = {"gt": "more than", "ge": "at least", "lt": "less than", "le": "at most",
             "max_length": "at most", "min_length": "at least"}  # fmt: skip
    parts = [f"{word} {context[key]}" for key, word in words.items() if key in context]
    unit = {
        "string_too_long": " characters",
        "string_too_short": " character(s)",
        "too_short": " entries",
        "too_long": " entries",
    }
    return f"write a value of {' and '.join(parts)}{unit.get(kind, '')}" if parts else "see `inferfab schema`"


def _wrong_type(name: str, kind: str, value: object, text: str) -> Detail:
    first = kind.split("_", maxsplit=1)[0]
    wanted = {"model": "mapping", "dict": "mapping", "tuple": "list"}.get(first, first)
    article = {"string": "text", "int": "a whole number", "float": "a number", "bool": "true or false"}.get(
        wanted, f"a {wanted}"
    )
    got = {dict: "a mapping", list: "a list", str: "text", bool: "true/false", int: "a number", float: "a number"}.get(
        type(value), "nothing"
    )
    fix = f"write {article}"
    if wanted == "int" and isinstance(value, float):
        got = "a decimal number"
        if value.is_integer() and abs(value) < 1e15:
            fix = f"write {value:.0f}"
    elif wanted == "string" and isinstance(value, (int, float)):
        fix = f'quote it: "{text or value}"'
    elif wanted == "bool" and isinstance(value, str) and value.lower() in ("yes", "on", "no", "off", "y", "n"):
        fix = f"write {'true' if value.lower() in ('yes', 'on', 'y') else 'false'}"
    elif wanted in ("int", "float") and isinstance(value, str) and _is_number(value):
        fix = f"remove the quotes: {value}"
    elif wanted == "mapping" and value is None:
        fix = "write its fields on the lines below, indented"
    return "IF-ENV-012", f"`{name}` must be {article}, not {got}", fix


def _is_number(text: str) -> bool:
    """Whether ``text`` would be a number without its quotes; what float() takes (``1_000``) often is not."""
    return isinstance(resolve_plain(text), (int, float)) and text.lower() not in ("true", "false")


def _missing(name: str, path: YamlPath, value: object, context: Any, tree: object) -> Detail:
    where = f" in `{dotted(path[:-1])}`" if len(path) > 1 else ""
    model = model_at(tree, path[:-1])
    present = _keys(tree, path[:-1])
    fix = f"add `{name}: …`"
    if model:
        unknown = [key for key in present if key not in model.model_fields]
        near = closest(path[-1], unknown)
        if near:
            fix = f"rename `{near}` to `{name}`"
    return "IF-ENV-011", f"`{name}` is missing{where}", fix


def _yaml(value: object) -> str:
    """A value as a YAML file has it."""
    if value is None or isinstance(value, bool):
        return str(value).lower().replace("none", "null")
    return f"{value!r:.60}"


def _keys(tree: object, path: YamlPath) -> list[str]:
    for part in path:
        try:
            tree = tree[part]  # type: ignore[index]
        except (KeyError, IndexError, TypeError):
            return []
    return [str(key) for key in tree] if isinstance(tree, Mapping) else []


def _unknown(name: str, path: YamlPath, value: object, context: Any, tree: object) -> Detail:
    model = model_at(tree, path[:-1])
    present = _keys(tree, path[:-1])
    options = list(model.model_fields) if model else []
    absent = [option for option in options if option not in present]
    there = closest(path[-1], [option for option in options if option in present], cutoff=0.75)
    if closest(path[-1], absent) is None and there:
        fix = f"remove it, or did you mean `{there}`, which is here already?"
    else:
        fix = meant(path[-1], absent, most=30) if absent else "remove it; every field is here already"
    return "IF-ENV-010", f"there is no field `{name}` here", fix


def _literal(name: str, path: YamlPath, value: object, context: Any, tree: object) -> Detail:
    options = [o.strip(" '") for o in str(context.get("expected", "")).replace(" or ", ",").split(",") if o.strip()]
    return "IF-ENV-013", f"`{name}` cannot be {_yaml(value)}", meant(value, options)


def _tag(tag: str, path: YamlPath, value: object, context: Any, tree: object) -> Detail:
    options = sorted(tags_at(tree, path[:-1], tag))
    got = value.get(tag, _ABSENT) if isinstance(value, Mapping) else _ABSENT
    if got is not _ABSENT:
        return "IF-ENV-013", f"`{tag}` cannot be {_yaml(got)}", meant(got, options)
    known = {field for model in models_at(tree, path[:-1]) for field in model.model_fields}
    near = closest(tag, [key for key in _keys(tree, path[:-1]) if key not in known])
    fix = f"rename `{near}` to `{tag}`" if near else f"add `{tag}:`, {meant('', options)}"
    return "IF-ENV-011", f"`{tag}` is missing in `{dotted(path[:-1])}`", fix


_ABSENT = object()


def _pattern(name: str, path: YamlPath, value: object, context: Any, tree: object) -> Detail:
    text = str(value)
    pattern = str(context.get("pattern", ""))
    fix = PATTERN_WORDS.get(pattern, "see `inferfab schema` for what it may be")
    if pattern == NAME_PATTERN:
        better = "".join(c if c.isascii() and c.isalnum() else "-" for c in text.lower()).strip("-") or "name"
        suggestion = better if better[0].isalpha() else f"n-{better}"
        fix += f": `{suggestion}`"
    elif text != text.lower() and re.search(pattern, text.lower()) and "\n" not in text:
        fix = f"write `{text.lower()}`"
    return "IF-ENV-013", f"`{name}` cannot be {text!r:.60}", fix


def _value(name: str, path: YamlPath, value: object, context: Any, tree: object) -> Detail:
    """Our own validators bring their fix along; the catalog's, which a `shape` runs through, do not."""
    message = str(context.get("error", "not possible"))
    return "IF-ENV-014", message, "correct the figures from the model's config.json"


def _contradiction(name: str, path: YamlPath, value: object, context: Any, tree: object) -> Detail:
    return "IF-ENV-014", str(context["what"]), str(context["fix"])


def _impossible(name: str, path: YamlPath, value: object, context: Any, tree: object) -> Detail:
    return "IF-ENV-013", f"`{name}` cannot be so: {context['what']}", str(context["fix"])


_SPECIAL: dict[str, Callable[[str, YamlPath, object, Any, object], Detail]] = {
    "missing": _missing,
    "extra_forbidden": _unknown,
    "literal_error": _literal,
    "union_tag_invalid": _tag,
    "union_tag_not_found": _tag,
    "string_pattern_mismatch": _pattern,
    "value_error": _value,
    "contradiction": _contradiction,
    "impossible": _impossible,
}
