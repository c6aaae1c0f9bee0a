"""The hand-written folder of files that the harness itself is tested with: sound, and broken in one place."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from .workloads import Document

FOLDER = Path(__file__).parent / "samples" / "cell"


def sound() -> dict[str, str]:
    """Files by name."""
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.yaml"))}


def document(kind: str, name: str = "") -> Document:
    """One of the sound documents, parsed; the first of its kind, or the one of that name."""
    for text in sound().values():
        for one in yaml.safe_load_all(text):
            if one["kind"] == kind and name in ("", one["metadata"]["name"]):
                found: Document = one
                return found
    raise LookupError(f"{kind} {name}")


def graph() -> Document:
    """The disaggregated graph."""
    return document("DynamoGraphDeployment")


def component(of: Document, name: str) -> Any:
    """One component of a graph."""
    return next(one for one in of["spec"]["components"] if one["name"] == name)


def main(of: Document, name: str) -> Any:
    """The container ``main`` of a component."""
    return component(of, name)["podTemplate"]["spec"]["containers"][0]


def broken(change: Callable[[list[Document]], Any]) -> dict[str, str]:
    """The sound files with one change made to all their documents."""
    documents = [one for text in sound().values() for one in yaml.safe_load_all(text)]
    change(documents)
    return {"broken.yaml": yaml.safe_dump_all(documents, sort_keys=False)}
