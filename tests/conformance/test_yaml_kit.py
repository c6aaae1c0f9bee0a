"""The YAML kit sees what readers disagree about, and texts quoted by an emitter pass it."""

import json

import pytest
import yaml
from hypothesis import given

from .yaml_kit import NASTY, assert_same_in_yaml_1_1_and_1_2, assert_value, nasty_scalars

DIFFERING = [
    "on",
    "yes",
    "Off",
    "1e5",
    "0o7",
    "012",
    "1:30",
    "1_000",
    "2026-11-30",
    ".inf",
    "!!set {a}",
    "0b11",
    "<<",
    "=",
    "!!str 1",
]


@pytest.mark.parametrize("scalar", DIFFERING)
def test_it_refuses(scalar: str) -> None:
    """Bare scalars that the two readers do not read alike, or that are no JSON."""
    with pytest.raises(AssertionError):
        assert_same_in_yaml_1_1_and_1_2(f"a: {scalar}\n")
    assert_value(f"a: {json.dumps(scalar)}\n", {"a": scalar})


@pytest.mark.parametrize("text", ["a: 1\na: 2\n", "a: {b: 1, b: 2}\n", "a: [\n", "a: 'x\n", "1: a\n", 'a: "x\x85y"\n'])
def test_it_refuses_texts(text: str) -> None:
    """Twin keys, broken texts, keys that are no strings, a raw NEL."""
    with pytest.raises(AssertionError):
        assert_same_in_yaml_1_1_and_1_2(text)


@pytest.mark.parametrize(
    ("text", "meant"), [("a: 1.10", "1.10"), ("a: 1", True), ("a: 1", "1"), ("a: ~", "~"), ("a: 1\n---\na: 1", 1)]
)
def test_it_knows_what_was_meant(text: str, meant: object) -> None:
    """Alike to both readers, and still not what was meant."""
    with pytest.raises(AssertionError):
        assert_value(text, {"a": meant})


def escaped(text: str) -> str:
    """A double-quoted scalar that every reader takes."""
    inside = json.dumps(text, ensure_ascii=False)
    return "".join(letter if letter.isprintable() else _escape(letter) for letter in inside)


def _escape(letter: str) -> str:
    return f"\\u{ord(letter):04x}" if ord(letter) < 0x10000 else f"\\U{ord(letter):08x}"


def test_json_alone_would_not_do() -> None:
    """json.dumps (and Jinja's tojson) writes an emoji as two surrogates, which YAML does not join."""
    with pytest.raises(AssertionError, match=r"half a letter|invalid Unicode"):
        assert_same_in_yaml_1_1_and_1_2(f"a: {json.dumps('😀')}\n")


@given(nasty_scalars())
def test_json_with_escapes_is_alike(text: str) -> None:
    """What an emitter may do: JSON's double quotes, letters beyond ASCII as they are, unprintable ones escaped."""
    quoted = escaped(text)
    assert_value(f"{{{quoted}: [{quoted}]}}", {text: [text]})


def test_the_list_is_nasty() -> None:
    """Most of it breaks a template without quotes: it is not text, or not one text, or another one."""
    broken = 0
    for text in NASTY:
        try:
            assert_value(f"a: {text}\n", {"a": text})
        except AssertionError:
            broken += 1
    assert broken > 0.7 * len(NASTY)


def test_pyyaml_alone_would_not_do() -> None:
    """Why two readers: PyYAML's own emitter leaves bare what 1.2 reads as a number."""
    with pytest.raises(AssertionError):
        assert_value(yaml.safe_dump({"a": "1e5"}), {"a": "1e5"})
