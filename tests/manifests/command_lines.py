"""Changing a container's command line in place, whether it is a list or a shell script. Independent of the product's
own reader: lists are handled item by item, scripts as text."""

import re
from collections.abc import Iterator
from typing import Any

Tree = dict[str, Any]
_ENGINE = re.compile(r"vllm serve|-m vllm\.entrypoints\S*|-m dynamo\.vllm|-m dynamo\.frontend")


def containers(tree: Any) -> Iterator[tuple[Tree, Tree]]:
    """(container, what holds it) of every container that starts an engine or a frontend, wherever it stands."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            if key == "containers" and isinstance(value, list):
                yield from ((c, tree) for c in value if isinstance(c, dict))
            elif key == "mainContainer":
                yield value, tree
            else:
                yield from containers(value)
    elif isinstance(tree, list):
        for item in tree:
            yield from containers(item)


def text_of(container: Tree) -> str:
    return " ".join(str(w) for key in ("command", "args") for w in container.get(key) or ())


def is_engine(container: Tree) -> bool:
    text = text_of(container)
    image = str(container.get("image", ""))
    return bool(re.search(r"vllm serve|-m vllm\.entrypoints|-m dynamo\.vllm|serve \S", text)) or (
        "vllm-openai" in image and "command" not in container
    )


def is_frontend(container: Tree) -> bool:
    return "dynamo.frontend" in text_of(container)


def script(container: Tree) -> tuple[list[Any], int] | None:
    """(list, position) of the shell script; None for a plain list of words."""
    for key in ("command", "args"):
        words = container.get(key) or []
        for position, word in enumerate(words):
            if isinstance(word, str) and _ENGINE.search(word) and " " in word.strip():
                return words, position
    return None


def _pattern(flag: str) -> str:
    return rf"{re.escape(flag)}(?:[= ]+(?:'[^']*'|\"[^\"]*\"|[^\s'\"\\)]+))?"


def has(container: Tree, flag: str) -> bool:
    return re.search(rf"(?<!\S){re.escape(flag)}(?=[= ]|$|\s)", text_of(container)) is not None


def value(container: Tree, flag: str) -> str | None:
    """The value of a flag in either form."""
    found = re.search(rf"(?<!\S){re.escape(flag)}(?:=|\s+)('[^']*'|\"[^\"]*\"|\S+)", text_of(container))
    return found[1].strip("'\"") if found else None


def set_flag(container: Tree, flag: str, new: str | None) -> None:
    """Give a flag another value, or give it at all; None for a switch."""
    remove_flag(container, flag)
    if where := script(container):
        words, position = where
        text = str(words[position]).rstrip()
        addition = flag if new is None else f"{flag} '{new}'"
        if "ARGS=(" in text:
            words[position] = text.replace("ARGS=(", f"ARGS=(\n  {addition}\n ", 1)
            return
        at = list(_ENGINE.finditer(text))[-1]
        begin = re.compile(r"\S+").match(text, at.end() + 1) if at[0] == "vllm serve" else None
        end = begin.end() if begin and not begin[0].startswith(("-", "\\")) else at.end()
        words[position] = f"{text[:end]} {addition}{text[end:]}"
        return
    words = container.setdefault("args", [])
    words += [flag] if new is None else [flag, new]


def remove_flag(container: Tree, flag: str) -> None:
    if where := script(container):
        words, position = where
        words[position] = re.sub(rf"(?<!\S){_pattern(flag)}", "", str(words[position]))
        return
    for key in ("command", "args"):
        words = container.get(key) or []
        for position, word in enumerate(words):
            if str(word) == flag:
                following = str(words[position + 1]) if position + 1 < len(words) else "-"
                takes = not re.match(r"--?[A-Za-z]", following)
                del words[position : position + (2 if takes else 1)]
                return
            if str(word).startswith(f"{flag}="):
                del words[position]
                return


def rename_flag(container: Tree, flag: str, name: str) -> None:
    if where := script(container):
        words, position = where
        words[position] = re.sub(rf"(?<!\S){re.escape(flag)}(?=[= ])", name, str(words[position]), count=1)
        return
    for key in ("command", "args"):
        words = container.get(key) or []
        for position, word in enumerate(words):
            if str(word) == flag or str(word).startswith(f"{flag}="):
                words[position] = name + str(word)[len(flag) :]
                return


def set_env(container: Tree, name: str, new: str) -> None:
    env = [e for e in container.get("env") or [] if e.get("name") != name]
    container["env"] = [*env, {"name": name, "value": new}]


def env(container: Tree, name: str) -> str | None:
    return next((e.get("value", "") for e in container.get("env") or [] if e.get("name") == name), None)


def remove_env(container: Tree, name: str) -> None:
    container["env"] = [e for e in container.get("env") or [] if e.get("name") != name]
