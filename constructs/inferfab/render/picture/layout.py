"""Where everything in the picture stands. Pure geometry: the plan decided what there is."""

from inferfab.plan.fleet import FleetPlan
from inferfab.render.picture.labels import by_region, summary
from inferfab.render.picture.regions import region_boxes
from inferfab.render.picture.shapes import Box, Link, Picture, Rect
from inferfab.render.picture.text import put, width
from inferfab.render.picture.top import header_box, routing_boxes

_MARGIN = 18.0
_COLUMN = 328.0
"""A cell with its part of margins and gaps: three make a picture 1,000 px wide, a README's width."""
_NARROWEST = 2
_USUAL = 3
_WIDEST = 10
_TALLEST = 1.8
"""Times its width; a large fleet gets further columns instead of a longer strip."""
_COLOURS = "one colour a tier"
_WORKERS = "4 (2–8) × TP4: workers desired (min–max) × GPUs a worker"
_KEY = (
    ("kv", "KV cache transfer"),
    ("kv-broken", "too slow for the TTFT promise"),
    ("route", "requests"),
    ("rail", "rails: a server's RDMA NICs to the leaves"),
    ("", _COLOURS),
    ("", _WORKERS),
)


def lay_out(plan: FleetPlan) -> Picture:
    """The narrowest picture that is not a strip."""
    cells = len(plan.cells)
    columns = min(_USUAL, max(_NARROWEST, cells))
    page = _page(plan, columns)
    while page.rect.h > _TALLEST * page.rect.w and columns < min(_WIDEST, cells):
        columns += 1
        page = _page(plan, columns)
    return Picture(f"fleet-{plan.ownership.name}", f"Inference fleet {plan.ownership.name}", summary(plan), page)


def _page(plan: FleetPlan, columns: int) -> Box:
    w = 16 + columns * _COLUMN
    place = Rect(_MARGIN, _MARGIN, w - 2 * _MARGIN, 0)
    header = header_box(plan, place)
    top, arrows = routing_boxes(plan, _below(place, header.rect.bottom + 14))
    widest = max(len(cells) for cells in by_region(plan).values())
    # No more columns than there are cells beside each other: a lone cell then takes the whole width.
    side_by_side = min(columns, max(widest, len(plan.cells)))
    regions, routes = region_boxes(plan, _below(place, max(b.rect.bottom for b in top)), side_by_side)
    shown = _shown_in((*top, *regions), (*arrows, *routes))
    key = _key_box(plan, shown, _below(place, max(b.rect.bottom for b in regions) + 10))
    return Box(
        "page", Rect(0, 0, w, key.rect.bottom + _MARGIN - 6), "",
        boxes=(header, *top, *regions, key), links=(*arrows, *routes),
    )  # fmt: skip


def _below(place: Rect, y: float) -> Rect:
    return Rect(place.x, y, place.w, 0)


def _shown_in(boxes: tuple[Box, ...], links: tuple[Link, ...]) -> set[str]:
    """Kinds of lines that are drawn."""
    kinds = {link.kind for link in links}
    for box in boxes:
        kinds |= _shown_in(box.boxes, box.links)
    return kinds


def _key_box(plan: FleetPlan, shown: set[str], place: Rect) -> Box:
    """What the lines and the numbers mean, of those that are in the picture; in as many rows as the width asks for."""
    told = {kind: kind in shown for kind, _ in _KEY if kind}
    told |= {_COLOURS: len(plan.tiers) > 1, _WORKERS: any(p.roles for p in plan.pools)}
    texts, links = [], []
    x, baseline = place.x, place.y + 14
    for kind, words in _KEY:
        if not told[kind or words]:
            continue
        line = 34.0 if kind else 0.0
        w = line + width(words, "faint")
        if x > place.x and x + w > place.right:
            x, baseline = place.x, baseline + 18
        if kind:
            links.append(Link(kind, ((x, baseline - 4), (x + 26, baseline - 4))))
        texts.append(put(words, "faint", x + line, baseline, place.right - x - line))
        x += w + 20
    return Box("key", Rect(place.x, place.y, place.w, baseline + 6 - place.y), "", tuple(texts), links=tuple(links))
