"""Where container images and charts come from."""

from typing import Annotated

from inferfab.environment.base import Input, Name, matching

Mirror = Annotated[
    str,
    matching(
        r"^[a-z0-9]+([.-][a-z0-9]+)*(:[0-9]{1,5})?(/[a-z0-9]+([._-][a-z0-9]+)*)*$",
        "write a registry's host and, after a slash, a path in it, without scheme and final slash, like "
        "111122223333.dkr.ecr.us-east-1.amazonaws.com/mirror",
        max_length=200,
    ),
]

ImageReference = Annotated[
    str,
    matching(
        r"^[a-z0-9]+([.-][a-z0-9]+)*(:[0-9]{1,5})?(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*"
        r"(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?$",
        "write an image as nodes pull it: registry, path, and a tag or digest, like registry.example.com/team/image:1",
        max_length=500,
    ),
]


class Images(Input):
    """A registry of your own that holds every image and chart."""

    mirror: Mirror | None = None
    """Registry and path that every image and chart is taken from: `quay.io/a/b:1` stands there as
    `<mirror>/quay.io/a/b:1`, a chart as `<mirror>/charts/<name>`. `inferfab images` lists them, and writes what copies
    them. Default: each from its own registry.
    """
    pull_secret: Name | None = None
    """Name of a Secret of type `kubernetes.io/dockerconfigjson` that stands in every namespace of the platform and of
    what serves; only its name is written anywhere. Default: none; nodes pull from ECR with their own role.
    """
