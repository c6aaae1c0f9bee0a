"""Values of a chart that take its images from a mirror, and which images it pulls."""

from collections.abc import Iterator, Mapping
from typing import Any

from inferfab.catalog.chart_images import ChartImage, Part, chart_images
from inferfab.plan.images import ImageSource
from inferfab.record import Record
from inferfab.render.values import Value, Values


class PulledImage(Record):
    """An image that a chart pulls with these values."""

    image: str
    """Public repository."""
    tag: str | None
    """None: the chart decides, and it was not read."""


class UnknownChart(Exception):
    """The images of a chart are not in the catalog, so that it cannot be told to take them from a mirror."""


def mirrored_values(chart: str, values: Values, source: ImageSource) -> Values:
    """The values, and where each of the chart's images and its pull secret come from.

    :raises UnknownChart: if there is a mirror or a secret, and the catalog does not list the chart's images.
    """
    if source.mirror is None and source.pull_secret is None:
        return values
    if chart not in chart_images():
        raise UnknownChart(f"catalog/data/chart_images.yaml does not list the images of the chart {chart}")
    known = chart_images()[chart]
    found: Values = dict(values)
    if source.mirror is not None:
        for one in known.images:
            if pulled(one, values):
                for path, part in one.set.items():
                    found = with_value(found, path, _part(one, part, source))
    if source.pull_secret is not None:
        for path, shape in known.pull_secrets.items():
            secret: Value = [{"name": source.pull_secret}] if shape == "objects" else [source.pull_secret]
            found = with_value(found, path, secret)
    return found


def images_of(chart: str, values: Mapping[str, Any]) -> Iterator[PulledImage]:
    """Images that the chart pulls with these values.

    :raises UnknownChart: if the catalog does not list the chart.
    """
    if chart not in chart_images():
        raise UnknownChart(f"catalog/data/chart_images.yaml does not list the images of the chart {chart}")
    for one in chart_images()[chart].images:
        if pulled(one, values):
            tag = at(values, one.tag_at) if one.tag_at else None
            yield PulledImage(image=one.image, tag=str(tag) if tag else one.tag)


def pulled(one: ChartImage, values: Mapping[str, Any]) -> bool:
    """Whether these values make the chart pull the image."""
    if one.when is None:
        return True
    said = at(values, one.when)
    return one.default if said is None else bool(said)


def at(values: Mapping[str, Any], path: str) -> Any:
    """What stands at a dotted path; None if nothing does."""
    found: Any = values
    for key in path.split("."):
        if not isinstance(found, Mapping) or key not in found:
            return None
        found = found[key]
    return found


def with_value(values: Values, path: str, value: Value) -> Values:
    """A copy with one value at a dotted path; what stands beside it stays."""
    key, _, rest = path.partition(".")
    if not rest:
        return {**values, key: value}
    below = values.get(key)
    return {**values, key: with_value(dict(below) if isinstance(below, dict) else {}, rest, value)}


def _part(one: ChartImage, part: Part, source: ImageSource) -> str:
    host, _, path = one.image.partition("/")
    if part == "registry":
        return f"{source.mirror}/{host}"
    if part == "path":
        return path
    if part == "folder":
        return source.repository(one.image).rpartition("/")[0]
    if part == "tag":
        return one.tag or ""
    if part == "operator_repository":
        return source.repository(one.image).removesuffix("-generic")
    repository = source.repository(one.image)
    return f"{repository}:{one.tag}" if part == "reference" else repository
