"""Regions as containers, their cells in rows, and the lines that traffic takes to them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.plan.quantities import Bounds
from inferfab.render.picture.cell import cell_box
from inferfab.render.picture.colours import tier_colours
from inferfab.render.picture.labels import by_region, percent, plural, scaled
from inferfab.render.picture.shapes import Box, Link, Rect
from inferfab.render.picture.text import put

_PAD = 10.0
_GAP = 12.0
_HEAD = 30.0
_BUS = 34.0
"""Between rows of regions, for the line that feeds the lower one."""
GUTTER = 18.0
"""Left of all regions when there is more than one row of them: the line down."""


@dataclass(frozen=True)
class _Region:
    cloud: str
    name: str
    cells: tuple[CellPlan, ...]
    columns: int


def region_boxes(plan: FleetPlan, place: Rect, columns: int) -> tuple[list[Box], list[Link]]:
    """All regions below ``place.y``, ``columns`` cells wide, and the traffic that comes to the middle of its
    upper edge."""
    rows = _rows(plan, columns)
    if len(rows) > 1:
        place = Rect(place.x + GUTTER, place.y, place.w - GUTTER, 0)
    boxes: list[Box] = []
    links: list[Link] = []
    y, above = place.y + _BUS, place.y
    for n, row in enumerate(rows):
        made = _row_of_regions(plan, row, place, y)
        boxes += made
        feed = (place.x + place.w / 2, above) if n == 0 else None
        links += _bus(made, y - _BUS / 2, feed, place.x - GUTTER if len(rows) > 1 else None)
        if n:
            down = place.x - GUTTER
            links.append(Link("route", ((down, above - _BUS / 2), (down, y - _BUS / 2)), arrow=False))
        above = y
        y = max(b.rect.bottom for b in made) + _BUS
    return boxes, links


def _rows(plan: FleetPlan, columns: int) -> list[list[_Region]]:
    """Regions in the order of the file, side by side while there are columns left."""
    rows: list[list[_Region]] = []
    free = 0
    for (cloud, name), cells in by_region(plan).items():
        region = _Region(cloud, name, cells, min(len(cells), columns))
        if region.columns > free:
            rows.append([])
            free = columns
        rows[-1].append(region)
        free -= region.columns
    return rows


def _row_of_regions(plan: FleetPlan, row: list[_Region], place: Rect, y: float) -> list[Box]:
    """Regions of one height; together they take the whole width."""
    each = (place.w - _GAP * (len(row) - 1)) / sum(r.columns for r in row)
    x = place.x
    made = []
    for region in row:
        w = each * region.columns
        made.append(_region_box(plan, region, Rect(x, y, w, 0)))
        x += w + _GAP
    tallest = max(b.rect.h for b in made)
    return [_as_high(b, tallest) for b in made]


def _region_box(plan: FleetPlan, region: _Region, place: Rect) -> Box:
    colours = tier_colours(plan)
    w = (place.w - 2 * _PAD - _GAP * (region.columns - 1)) / region.columns
    boxes: list[Box] = []
    y = place.y + _HEAD
    for n in range(0, len(region.cells), region.columns):
        row = [
            cell_box(plan, cell, colours, Rect(place.x + _PAD + i * (w + _GAP), y, w, 0))
            for i, cell in enumerate(region.cells[n : n + region.columns])
        ]
        tallest = max(b.rect.h for b in row)
        boxes += [_as_high(b, tallest) for b in row]
        y += tallest + _GAP
    share = percent(sum(c.traffic_share for c in region.cells))
    gpus = scaled(Bounds.total(g.gpus for c in region.cells for g in c.node_groups), "GPUs")
    says = f"{region.name} · {plural(len(region.cells), 'cell')}, {share} of traffic, {gpus}"
    # The arrows come down on the right of each cell; the words end before the first of them.
    limit = min(place.w, w) - 2 * _PAD - _DROP
    name = put(region.name, "heading", place.x + _PAD, place.y + 20, limit)
    rest = put(
        f"{region.cloud} · {share} of traffic", "faint", name.rect.right + 8, place.y + 20,
        place.x + _PAD + limit - name.rect.right,
    )  # fmt: skip
    return Box("region", Rect(place.x, place.y, place.w, y - _GAP + _PAD - place.y), says, (name, rest), tuple(boxes))


def _as_high(box: Box, h: float) -> Box:
    """The same box, higher; what stands in it stays where it is."""
    higher = replace(box, rect=replace(box.rect, h=h))
    if box.kind != "region" or not box.boxes:
        return higher
    # A region with one row of cells hands its height on, so that cells side by side end alike.
    if len({b.rect.y for b in box.boxes}) > 1:
        return higher
    return replace(higher, boxes=tuple(_as_high(b, b.rect.h + h - box.rect.h) for b in box.boxes))


_DROP = 34.0


def _bus(row: Sequence[Box], y: float, feed: tuple[float, float] | None, trunk: float | None) -> list[Link]:
    """A horizontal line above a row of regions, fed from above or from the left, with an arrow to each cell;
    to the region as a whole where its cells stand in several rows."""
    ends: list[tuple[float, float]] = []
    for region in row:
        one_row = len({b.rect.y for b in region.boxes}) == 1
        targets = region.boxes if one_row else (region,)
        ends += [(b.rect.right - _DROP, b.rect.y) for b in targets]
    if feed and len(ends) == 1:
        feed = (ends[0][0], feed[1])  # straight down
    xs = [x for x, _ in ends] + ([feed[0]] if feed else []) + ([trunk] if trunk is not None else [])
    links = [Link("route", ((min(xs), y), (max(xs), y)), arrow=False)] if min(xs) < max(xs) else []
    if feed:
        links.append(Link("route", (feed, (feed[0], y)), arrow=False))
    return links + [Link("route", ((x, y), (x, end))) for x, end in ends]
