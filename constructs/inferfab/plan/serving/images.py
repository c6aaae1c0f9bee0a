"""References of the images that Dynamo's own components run."""

from inferfab.catalog.engines import EnginePair
from inferfab.plan.images import ImageSource


def mirrored(repository: str, registry: ImageSource | None) -> str:
    """Where the environment has it from."""
    return registry.engine(repository) if registry else repository


def frontend_image(pair: EnginePair, registry: ImageSource | None) -> str:
    return f"{mirrored(pair.frontend_image, registry)}:{pair.dynamo}"


def planner_image(pair: EnginePair, registry: ImageSource | None) -> str:
    """Planner and routers: ai-dynamo's own examples run frontend, routers and planner from one image."""
    return f"{mirrored(pair.planner_image, registry)}:{pair.dynamo}"
