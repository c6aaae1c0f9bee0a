"""Whether a text can be the value of a flag, as argparse and the engine read it."""

import json
import re
from collections.abc import Iterator

from inferfab.catalog.engines import Flag
from inferfab.checks.remedies import plain
from inferfab.environment.problems import meant
from inferfab.manifests.model import human_whole

_HUMAN = (
    "--max-model-len", "--max-num-batched-tokens", "--max-num-scheduled-tokens", "--kv-cache-memory-bytes",
    "--safetensors-prefetch-block-size", "--max-num-queued-tokens",
)  # fmt: skip
"""Flags that take ``8k`` and ``1.5M``. Source: notes of the flag lists."""
_WORDS_FOR = {"--max-model-len": ("auto", "-1")}


def value_fits(declared: Flag, flag: str, text: str) -> Iterator[tuple[str, str]]:
    """(what is wrong, what to write); nothing for a value that is taken."""
    if text in _WORDS_FOR.get(flag, ()):
        return
    if flag == "--compilation-config" and text.isdigit():
        return  # a level, as older releases had it
    if declared.takes_json:
        if wrong := not_an_object(text):
            yield f"`{flag}` takes a JSON object, and {wrong}", "write one in quotes, like '{\"key\": 1}'"
        return
    if isinstance(declared.choices, tuple) and not declared.choices_open:
        choices = [str(c) for c in declared.choices]
        if text not in choices:
            yield f"`{flag}` cannot be `{text}`", meant(text, choices, most=20)
        return
    if declared.type not in ("int", "float") or declared.choices is not None:
        return
    number: float | None
    if declared.type == "int":
        number = human_whole(text) if flag in _HUMAN else int(text) if re.fullmatch(r"[-+]?[0-9_]+", text) else None
    else:
        number = float(text) if re.fullmatch(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?", text) else None
    if number is None:
        kind = "whole number" if declared.type == "int" else "number"
        yield f"`{flag}` takes a {kind}, not `{text}`", f"write a {kind}"
    elif bound := declared.outside(float(number)):
        yield f"`{flag}` must be {bound}, not {plain(float(number))}", f"write a value {bound}"
    elif flag.endswith("-port") and not 0 <= number <= 65535:
        yield f"`{flag}` cannot be {text}: ports end at 65535", "write a port from 1 to 65535"


def not_an_object(text: str) -> str:
    """Why ``text`` is no JSON object; empty if it is one."""
    try:
        read = json.loads(text)
    except (ValueError, RecursionError) as error:
        return f"`{text[:60]}` is not JSON ({error})"
    return "" if isinstance(read, dict) else f"`{text[:60]}` is none"
