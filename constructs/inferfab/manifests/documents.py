"""A stream of YAML documents, each composed into plain values with places.

The environment's composer (:mod:`inferfab.environment.yaml_compose`) refuses what a strict format must refuse:
anchors, merge keys, tags, a second document. Manifests of others have all of these, and one broken document must not
hide its neighbours. So the stream is cut at its ``---`` lines as kubectl does it, and each document is composed from
the same event stream, with the same reading of plain scalars, but forgiving.
"""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from inferfab.checks.manifest_file_rules import finding
from inferfab.environment.yaml_compose import resolve_plain
from inferfab.findings import Finding, YamlPath
from inferfab.manifests.files import TextFile

MAX_DEPTH = 100
MAX_ALIASED = 50_000
"""Values of one document that stand there by aliases: a few lines of them can stand for gigabytes."""
_TEMPLATE = re.compile(r"\{\{|\{%|<%|\$\{|^\s*\$[A-Za-z_]", re.MULTILINE)
"""Helm and Jinja, ERB, `envsubst`."""
_SEPARATOR = re.compile(r"^---(?=[ \t]|$)", re.MULTILINE)


@dataclass(frozen=True)
class Mark:
    """Where a key and its value stand, counted from 1, and how a scalar is written."""

    key: tuple[int, int]
    value: tuple[int, int]
    last_line: int
    style: str = ""


@dataclass
class Document:
    """One document of a file."""

    file: TextFile
    tree: Any = None
    marks: dict[YamlPath, Mark] = field(default_factory=dict)
    aliased: int = 0
    config_maps: "dict[str, tuple[Document, YamlPath]]" = field(default_factory=dict)
    """Places of the ConfigMaps that pods of this document can refer to, by ``namespace/name``."""


class _TooMuch(Exception):
    """A document nests or expands beyond reason; carries its place."""


def read_documents(file: TextFile) -> Iterator[Document | Finding]:
    """Documents, and findings about those that are none."""
    starts = [0, *(m.start() for m in _SEPARATOR.finditer(file.text)), len(file.text)]
    for start, end in itertools.pairwise(starts):
        chunk = file.text[start:end]
        if not chunk.strip().strip("-"):
            continue
        yield from _read(file, chunk, file.text.count("\n", 0, start))


def _read(file: TextFile, chunk: str, line: int) -> Iterator[Document | Finding]:
    composer = _Composer(Document(file), line)
    at: tuple[int, int] | None = None
    try:
        composer.run(chunk)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = (line + mark.line + 1, mark.column + 1) if mark else (line + 1, 1)
        what = " ".join(part for part in (error.problem, error.context) if part)
    except yaml.YAMLError as error:
        at, what = (line + 1, 1), str(error).splitlines()[0]
    except _TooMuch as error:
        at, what = composer.at, str(error)
    yield from composer.findings
    if at is None:
        yield composer.document
    elif _TEMPLATE.search(chunk):
        fix = "render it first: `helm template … | inferfab check --manifests -`"
        yield finding("IF-MAN-006", file.name, "a template that was not rendered stands here", fix, at)
    else:
        fix = "mend the syntax here or on the line before"
        yield finding("IF-MAN-002", file.name, f"is not valid YAML: {what}", fix, at)


class _Open:
    def __init__(self, value: Any, path: YamlPath, anchor: str | None) -> None:
        self.value = value
        self.path = path
        self.anchor = anchor
        self.key: str | None = None
        self.key_at = (1, 1)
        self.merged: list[tuple[Any, YamlPath]] = []
        """What `<<` names; a list of mappings is filled only later."""


class _Composer:
    def __init__(self, document: Document, line: int) -> None:
        self.document = document
        self.line = line
        self.at = (line + 1, 1)
        self.stack: list[_Open] = []
        self.anchors: dict[str, tuple[Any, YamlPath]] = {}
        self.findings: list[Finding] = []

    def run(self, text: str) -> None:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            start, end = event.start_mark, event.end_mark
            assert start is not None
            self.at = (self.line + start.line + 1, start.column + 1)
            if isinstance(event, yaml.AliasEvent):
                self._alias(str(event.anchor))
            elif isinstance(event, yaml.ScalarEvent):
                assert end is not None
                quoted = event.style in ("'", '"', "|", ">") or event.tag not in (None, "!")
                value = event.value if quoted else resolve_plain(event.value)
                # A block scalar's end mark stands at the beginning of the line after it.
                last = self.line + end.line + (0 if end.column == 0 and event.style in ("|", ">") else 1)
                path = self._put(value, last, event.style or "", text=event.value)
                self._name(event.anchor, value, path)
            elif isinstance(event, yaml.CollectionStartEvent):
                self._open({} if isinstance(event, yaml.MappingStartEvent) else [], event.anchor)
            elif isinstance(event, yaml.CollectionEndEvent):
                self._close()

    def _open(self, value: Any, anchor: str | None) -> None:
        if len(self.stack) >= MAX_DEPTH:
            raise _TooMuch(f"is nested more than {MAX_DEPTH} levels deep")
        if self._wants_key():
            raise _TooMuch("a key is a list or mapping")
        path = self._put(value, self.at[0], "", text="")
        self.stack.append(_Open(value, path, anchor))

    def _close(self) -> None:
        done = self.stack.pop()
        merged = []
        for value, path in done.merged:
            merged += [(v, (*path, n)) for n, v in enumerate(value)] if isinstance(value, list) else [(value, path)]
        for value, path in merged:
            for key, item in value.items() if isinstance(value, dict) else ():
                if key not in done.value:
                    done.value[key] = item
                    self._copy((*path, key), (*done.path, key), item)
        self._name(done.anchor, done.value, done.path)

    def _name(self, anchor: str | None, value: Any, path: YamlPath) -> None:
        if anchor is not None:
            self.anchors[anchor] = (value, path)

    def _alias(self, name: str) -> None:
        value, path = self.anchors.get(name, (None, None))
        if path is None:
            raise _TooMuch(f"the alias *{name} stands before its anchor, or inside of it")
        if self._wants_key():
            self.stack[-1].key, self.stack[-1].key_at = str(value), self.at
            return
        top = self.stack[-1] if self.stack else None
        if top is not None and isinstance(top.value, dict) and top.key == "<<":
            top.key = None
            top.merged.append((value, path))
            return
        self._copy(path, self._put(value, self.at[0], "", text=""), value)

    def _copy(self, source: YamlPath, target: YamlPath, value: Any) -> None:
        """Marks of ``source`` and everything below it for ``target``: what is aliased stands where its anchor does."""
        waiting = [(source, target, value)]
        while waiting:
            old, new, here = waiting.pop()
            self._count()
            if old in self.document.marks:
                self.document.marks[new] = self.document.marks[old]
            inside = here.items() if isinstance(here, dict) else enumerate(here) if isinstance(here, list) else ()
            waiting += [((*old, key), (*new, key), item) for key, item in inside]

    def _count(self) -> None:
        self.document.aliased += 1
        if self.document.aliased > MAX_ALIASED:
            raise _TooMuch(f"has more than {MAX_ALIASED:,} values by aliases")

    def _wants_key(self) -> bool:
        return bool(self.stack) and isinstance(self.stack[-1].value, dict) and self.stack[-1].key is None

    def _put(self, value: Any, last: int, style: str, *, text: str) -> YamlPath:
        if not self.stack:
            self.document.tree = value
            self.document.marks[()] = Mark(self.at, self.at, last, style)
            return ()
        top = self.stack[-1]
        if isinstance(top.value, list):
            path: YamlPath = (*top.path, len(top.value))
            top.value.append(value)
            self.document.marks[path] = Mark(self.at, self.at, last, style)
            return path
        if top.key is None:
            top.key, top.key_at = text, self.at
            return (*top.path, text)
        key, top.key = top.key, None
        path = (*top.path, key)
        if key == "<<":
            top.merged.append((value, path))
            return path
        if key in top.value:
            first = self.document.marks[path].key[0]
            what = f"the key {key!r} stands here a second time; the first is on line {first}"
            self.findings.append(finding("IF-MAN-003", self.document.file.name, what, "keep one of them", top.key_at))
        top.value[key] = value
        self.document.marks[path] = Mark(top.key_at, self.at, last, style)
        return path
