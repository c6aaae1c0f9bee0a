"""References of the images that Dynamo's own components run."""

from inferfab.catalog.engines import EnginePair


def mirrored(repository: str, registry: str | None) -> str:
    """The repository, or its last part under the environment's registry."""
    return f"{registry.rstrip('/')}/{repository.rsplit('/', 1)[-1]}" if registry else repository


def frontend_image(pair: EnginePair, registry: str | None) -> str:
    return f"{mirrored(pair.frontend_image, registry)}:{pair.dynamo}"


def planner_image(pair: EnginePair, registry: str | None) -> str:
    """Planner and routers: ai-dynamo's own examples run frontend, routers and planner from one image."""
    return f"{mirrored(pair.planner_image, registry)}:{pair.dynamo}"
