"""Does a text mean the same to every YAML reader that will see it?

PyYAML reads YAML 1.1, and so do Helm and kubectl in most respects (``on`` is true); others read 1.2 (``on`` is a
string, ``1e5`` and ``0o7`` are numbers). What inferfab emits must be read alike by both.
"""

import math
import pickle
import re
from collections.abc import Callable, Hashable, Iterator
from functools import lru_cache
from io import StringIO
from typing import Any

import yaml
from hypothesis import strategies as st
from ruamel.yaml import YAML
from ruamel.yaml import events as ev
from ruamel.yaml.error import YAMLError


class StrictLoader(yaml.CSafeLoader):
    """PyYAML's safe loader, but a key that stands twice is an error and not the last one's."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for number, key in enumerate(keys):
            if key in keys[:number]:
                raise yaml.constructor.ConstructorError(
                    "while constructing a mapping",
                    node.start_mark,
                    f"{key!r} stands twice",
                    node.value[number][0].start_mark,
                )
        return super().construct_mapping(node, deep)


def read_1_1(text: str) -> list[Any]:
    """Every document of a text by PyYAML."""
    return list(yaml.load_all(text, Loader=StrictLoader))


def read_1_2(text: str) -> list[Any]:
    """Every document of a text, split by ruamel.yaml's scanner of 1.2, its scalars by the core schema of YAML 1.2.2.

    The scalars are ours because ruamel.yaml still takes ``1_000`` and ``0b11`` for numbers and ``2026-11-30`` for a
    date, which 1.2 does not.
    """
    events = iter(YAML(typ="safe", pure=True).parse(StringIO(text)))
    documents = []
    for event in events:
        if isinstance(event, ev.DocumentStartEvent):
            documents.append(_value(next(events), events, {}))
    return documents


def _value(event: ev.Event, events: Iterator[ev.Event], anchors: dict[str, Any]) -> Any:
    if isinstance(event, ev.AliasEvent):
        return anchors[event.anchor]
    if str(event.tag or "!") != "!":
        raise YAMLError(f"the tag {event.tag}")
    value: Any
    if isinstance(event, ev.ScalarEvent):
        value = _core(event.value) if event.style is None and event.tag is None else event.value
    elif isinstance(event, ev.SequenceStartEvent):
        value = []
        while not isinstance(event := next(events), ev.SequenceEndEvent):
            value.append(_value(event, events, anchors))
        return value
    else:
        value = {}
        while not isinstance(event := next(events), ev.MappingEndEvent):
            key = _value(event, events, anchors)
            if not isinstance(key, Hashable) or key in value:
                raise YAMLError(f"the key {key!r} stands twice, or is none")
            value[key] = _value(next(events), events, anchors)
        return value
    return value


CORE: tuple[tuple[re.Pattern[str], Callable[[str], Any]], ...] = (
    (re.compile(r"~|null|Null|NULL|"), lambda _: None),
    (re.compile(r"true|True|TRUE"), lambda _: True),
    (re.compile(r"false|False|FALSE"), lambda _: False),
    (re.compile(r"[-+]?[0-9]+"), lambda text: int(text, 10)),
    (re.compile(r"0o[0-7]+"), lambda text: int(text[2:], 8)),
    (re.compile(r"0x[0-9a-fA-F]+"), lambda text: int(text[2:], 16)),
    (re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"), float),
    (re.compile(r"[-+]?(\.inf|\.Inf|\.INF)"), lambda text: float(text.replace(".", ""))),
    (re.compile(r"\.nan|\.NaN|\.NAN"), lambda _: float("nan")),
)
"""YAML 1.2.2, section 10.3.2: what a plain scalar is, if it is no text."""


def _core(text: str) -> Any:
    return next((read(text) for pattern, read in CORE if pattern.fullmatch(text)), text)


def assert_same_in_yaml_1_1_and_1_2(text: str) -> list[Any]:
    """Both readers take a text, and find the same plain JSON in it; gives that, document by document."""
    # The same files go through many proofs, and a reader in Python is slow. Pickled: nobody gets another's list.
    documents: list[Any] = pickle.loads(_read_alike(text))
    return documents


@lru_cache(maxsize=4096)
def _read_alike(text: str) -> bytes:
    # ruamel.yaml breaks lines there too, where 1.2 does not; so neither of the two would notice.
    raw = [f"U+{ord(letter):04X}" for letter in "\x85\u2028\u2029\ufeff" if letter in text]
    assert not raw, f"{', '.join(raw)} as it is: 1.1 and 1.2 differ about it, escape it"
    try:
        one, two = read_1_1(text), read_1_2(text)
    except (yaml.YAMLError, YAMLError) as error:
        raise AssertionError(f"not read by both: {error}") from error
    for number, document in enumerate(one):
        for place in not_json(document):
            raise AssertionError(f"document {number}: {place} is no JSON")
    differing = differences(one, two)
    assert not differing, f"YAML 1.1 and 1.2 differ: {'; '.join(differing[:5])}"
    return pickle.dumps(one)


def assert_value(text: str, expected: Any) -> None:
    """Both readers find exactly this in a text of one document: ``"1.10"`` is not 1.1, and 1 is not true."""
    read = assert_same_in_yaml_1_1_and_1_2(text)
    assert len(read) == 1, f"{len(read)} documents"
    differing = differences(read[0], expected)
    assert not differing, f"not what was meant: {'; '.join(differing[:5])}"


def not_json(value: Any, path: str = "$") -> list[str]:
    """Places that hold what JSON has not: dates, sets, bytes, keys that are no strings, infinite numbers."""
    if isinstance(value, dict):
        bad = [f"{path}: key {key!r}" for key in value if not isinstance(key, str)]
        return bad + [place for key, item in value.items() for place in not_json(item, f"{path}.{key}")]
    if isinstance(value, list):
        return [place for number, item in enumerate(value) for place in not_json(item, f"{path}[{number}]")]
    if isinstance(value, float) and not math.isfinite(value):
        return [f"{path}: {value}"]
    if isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value):
        # What json.dumps makes of an emoji: two escapes that YAML does not join, and Go refuses.
        return [f"{path}: half a letter in {value!r}"]
    return [] if value is None or isinstance(value, str | int | float) else [f"{path}: {value!r}"]


def differences(one: Any, two: Any, path: str = "$") -> list[str]:
    """Places where two values differ, in value or in type."""
    if isinstance(one, dict) and isinstance(two, dict):
        if list(one) != list(two):
            return [f"{path}: keys {list(one)} and {list(two)}"]
        return [place for key in one for place in differences(one[key], two[key], f"{path}.{key}")]
    if isinstance(one, list) and isinstance(two, list):
        if len(one) != len(two):
            return [f"{path}: {len(one)} and {len(two)} items"]
        return [
            place
            for number, pair in enumerate(zip(one, two, strict=True))
            for place in differences(*pair, f"{path}[{number}]")
        ]
    return [] if type(one) is type(two) and one == two else [f"{path}: {one!r} and {two!r}"]


NASTY = (
    "on", "off", "yes", "no", "y", "n", "true", "True", "NULL", "null", "~", "", " ", "1e5", "1E5", "1.10", "1.0", ".5",
    "5.", "0o7", "07", "0x1F", "0b1", "1_000", "12:30:45", "190:20:30", "2026-11-30", "2026-11-30T12:00:00Z", ".inf",
    "-.Inf", ".nan", "=", "<<", "!", "!!int 3", "&a", "*a", "- x", "-", "? x", ": x", "a: b", "a:", "#", "a #b", "a#b",
    "@x", "`x`", "%x", "|", ">", "|-", "[x]", "{x}", "{{ .Values.x }}", "{% if x %}", "{# x #}", "${x}", "$${x}",
    "%{x}", "$(X)", "'", '"', "it's", 'say "x"', "''", "a\\nb", "\\", "a\nb", "a\n", "\na", "a\n\n", " a", "a ", "a\tb",
    "\ta", "a\r\nb", "---", "...", "--- x", "é", "模型", "😀", "\x85", "a\x85b", "\u2028", "\ufeff", "\u00a0", "\u200b",
    "x" * 300, "word " * 60, "-1", "+1", "--flag", "0", "00", "1e", "NaN", "None", "key: [", "a,b", '{"a": 1}', '["a"]',
    "\x7f",
)  # fmt: skip
"""Texts that a hand-quoted template gets wrong, each for a reason of its own."""


def nasty_scalars() -> st.SearchStrategy[str]:
    """Texts to put where a template takes a name, a revision or a tag: the list above, pieces of it, and anything.

    No surrogates and no NUL: neither can be in a YAML file, nor in an environment file that gives us the text.
    """
    piece = st.sampled_from(NASTY)
    anything = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), max_size=30)
    return st.one_of(piece, st.tuples(piece, piece).map("".join), st.tuples(piece, anything).map("".join), anything)
