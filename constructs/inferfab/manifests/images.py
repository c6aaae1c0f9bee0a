"""What an image's name says: repository, tag, and the versions inside of it."""

import re
from dataclasses import dataclass

from inferfab.catalog.engines import engine_pairs

_VERSION = re.compile(r"v?([0-9]+\.[0-9]+\.[0-9]+)(?:[-._+].*)?$")


@dataclass(frozen=True)
class Image:
    """An image reference taken apart."""

    repository: str
    tag: str
    digest: str

    @property
    def name(self) -> str:
        """Last part of the repository."""
        return self.repository.rsplit("/", 1)[-1]

    @property
    def known(self) -> bool:
        """Written out, not a placeholder of a template or of `envsubst`."""
        return bool(self.repository) and not re.search(r"[${}<>]", f"{self.repository}:{self.tag}")

    @property
    def version(self) -> str | None:
        """``1.6.1`` of ``1.6.1-efa``; None where the tag is no version."""
        match = _VERSION.match(self.tag)
        return match[1] if match else None

    @property
    def is_dynamo(self) -> bool:
        return "dynamo" in self.repository or self.name in ("vllm-runtime", "kubernetes-operator")

    @property
    def dynamo(self) -> str | None:
        """Dynamo's version, where the image is one of Dynamo's."""
        return self.version if self.is_dynamo else None

    @property
    def vllm(self) -> str | None:
        """vLLM's version: the tag of its own image, wherever it is mirrored, or what a Dynamo release pins."""
        if self.is_dynamo:
            pair = engine_pairs().get(self.version or "")
            return pair.vllm if pair else None
        return self.version if self.name == "vllm-openai" else None


def image_of(text: str) -> Image:
    """Never fails: what cannot be told apart stays in the repository."""
    rest, _, digest = text.partition("@")
    head, colon, tag = rest.rpartition(":")
    if not colon or "/" in tag:
        head, tag = rest, ""
    return Image(head, tag, digest)
