"""Kubernetes objects of the documents; lists are taken apart."""

from collections.abc import Iterable, Iterator

from inferfab.manifests.documents import Document
from inferfab.manifests.model import Object
from inferfab.manifests.nodes import Node

_MOST_LISTS = 8
"""Lists in lists: more is no manifest."""


def objects_of(documents: Iterable[Document]) -> Iterator[Object]:
    """Everything that has a kind. A document may also be a bare list of objects."""
    for document in documents:
        yield from _objects(Node(document, (), document.tree), 0)


def _objects(node: Node, depth: int) -> Iterator[Object]:
    if depth > _MOST_LISTS:
        return
    if isinstance(node.value, list):
        for item in node.items():
            yield from _objects(item, depth + 1)
        return
    kind = node.get("kind").text
    if not kind or not isinstance(node.value, dict):
        return
    if kind.endswith("List") and isinstance(node.get("items").value, list):
        for item in node.get("items").items():
            yield from _objects(item, depth + 1)
        return
    metadata = node.get("metadata")
    name = metadata.get("name").text or metadata.get("generateName").text or ""
    titled = Node(node.document, node.path, node.value, f"{kind}/{name}" if name else kind, node.path)
    yield Object(
        kind=kind,
        api=node.get("apiVersion").text or "",
        name=name,
        namespace=metadata.get("namespace").text or "",
        node=titled,
        file=node.document.file.name,
    )
