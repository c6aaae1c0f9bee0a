"""Image references in Kubernetes objects of any kind."""

import re
from collections.abc import Iterator
from typing import Any

import yaml

from inferfab.record import Record

_PLACEHOLDER = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_IMAGE_KEY = re.compile(r"(^|[a-z])[iI]mage$")
_ENV_IMAGE = re.compile(r"_IMAGE$")


class Reference(Record):
    """One image that an object names."""

    reference: str
    user: str
    """Kind and name of the object."""
    never_pulled: bool = False
    """The object takes what is on the node (``imagePullPolicy: Never``)."""


def references_of(text: str) -> Iterator[Reference]:
    """Images that the objects of a YAML text name; Helm's placeholders in it count as values.

    Three shapes: a field ``image`` (or ``fooImage``) with a reference; ``repository``, ``image`` and ``version`` apart,
    as NVIDIA's operators have it, where the first and the last may stand once under ``global``; and a variable of a
    container whose name ends in ``_IMAGE``.
    """
    for document in yaml.load_all(_PLACEHOLDER.sub(" 0", text), Loader=yaml.CSafeLoader):
        if isinstance(document, dict):
            name = (document.get("metadata") or {}).get("name", "")
            user = f"{document.get('kind', '?')} {name}"
            common = (document.get("spec") or {}).get("global") if isinstance(document.get("spec"), dict) else None
            yield from _walk(document, user, common if isinstance(common, dict) else {})


def _walk(node: Any, user: str, common: dict[str, Any]) -> Iterator[Reference]:
    if isinstance(node, list):
        for item in node:
            yield from _walk(item, user, common)
    if not isinstance(node, dict):
        return
    never = node.get("imagePullPolicy") == "Never"
    for key, value in node.items():
        if isinstance(value, str) and _IMAGE_KEY.search(str(key)):
            repository = node.get("repository", common.get("repository"))
            version = node.get("version", common.get("version"))
            if repository and version and "/" not in value and ":" not in value:
                yield Reference(reference=f"{repository}/{value}:{version}", user=user, never_pulled=never)
            elif "/" in value or ":" in value:
                yield Reference(reference=value, user=user, never_pulled=never)
        elif key == "name" and isinstance(value, str) and _ENV_IMAGE.search(value):
            image = node.get("value")
            if isinstance(image, str) and image:
                yield Reference(reference=image, user=user)
        else:
            yield from _walk(value, user, common)
