"""The engine pair."""

from typing import Annotated

from inferfab.environment.base import Input, matching

Version = Annotated[str, matching(r"^[0-9]+\.[0-9]+\.[0-9]+$", "write a full version, like 1.6.1")]

Registry = Annotated[
    str,
    matching(
        r"^[a-z0-9]+([.-][a-z0-9]+)*(:[0-9]{1,5})?(/[a-z0-9]+([._-][a-z0-9]+)*)*/?$",
        "write a registry's host and, after a slash, a path in it, without scheme, like registry.example.com/mirror",
        max_length=200,
    ),
]


class Engine(Input):
    """The Dynamo release, and with it the vLLM release that it pins."""

    dynamo: Version
    """Dynamo version, quoted. `1.6.1` is in the catalog."""
    vllm: Version | None = None
    """vLLM version. Default: the one that this Dynamo pins; naming another is an error, not a wish."""
    image_registry: Registry | None = None
    """Registry and path in which the images of what serves are mirrored, by the last part of their names, and nothing
    else is; `images.mirror` does it for everything. Default: NVIDIA's own.
    """
