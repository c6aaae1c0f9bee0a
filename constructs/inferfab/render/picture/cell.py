"""The box of one cell: where it is, its gateways with their share of each tier, its pools."""

from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.plan.quantities import Bounds
from inferfab.render.picture.colours import Colour
from inferfab.render.picture.labels import FABRIC, gateways, monthly, percent, scaled, tier_shares
from inferfab.render.picture.pool import pool_box
from inferfab.render.picture.racks import rack_boxes
from inferfab.render.picture.shapes import Box, Rect
from inferfab.render.picture.text import pair, put, width

PAD = 10.0
POOL_WIDTH = 280.0
"""The narrowest pool whose usual texts are not shortened."""
_GAP = 9.0
_CHIP = 19.0


def cell_box(plan: FleetPlan, cell: CellPlan, colours: dict[str, Colour], place: Rect) -> Box:
    """A cell, as high as what stands in it; its pools in as many columns as there is width for."""
    x, y, w = place.x, place.y, place.w
    left, inner = x + PAD, w - 2 * PAD
    share = f"{percent(cell.traffic_share)} of traffic"
    cluster = f"existing cluster {cell.cluster}" if cell.cluster_exists else cell.cluster
    gpus = scaled(Bounds.total(g.gpus for g in cell.node_groups), "GPUs")
    texts = (
        *pair((cell.name, "heading"), (share, "plain"), left, y + 20, inner),
        *pair((f"{cell.zone} · {FABRIC[cell.fabric.kind]}", "plain"), (gpus, "plain"), left, y + 37, inner),
        *pair((cluster, "faint"), (monthly(cell.cost.desired), "faint"), left, y + 53, inner),
    )  # fmt: skip
    gateway = _gateway_box(cell, tier_shares(plan, cell), colours, Rect(left, y + 62, inner, 0))
    racks, cables = rack_boxes(cell, Rect(left, gateway.rect.bottom + _GAP, inner, 0))
    boxes = [gateway, *racks]
    columns = max(1, min(len(cell.pools), int((inner + _GAP) // (POOL_WIDTH + _GAP))))
    pool_w = (inner - _GAP * (columns - 1)) / columns
    top = boxes[-1].rect.bottom + _GAP
    for n in range(0, len(cell.pools), columns):
        row = [
            pool_box(cell, pool, colours[pool.tier], Rect(left + i * (pool_w + _GAP), top, pool_w, 0))
            for i, pool in enumerate(cell.pools[n : n + columns])
        ]
        boxes += row
        top = max(b.rect.bottom for b in row) + _GAP
    h = max(b.rect.bottom for b in boxes) + PAD - y
    return Box("cell", Rect(x, y, w, h), f"Cell {cell.name} in {cell.zone}", texts, tuple(boxes), tuple(cables))


def _gateway_box(cell: CellPlan, shares: dict[str, float], colours: dict[str, Colour], place: Rect) -> Box:
    """Gateways, and one chip for each tier with the cell's share of it."""
    words = put(gateways(cell), "role", place.x + 8, place.y + 16, place.w - 16)
    chips: list[Box] = []
    x, y = place.x + 6, place.y + 23
    for tier, share in shares.items():
        says = f"{tier} {percent(share)}"
        w = min(width(says, "faint") + 9, place.w - 12)
        if x > place.x + 6 and x + w > place.right - 6:
            x, y = place.x + 6, y + _CHIP + 4
        label = put(says, "faint", x + w / 2, y + 13.5, w - 8, anchor="middle")
        chips.append(Box("chip", Rect(x, y, w, _CHIP), texts=(label,), colour=colours[tier]))
        x += w + 3
    bottom = max([place.y + 24, *(c.rect.bottom + 8 for c in chips)])
    return Box(
        "gateway", Rect(place.x, place.y, place.w, bottom - place.y),
        f"{gateways(cell)}; on {cell.system_nodes} × {cell.system_instance} system nodes",
        texts=(words,), boxes=tuple(chips),
    )  # fmt: skip
