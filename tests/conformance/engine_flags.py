"""A real argparse parser made from the flag list of a pinned vLLM, and nothing of inferfab.

Standard library only: dynamo_parsers.py uses it too, in Dynamo's own environment, in the place of vLLM's parser.
"""

import argparse
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

Flags = Mapping[str, Mapping[str, Any]]
"""The ``flags`` of vllm_flags_VERSION.json."""

HUMAN = re.compile(r"[0-9]+(\.[0-9]+)?[kKmMgGtT]?")
HUMAN_FLAGS = {
    "--max-model-len", "--max-num-batched-tokens", "--max-num-scheduled-tokens", "--kv-cache-memory-bytes",
    "--safetensors-prefetch-block-size", "--max-num-queued-tokens",
}  # fmt: skip
"""vLLM takes 16K for these; the list's notes say so."""

BOUNDS: dict[str, Callable[[float, float], bool]] = {
    "gt": lambda value, limit: value > limit, "ge": lambda value, limit: value >= limit,
    "lt": lambda value, limit: value < limit, "le": lambda value, limit: value <= limit,
}  # fmt: skip


class FlagError(ValueError):
    """What argparse would print before it exits with status 2."""


class Parser(argparse.ArgumentParser):
    """Raises where argparse exits, and takes no abbreviation."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"add_help": False, "allow_abbrev": False, **options})

    def error(self, message: str) -> NoReturn:
        raise FlagError(message)


def add_engine_flags(parser: argparse.ArgumentParser | Any, flags: Flags) -> None:
    """Each flag of the list in all its spellings, with its type, choices and bounds."""
    for name, flag in flags.items():
        spellings = [spelling for spelling in flag["flags"] if spelling.startswith("-")]
        if spellings:
            # vLLM's attribute is the long name, whichever spelling stands first.
            parser.add_argument(
                *spellings, dest=name.lstrip("-").replace("-", "_"), default=None, **_options(name, flag)
            )


def _options(name: str, flag: Mapping[str, Any]) -> dict[str, Any]:
    kind = str(flag.get("type") or "str")
    if flag.get("action") == "store_true":
        return {"action": "store_true"}
    if flag.get("negatable") or flag.get("action") == "argparse.BooleanOptionalAction":
        return {"action": argparse.BooleanOptionalAction}
    if flag.get("nargs"):
        return {"nargs": flag["nargs"]}
    if takes_json(kind):
        return {"type": json_object}
    options: dict[str, Any] = {"type": _reader(name, kind, flag.get("constraints") or {})}
    choices = flag.get("choices")
    if isinstance(choices, list) and not flag.get("choices_open"):
        options["type"] = _one_of([str(choice) for choice in choices])
    if kind.startswith(("list[", "set[", "str|list[")):
        # list[int] and its like take several words.
        options["nargs"] = "+"
        if "[int]" in kind:
            options["type"] = int
    return options


def takes_json(kind: str) -> bool:
    """Whether a type of the list is read as one JSON object."""
    first = kind.partition("|")[0]
    return first.startswith("dict") or re.fullmatch(r"[A-Za-z]+(Config|Options)", first) is not None


def json_object(text: str) -> dict[str, Any]:
    """A JSON object without twin keys and without NaN, or an argparse error."""

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(items)) != len(items):
            raise argparse.ArgumentTypeError(f"a key stands twice: {[key for key, _ in items]}")
        return dict(items)

    def constant(word: str) -> NoReturn:
        raise argparse.ArgumentTypeError(f"{word} is no JSON")

    try:
        value = json.loads(text, object_pairs_hook=pairs, parse_constant=constant)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"no JSON: {error}") from None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(f"no JSON object: {text}")
    return value


def _one_of(choices: list[str]) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in choices:
            raise argparse.ArgumentTypeError(f"invalid choice: {text!r} (choose from {', '.join(choices)})")
        return text

    return read


def _reader(name: str, kind: str, bounds: Mapping[str, float]) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        if kind not in {"int", "float"}:
            return text
        if kind == "int" and name in HUMAN_FLAGS and HUMAN.fullmatch(text) and not text.isdigit():
            return text
        if name == "--max-model-len" and text == "auto":
            return text
        try:
            # int() takes " 1_000 " too.
            if text.strip() != text or "_" in text:
                raise ValueError(text)
            value = int(text) if kind == "int" else float(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is no {kind}") from None
        for word, limit in bounds.items():
            if not BOUNDS[word](value, limit):
                raise argparse.ArgumentTypeError(f"{text} is not {word} {limit:g}")
        return value

    return read
