"""YAML text to plain Python values, with the place of every key and value kept.

PyYAML does the parsing (libyaml where the wheel has it); this module composes its event stream, because
the ready-made loaders lose positions, accept duplicate keys, follow aliases, and read ``on``, ``1:30`` and
``2026-01-01`` as something else than the text (YAML 1.1). Scalars here follow the YAML 1.2 core schema.
"""

import difflib
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from inferfab.findings import Finding, Location, YamlPath

MAX_BYTES = 2 * 1024 * 1024
"""Largest file that is read. 400 pools in 40 cells take about 150 kB; more is not an environment file."""
MAX_DEPTH = 32
"""Deepest nesting. The deepest field of an environment is 7 levels down."""

_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_CONSTANTS: dict[str, bool | None] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}  # fmt: skip


@dataclass(frozen=True)
class Place:
    """Where a key and its value stand, and the value's own text."""

    key: tuple[int, int]
    value: tuple[int, int]
    text: str = ""


@dataclass
class Source:
    """A read file: values, places, and what was wrong with the text itself."""

    file: str
    tree: dict[str, Any] = field(default_factory=dict)
    places: dict[YamlPath, Place] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    lines: tuple[str, ...] = ()
    """The text by line, to quote from."""

    def location(self, path: YamlPath, *, of_key: bool = False) -> Location:
        """The place of ``path``, or of its nearest ancestor that the file has."""
        wanted = path
        while wanted and wanted not in self.places:
            wanted = wanted[:-1]
        place = self.places.get(wanted)
        if place is None:
            return Location(file=self.file, line=1, column=1)
        # A value that is absent from the file is reported at the key under which it belongs.
        line, column = place.key if of_key or wanted != path else place.value
        return Location(file=self.file, line=line, column=column)

    def text(self, path: YamlPath) -> str:
        """The scalar's own text in the file; empty for collections and absent paths."""
        place = self.places.get(path)
        return place.text if place else ""

    def _problem(self, rule: str, at: tuple[int, int], what: str, why: str, fix: str, **more: Any) -> None:
        location = Location(file=self.file, line=at[0], column=at[1])
        self.findings.append(
            Finding(rule=rule, severity="error", location=location, what=what, why=why, fix=fix, **more)
        )


def read_source(path: Path, *, shown_as: str | None = None) -> Source:
    """Read a file. Never raises for bad content: what is wrong stands in ``findings``."""
    source = Source(file=shown_as or str(path))
    data = _read_bytes(path, source)
    if data is None:
        return source
    return parse_source(data, source)


def _read_bytes(path: Path, source: Source) -> bytes | None:
    why = "inferfab plans from this file alone."
    try:
        if path.is_dir():
            source._problem("IF-ENV-001", (1, 1), "is a folder, not a file", why, f"name a file in it: {path / 'dev.yaml'}")
            return None
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        near = difflib.get_close_matches(path.name, [p.name for p in _siblings(path)], n=1)
        hint = f"did you mean {path.parent / near[0]}?" if near else "`inferfab init NAME` writes a starter environment."
        source._problem("IF-ENV-001", (1, 1), "there is no such file", why, hint)
        return None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        source._problem("IF-ENV-001", (1, 1), f"cannot be read: {reason}", why, "check the path and its permissions")
        return None
    if len(data) > MAX_BYTES:
        source._problem(
            "IF-ENV-001", (1, 1), f"is larger than {MAX_BYTES // 1024} KiB",
            "400 pools in 40 cells take about 150 KiB; a larger file is something else.",
            "split the fleet into several environments",
        )  # fmt: skip
        return None
    return data


def _siblings(path: Path) -> list[Path]:
    try:
        return sorted(path.parent.glob("*.y*ml"))
    except OSError:
        return []


def parse_source(data: bytes, source: Source) -> Source:
    """Compose ``data`` into ``source``."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\x00" in data:
        source._problem(
            "IF-ENV-002", (1, 1), "is not UTF-8 text (binary, or UTF-16 as some Windows tools write it)",
            "an environment file is UTF-8 YAML.", "save it as UTF-8",
        )  # fmt: skip
        return source
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        source._problem(
            "IF-ENV-002", (line, column), f"byte 0x{data[error.start]:02x} is not UTF-8",
            "an environment file is UTF-8 YAML.", "save it as UTF-8",
        )  # fmt: skip
        return source
    try:
        source.lines = tuple(text.splitlines())
        _Composer(source).run(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        detail = " ".join(part for part in (error.problem, error.context) if part)
        source._problem(
            "IF-ENV-003", at, f"is not valid YAML: {detail}", "nothing after this place can be read.",
            "mend the syntax here or on the line before (indentation with spaces, `key: value`, closed quotes)",
        )  # fmt: skip
    except yaml.YAMLError as error:  # characters that YAML forbids; carries no mark
        position = getattr(error, "position", 0) or 0
        line = text.count("\n", 0, position) + 1
        source._problem(
            "IF-ENV-003", (line, 1), f"is not valid YAML: {str(error).splitlines()[0]}",
            "YAML allows no control characters.", "remove the character",
        )  # fmt: skip
    return source


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


class _Composer:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.stack: list[_Open] = []
        self.skip_depth = 0
        self.documents = 0

    def run(self, text: str) -> None:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        for event in yaml.parse(text, Loader=loader):
            at = (event.start_mark.line + 1, event.start_mark.column + 1)
            if isinstance(event, yaml.DocumentStartEvent):
                self.documents += 1
                if self.documents > 1:
                    self.source._problem(
                        "IF-ENV-003", at, "a second YAML document starts here (`---`)",
                        "one file is one environment; later documents would be ignored.",
                        "move it to a file of its own",
                    )  # fmt: skip
                    return
            elif isinstance(event, yaml.NodeEvent):
                self._node(event, at)
            elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
                if self.skip_depth:
                    self.skip_depth -= 1
                else:
                    self.stack.pop()
                    if self.stack:
                        self.stack[-1].key = None
        if not self.source.findings and not self.source.tree:
            self.source._problem(
                "IF-ENV-002", (1, 1), "is empty", "inferfab plans from this file alone.",
                "`inferfab init NAME` writes a commented starter environment",
            )  # fmt: skip

    def _node(self, event: yaml.NodeEvent, at: tuple[int, int]) -> None:
        opens = isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent))
        if self.skip_depth:
            self.skip_depth += opens
            return
        if event.anchor is not None:
            name = ("*" if isinstance(event, yaml.AliasEvent) else "&") + event.anchor
            self.source._problem(
                "IF-ENV-004", at, f"{name} is a YAML alias or anchor", _ANCHOR_WHY,
                "write the value out where it is used", value=name,
            )  # fmt: skip
        top = self.stack[-1] if self.stack else None
        if top is not None and isinstance(top.value, dict) and top.key is None:
            self._key(event, at, top, opens=opens)
            return
        if isinstance(event, yaml.AliasEvent):
            self._put(None, at, "*" + event.anchor)
        elif isinstance(event, yaml.ScalarEvent):
            self._put(self._scalar(event, at), at, event.value)
        elif not self.stack and not isinstance(event, yaml.MappingStartEvent):
            self._not_a_mapping(at)
            self.skip_depth = 1
        elif len(self.stack) >= MAX_DEPTH:
            if len(self.stack) == MAX_DEPTH:
                self.source._problem(
                    "IF-ENV-003", at, f"is nested more than {MAX_DEPTH} levels deep",
                    "no field of an environment is deeper than 7 levels.", "remove brackets or indentation",
                )  # fmt: skip
            self._put(None, at, "")
            self.skip_depth = 1
        else:
            value: dict[str, Any] | list[Any] = {} if isinstance(event, yaml.MappingStartEvent) else []
            path = self._put(value, at, "", closes=False)
            self.stack.append(_Open(value, path))

    def _not_a_mapping(self, at: tuple[int, int]) -> None:
        self.source._problem(
            "IF-ENV-003", at, "the file's top level is not a mapping of `key: value`",
            "an environment is a mapping: name, engine, models, pools, cells, …",
            "start with `name: …`; `inferfab init NAME` writes an example",
        )  # fmt: skip

    def _key(self, event: yaml.NodeEvent, at: tuple[int, int], top: _Open, *, opens: bool) -> None:
        """Read a mapping's key; an unusable one makes its value be skipped under a name that cannot clash."""
        if not isinstance(event, yaml.ScalarEvent):
            if not isinstance(event, yaml.AliasEvent):
                self.source._problem(
                    "IF-ENV-005", at, "a key is a list or mapping", "keys are names.", "write a plain name, or quote it"
                )
            self.skip_depth = int(opens)
            top.key = f"\x00{at}"
            return
        key = event.value
        top.key_at = at
        if event.value == "<<" and event.implicit[0]:
            self.source._problem(
                "IF-ENV-004", at, "`<<` is a YAML merge key", _ANCHOR_WHY, "write the values out", value="<<"
            )
            top.key = f"\x00{at}"
            return
        first = self.source.places.get((*top.path, key))
        if first is not None:
            self.source._problem(
                "IF-ENV-006", at, f"the key {key!r} stands here a second time; the first is on line {first.key[0]}",
                "YAML readers keep one of them without a word, and which one is an accident.",
                "keep one of the two", path=(*top.path, key), value=key,
            )  # fmt: skip
            top.key = f"\x00{at}"
            return
        top.key = key

    def _scalar(self, event: yaml.ScalarEvent, at: tuple[int, int]) -> Any:
        if event.tag is not None and event.tag not in ("!", "tag:yaml.org,2002:str"):
            self.source._problem(
                "IF-ENV-005", at, f"the tag {event.tag} is not accepted",
                "tags make a YAML reader build objects; this file holds plain values only.",
                "remove the tag", value=event.value[:60],
            )  # fmt: skip
            return event.value
        if event.tag is not None or not event.implicit[0]:
            return event.value
        return resolve_plain(event.value)

    def _put(self, value: Any, at: tuple[int, int], text: str, *, closes: bool = True) -> YamlPath:
        if not self.stack:
            if isinstance(value, dict):
                self.source.tree = value
                self.source.places[()] = Place(at, at)
            elif value is not None:
                self._not_a_mapping(at)
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
        return float(text.replace(".inf", "inf").replace(".Inf", "inf").replace(".INF", "inf").replace(".nan", "nan").replace(".NaN", "nan").replace(".NAN", "nan"))
    return text
