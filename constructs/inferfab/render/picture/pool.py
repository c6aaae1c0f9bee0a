"""The box of one pool: its roles, its nodes, and what the KV cache between them needs."""

from inferfab.plan.fleet import CellPlan
from inferfab.plan.placement import NodeGroupPlan
from inferfab.plan.pools import PoolPlan
from inferfab.plan.roles import RolePlan
from inferfab.render.picture.colours import Colour
from inferfab.render.picture.labels import (
    capacities,
    kv_rate,
    machines,
    parallel,
    plural,
    pool_groups,
    scaled,
    served_models,
    standing,
    usd,
)
from inferfab.render.picture.shapes import Box, Link, Rect
from inferfab.render.picture.text import Text, pair, put, wrap

_PAD = 9.0
_HEAD = 25.0
_LINE = 15.0
_ROLE = 39.0
_LINK = 25.0


def pool_box(cell: CellPlan, pool: PoolPlan, colour: Colour, place: Rect) -> Box:
    """A pool, as high as what stands in it."""
    x, y, w = place.x, place.y, place.w
    groups = pool_groups(cell, pool)
    price = f"{pool.tier} · {usd(pool.cost.desired)}"
    head = Box(
        "pool-head", Rect(x, y, w, _HEAD), colour=colour,
        texts=pair(
            (pool.name, "strong"), (price, "faint"), x + _PAD, y + 17, w - 2 * _PAD
        ),
    )  # fmt: skip
    about = put(
        f"{served_models(pool)} · {pool.topology} · {capacities(groups)}",
        "plain", x + _PAD, y + _HEAD + 15, w - 2 * _PAD,
    )  # fmt: skip
    inside = Rect(x + _PAD, y + _HEAD + 22, w - 2 * _PAD, 0)
    if pool.shared:
        boxes = [_shared_box(pool, groups[0], inside)]
        texts: list[Text] = []
        links: list[Link] = []
    else:
        boxes, texts, links = _roles(pool, groups, inside)
    h = max(b.rect.bottom for b in boxes) + _PAD - y
    return Box(
        "pool", Rect(x, y, w, h),
        f"Pool {pool.name} in {cell.name}: tier {pool.tier}, {', '.join(pool.models)}",
        texts=(about, *texts), boxes=(head, *boxes), links=tuple(links), colour=colour,
    )  # fmt: skip


def _roles(pool: PoolPlan, groups: tuple[NodeGroupPlan, ...], inside: Rect) -> tuple[list[Box], list[Text], list[Link]]:
    """One box a role, prefill above decode with the link between them."""
    boxes: list[Box] = []
    texts: list[Text] = []
    links: list[Link] = []
    y = inside.y
    for role in pool.roles:
        if boxes and pool.kv_transfer:
            broken = not pool.kv_transfer.keeps_budget
            at, kind = inside.x + 20, "broken" if broken else "faint"
            limit = inside.right - at - 12
            lines = wrap(f"KV cache: {kv_rate(pool.kv_transfer)}", kind, limit)
            texts += [put(line, kind, at + 12, y + 16 + n * _LINE, limit) for n, line in enumerate(lines)]
            end = y + _LINK + (len(lines) - 1) * _LINE
            links.append(Link("kv-broken" if broken else "kv", ((at, y), (at, end))))
            y = end
        elif boxes:
            y += 6
        group = next(g for g in groups if g.name == role.node_group)
        boxes.append(_role_box(role, group, Rect(inside.x, y, inside.w, _ROLE)))
        y += _ROLE
    return boxes, texts, links


def _role_box(role: RolePlan, group: NodeGroupPlan, rect: Rect) -> Box:
    workers = f"{scaled(role.workers)} × {parallel(role.parallelism)}"
    gpus = scaled(group.gpus, "GPUs")
    idle = f", of them {group.idle_gpus} idle at the desired size" if group.idle_gpus else ""
    return Box(
        "role", rect,
        f"{role.role}: {workers} workers, {gpus}{idle}, {machines(group)} nodes, node group {group.name}",
        texts=(
            *pair((role.role, "role"), (gpus, "plain"), rect.x + 8, rect.y + 16, rect.w - 16),
            *pair((workers, "plain"), (machines(group), "faint"), rect.x + 8, rect.y + 31, rect.w - 16),
        ),
    )  # fmt: skip


def _shared_box(pool: PoolPlan, group: NodeGroupPlan, inside: Rect) -> Box:
    """The nodes of a shared pool and the instances of each model on them."""
    shared = pool.shared
    assert shared is not None
    x, y, w = inside.x + 8, inside.y, inside.w - 16
    sleeping = f"sleep: {shared.packing.total:,} resident, {shared.awake_at_once:,} awake"
    mode = "MIG slices" if shared.mode == "mig" else sleeping
    texts = [
        *pair((mode, "role"), (scaled(group.gpus, "GPUs"), "plain"), x, y + 16, w),
        put(machines(group), "faint", x + w, y + 31, w, anchor="end"),
    ]
    baseline = y + 31
    for each in shared.instances:
        baseline += _LINE
        missing = shared.packing.unserved.get(each.model, 0)
        texts += pair((each.model, "plain"), (standing(shared, each), "faint"), x, baseline, w)
        if missing:
            baseline += _LINE
            texts.append(put(f"{missing:,} more without a place", "broken", x + w, baseline, w, anchor="end"))
    if shared.unplanned:
        baseline += _LINE
        texts.append(put(f"not packed: {shared.unplanned}", "broken", x, baseline, w))
    return Box(
        "role", Rect(inside.x, y, inside.w, baseline + 8 - y),
        f"{plural(len(shared.instances), 'model')} on {machines(group)} nodes, node group {group.name}",
        texts=tuple(texts),
    )  # fmt: skip
