"""Composing PyYAML's event stream into plain values with places; what is not accepted becomes a finding.

PyYAML parses (libyaml where the wheel has it). The events are composed here, because the ready-made loaders
lose positions, accept duplicate keys, follow aliases, and read ``on``, ``1:30`` and ``2026-01-01`` as something
else than the text (YAML 1.1). Scalars here follow the YAML 1.2 core schema.
"""

import re
from typing import Any

import yaml

from inferfab.environment.source import Place, Source
from inferfab.findings import YamlPath

MAX_DEPTH = 32
"""Deepest nesting. The deepest field of an environment is 7 levels down."""

_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_YAML = "tag:yaml.org,2002:"
_PLAIN_TAGS = (None, "!", f"{_YAML}str")
_CONSTANTS: dict[str, bool | None] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}  # fmt: skip


_ANCHOR_WHY = (
    "with anchors, aliases or `<<` one line of the file stands for many values: findings could not name a place, "
    "and a few lines can expand to gigabytes."
)


class _Open:
    """A collection whose end has not been read yet."""

    def __init__(self, value: dict[str, Any] | list[Any], path: YamlPath) -> None:
        self.value = value
        self.path = path
        self.key: str | None = None
        self.key_at = (1, 1)


class Composer:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.stack: list[_Open] = []
        self.skip_depth = 0
        self.documents = 0
        self.not_a_mapping_at: tuple[int, int] | None = None
        self.too_deep = False

    def run(self, text: str) -> None:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        for event in yaml.parse(text, Loader=loader):
            mark = event.start_mark
            assert mark is not None, "events that are read from text carry their place"
            at = (mark.line + 1, mark.column + 1)
            if isinstance(event, yaml.DocumentStartEvent):
                self.documents += 1
                if self.documents > 1:
                    self.source.problem(
                        "IF-ENV-003",
                        at,
                        "a second YAML document starts here (`---`)",
                        "one file is one environment; later documents would be ignored.",
                        "move it to a file of its own",
                    )
                    return
            elif isinstance(event, yaml.NodeEvent):
                self._node(event, at)
                if self.too_deep:
                    return
            elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
                if self.skip_depth:
                    self.skip_depth -= 1
                else:
                    self.stack.pop()
                    if self.stack:
                        self.stack[-1].key = None
        if self.not_a_mapping_at:
            self._not_a_mapping(self.not_a_mapping_at)
        if not self.source.findings and not self.source.tree:
            self.source.problem(
                "IF-ENV-002",
                (1, 1),
                "is empty",
                "inferfab plans from this file alone.",
                "`inferfab init NAME` writes a commented starter environment",
            )

    def _node(self, event: yaml.NodeEvent, at: tuple[int, int]) -> None:
        opens = isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent))
        if self.skip_depth:
            self.skip_depth += opens
            return
        if event.anchor is not None:
            name = ("*" if isinstance(event, yaml.AliasEvent) else "&") + event.anchor
            self.source.problem(
                "IF-ENV-004",
                at,
                f"{name} is a YAML alias or anchor",
                _ANCHOR_WHY,
                "write the value out where it is used",
                value=name,
            )
        if isinstance(event, yaml.CollectionStartEvent):
            kind = "map" if isinstance(event, yaml.MappingStartEvent) else "seq"
            if event.tag not in (None, "!", f"{_YAML}{kind}"):
                self._tag(event.tag, at, "")
        top = self.stack[-1] if self.stack else None
        if top is not None and isinstance(top.value, dict) and top.key is None:
            self._key(event, at, top, opens=opens)
            return
        if isinstance(event, yaml.AliasEvent):
            self._put(None, at, f"*{event.anchor}")
        elif isinstance(event, yaml.ScalarEvent):
            self._put(self._scalar(event, at), at, event.value)
        elif not self.stack and not isinstance(event, yaml.MappingStartEvent):
            self.not_a_mapping_at = at
            self.skip_depth = 1
        elif len(self.stack) >= MAX_DEPTH:
            self.source.problem(
                "IF-ENV-003",
                at,
                f"is nested more than {MAX_DEPTH} levels deep",
                "no field of an environment is deeper than 7 levels, and nothing after this place is read.",
                "remove brackets or indentation",
            )
            self.source.forget_values()
            self.too_deep = True
        else:
            value: dict[str, Any] | list[Any] = {} if isinstance(event, yaml.MappingStartEvent) else []
            path = self._put(value, at, "", closes=False)
            self.stack.append(_Open(value, path))

    def _not_a_mapping(self, at: tuple[int, int]) -> None:
        self.source.problem(
            "IF-ENV-003",
            at,
            "the file's top level is not a mapping of `key: value`",
            "an environment is a mapping: name, engine, models, pools, cells, …",
            "start with `name: …`; `inferfab init NAME` writes an example",
        )

    def _key(self, event: yaml.NodeEvent, at: tuple[int, int], top: _Open, *, opens: bool) -> None:
        """Read a mapping's key; an unusable one makes its value be skipped under a name that cannot clash."""
        if not isinstance(event, yaml.ScalarEvent):
            if not isinstance(event, yaml.AliasEvent):
                self.source.problem(
                    "IF-ENV-005", at, "a key is a list or mapping", "keys are names.", "write a plain name, or quote it"
                )
            self.skip_depth = int(opens)
            top.key = f"\x00{at}"
            return
        key = event.value
        top.key_at = at
        if event.tag not in _PLAIN_TAGS:
            self._tag(event.tag, at, key)
        if event.value == "<<" and event.implicit[0]:
            self.source.problem(
                "IF-ENV-004", at, "`<<` is a YAML merge key", _ANCHOR_WHY, "write the values out", value="<<"
            )
            top.key = f"\x00{at}"
            return
        first = self.source.places.get((*top.path, key))
        if first is not None:
            self.source.problem(
                "IF-ENV-006",
                at,
                f"the key {key!r} stands here a second time; the first is on line {first.key[0]}",
                "YAML readers keep one of them without a word, and which one is an accident.",
                "keep one of the two",
                path=(*top.path, key),
                value=key,
            )
            top.key = f"\x00{at}"
            return
        top.key = key

    def _scalar(self, event: yaml.ScalarEvent, at: tuple[int, int]) -> Any:
        if event.tag not in _PLAIN_TAGS:
            self._tag(event.tag, at, event.value)
            return event.value
        if event.tag is not None or not event.implicit[0]:
            return event.value
        return resolve_plain(event.value)

    def _tag(self, tag: str, at: tuple[int, int], text: str) -> None:
        self.source.problem(
            "IF-ENV-005",
            at,
            f"the tag {tag.replace(_YAML, '!!')} is not accepted",
            "tags make a YAML reader build objects; this file holds plain values only.",
            "remove the tag",
            value=text[:60],
        )

    def _put(self, value: Any, at: tuple[int, int], text: str, *, closes: bool = True) -> YamlPath:
        if not self.stack:
            if isinstance(value, dict):
                self.source.tree = value
                self.source.places[()] = Place(at, at)
            elif value is not None:
                self.not_a_mapping_at = at
            return ()
        top = self.stack[-1]
        path: YamlPath
        if isinstance(top.value, list):
            path = (*top.path, len(top.value))
            top.value.append(value)
            self.source.places[path] = Place(at, at, text)
        else:
            assert top.key is not None
            path = (*top.path, top.key)
            if not top.key.startswith("\x00"):
                top.value[top.key] = value
                self.source.places[path] = Place(top.key_at, at, text)
            if closes:
                top.key = None
        return path


def resolve_plain(text: str) -> Any:
    """A plain scalar's value by the YAML 1.2 core schema: ``on`` and ``1:30`` stay text."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _INT.fullmatch(text):
        if len(text) > 40:
            return text
        return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
    if _FLOAT.fullmatch(text):
        return float(
            text.replace(".inf", "inf")
            .replace(".Inf", "inf")
            .replace(".INF", "inf")
            .replace(".nan", "nan")
            .replace(".NaN", "nan")
            .replace(".NAN", "nan")
        )
    return text
