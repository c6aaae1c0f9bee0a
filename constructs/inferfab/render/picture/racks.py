"""Owned racks in the picture: leaves with their link speeds above, racks with NICs and gateways below."""

from collections import Counter
from typing import TypeVar

from inferfab.catalog.nics import nics
from inferfab.plan.fleet import CellPlan
from inferfab.plan.racks.leaves import LeafPlan
from inferfab.plan.racks.racks import RackPlan, RacksPlan
from inferfab.render.picture.labels import plural
from inferfab.render.picture.shapes import Box, Link, Rect
from inferfab.render.picture.text import pair, put

T = TypeVar("T")
_GAP = 9.0
_CABLES = 20.0
"""Between leaves and racks, for the lines."""
_LEAF = 190.0
_RACK = 200.0
"""The narrowest whose usual texts are not shortened."""
_LEAF_HEIGHT, _RACK_HEIGHT = 53.0, 83.0


def rack_boxes(cell: CellPlan, place: Rect) -> tuple[list[Box], list[Link]]:
    """Leaves and racks below ``place.y``; none for a cell without racks."""
    racks = cell.racks
    if racks is None:
        return [], []
    leaves = [_leaf(leaf, rect) for leaf, rect in _grid(racks.leaves, place, place.y, _LEAF, _LEAF_HEIGHT)]
    y = leaves[-1].rect.bottom + _CABLES
    made = [_rack(cell, racks, rack, rect) for rack, rect in _grid(racks.racks, place, y, _RACK, _RACK_HEIGHT)]
    upper = [box for box in made if box.rect.y == y]
    links = [
        Link("rail", ((x, leaves[-1].rect.bottom), (x, y)), arrow=False)
        for box in upper
        for x in (box.rect.x + box.rect.w * part / 4 for part in (1, 3))
    ]
    return [*leaves, *made], links


def _grid(items: tuple[T, ...], place: Rect, y: float, least: float, h: float) -> list[tuple[T, Rect]]:
    """In as many columns as there is width for, all rows as even as they can be."""
    most = max(1, int((place.w + _GAP) // (least + _GAP)))
    rows = -(-len(items) // most)
    columns = -(-len(items) // rows)
    w = (place.w - _GAP * (columns - 1)) / columns
    return [
        (item, Rect(place.x + n % columns * (w + _GAP), y + n // columns * (h + _GAP), w, h))
        for n, item in enumerate(items)
    ]


def _ports(leaf: LeafPlan, kind: str) -> str:
    """``32 × 400G``"""
    counts = Counter(port.gbps for port in leaf.ports if port.kind == kind)
    return ", ".join(f"{count} × {gbps}G" for gbps, count in sorted(counts.items(), reverse=True)) or "none"


def _leaf(leaf: LeafPlan, rect: Rect) -> Box:
    ratio = f"{leaf.oversubscription:.3g} : 1" if leaf.oversubscription else "no uplinks"
    x, w = rect.x + 8, rect.w - 16
    return Box(
        "leaf", rect,
        f"Leaf {leaf.name}, {leaf.hwsku}: {_ports(leaf, 'server')} to servers, {_ports(leaf, 'uplink')} up",
        texts=(
            *pair((leaf.name, "role"), (leaf.hwsku, "faint"), x, rect.y + 16, w),
            put(f"{_ports(leaf, 'server')} to servers", "plain", x, rect.y + 31, w),
            *pair((f"{_ports(leaf, 'uplink')} up", "plain"), (ratio, "faint"), x, rect.y + 46, w),
        ),
    )  # fmt: skip


def _rack(cell: CellPlan, racks: RacksPlan, rack: RackPlan, rect: Rect) -> Box:
    x, w = rect.x + 8, rect.w - 16
    groups = {g.name: f"{g.pool} {g.role}" for g in cell.node_groups}
    mine = [server for server in racks.servers if server.rack == rack.name]
    held = Counter(groups.get(server.node_group or "", "idle") for server in mine)
    holds = ", ".join(f"{name} {count}" for name, count in held.items())
    nic = f"{len(racks.rails)} × {racks.nic_gbps:g}G {nics()[racks.nic].title}"
    spill = f"spills to {rack.spills_to[0]}" if rack.spills_to else "spills nowhere"
    return Box(
        "rack", rect, f"Rack {rack.name} on {', '.join(rack.leaves)}: {holds}; {spill}",
        texts=(
            *pair((rack.name, "role"), (plural(rack.gateways, "gateway"), "plain"), x, rect.y + 16, w),
            put(f"{len(rack.servers)} × {racks.machine}", "plain", x, rect.y + 31, w),
            put(f"{nic} each", "plain", x, rect.y + 46, w),
            put(holds, "faint", x, rect.y + 61, w),
            put(spill, "faint", x, rect.y + 76, w),
        ),
    )  # fmt: skip
