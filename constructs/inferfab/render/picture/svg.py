"""The picture as SVG."""

from inferfab.plan.fleet import FleetPlan
from inferfab.render.picture.layout import lay_out
from inferfab.render.picture.shapes import Link
from inferfab.render.picture.text import FONTS, clean
from inferfab.render.templates import render

_HEAD = 8.0
_HALF = 4.0


def render_svg(plan: FleetPlan) -> str:
    """One self-contained SVG: no script, no reference to anything outside, scales to any width."""
    return render(
        "picture/fleet.svg.j2",
        picture=lay_out(plan),
        fonts=FONTS,
        clean=clean,
        n=number,
        line=line,
        head=head,
    )


def number(value: float) -> str:
    """A coordinate to a tenth of a pixel: the same text on every machine."""
    return f"{value:.1f}".removesuffix(".0")


def line(link: Link) -> str:
    """The path of a link; it ends inside its arrow head so that the tip stays sharp."""
    points = list(link.points)
    if link.arrow:
        (x, y), (dx, dy) = points[-1], _direction(link)
        points[-1] = (x - dx * _HEAD * 0.8, y - dy * _HEAD * 0.8)
    return "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points)


def head(link: Link) -> str:
    """The arrow head as a triangle. A marker would need an id, which two pictures would share."""
    (x, y), (dx, dy) = link.points[-1], _direction(link)
    base = (x - dx * _HEAD, y - dy * _HEAD)
    corners = (
        (x, y),
        (base[0] - dy * _HALF, base[1] + dx * _HALF),
        (base[0] + dy * _HALF, base[1] - dx * _HALF),
    )
    return "M" + "L".join(f"{number(a)} {number(b)}" for a, b in corners) + "Z"


def _direction(link: Link) -> tuple[float, float]:
    (x0, y0), (x1, y1) = link.points[-2:]
    length = abs(x1 - x0) + abs(y1 - y0)  # lines run along the axes
    return (x1 - x0) / length, (y1 - y0) / length
