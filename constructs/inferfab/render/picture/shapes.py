"""What a picture is made of: boxes that hold texts, links and further boxes."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inferfab.render.picture.colours import Colour
    from inferfab.render.picture.text import Text


@dataclass(frozen=True)
class Rect:
    x: float
    y: float
    w: float
    h: float

    @property
    def right(self) -> float:
        return self.x + self.w

    @property
    def bottom(self) -> float:
        return self.y + self.h

    def holds(self, other: "Rect") -> bool:
        return self.x <= other.x and self.y <= other.y and other.right <= self.right and other.bottom <= self.bottom

    def overlaps(self, other: "Rect") -> bool:
        """True if they share more than an edge."""
        return self.x < other.right and other.x < self.right and self.y < other.bottom and other.y < self.bottom


@dataclass(frozen=True)
class Link:
    """A line with an arrow at its end, if it has one."""

    kind: str
    """``route``, ``kv`` or ``kv-broken``; the template gives each its look."""
    points: tuple[tuple[float, float], ...]
    arrow: bool = True


@dataclass(frozen=True)
class Box:
    """A rectangle with what stands in it. Everything in it lies inside it, and nothing in it overlaps."""

    kind: str
    """What it stands for; the template gives each kind its look."""
    rect: Rect
    says: str = ""
    """Shown when a pointer rests on it, and read aloud."""
    texts: tuple["Text", ...] = ()
    boxes: tuple["Box", ...] = ()
    links: tuple[Link, ...] = ()
    colour: "Colour | None" = None


@dataclass(frozen=True)
class Picture:
    """The whole; its origin is the upper left corner."""

    id: str
    """Begins its ids, so that pictures of different environments can stand on one page."""
    title: str
    says: str
    page: Box
