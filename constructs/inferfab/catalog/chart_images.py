"""Images that charts pull by their own defaults, and the values that say where from."""

from functools import cache
from typing import Literal

from inferfab.catalog.facts import DATA, FactFile, read_facts
from inferfab.record import Record

Part = Literal["repository", "operator_repository", "registry", "path", "folder", "reference", "tag"]
"""What a value of a chart holds of a reference."""


class ChartImage(Record):
    """One image of a chart."""

    image: str
    """Public repository, with its host."""
    tag: str | None
    """None: the chart's own version of it, which was not read."""
    tag_at: str | None = None
    """Path in the values that holds the tag."""
    set: dict[str, Part]
    """Path in the chart's values to what stands there."""
    when: str | None = None
    """Path in the chart's values: pulled only where that is there and not false. None: always."""
    default: bool = False
    """Whether it is pulled where the values that we write say nothing at ``when``."""


class ChartImages(Record):
    """All images of a chart."""

    images: tuple[ChartImage, ...]
    pull_secrets: dict[str, Literal["objects", "names"]] = {}
    """Path in the values of a list of pull secrets, and whether its items are ``{name: …}`` or names."""
    source: str


class ChartImageFile(FactFile):
    charts: dict[str, ChartImages]


@cache
def chart_images() -> dict[str, ChartImages]:
    """By the chart's name in its repository."""
    return read_facts(DATA / "chart_images.yaml", ChartImageFile).charts
