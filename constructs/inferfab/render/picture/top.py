"""What stands above the regions: whose fleet it is, how large, and how each tier's requests find a cell."""

from inferfab.plan.cost import CostPlan
from inferfab.plan.fleet import FleetPlan
from inferfab.plan.tiers import TierPlan
from inferfab.render.picture.colours import Colour, tier_colours
from inferfab.render.picture.labels import by_region, dollars, monthly, plural, usd
from inferfab.render.picture.shapes import Box, Link, Rect
from inferfab.render.picture.text import Text, put, width, wrap

_LINE = 15.5
_CARD = 225.0
"""The narrowest card of a tier."""
_USERS = 118.0
_GAP = 10.0
_NARROW = 860.0
"""Below this width the figures stand under the name instead of beside it."""


def header_box(plan: FleetPlan, place: Rect) -> Box:
    """Name, owner, engine and tags; the totals as figures."""
    own, total = plan.ownership, plan.cost.total
    budget = plan.cost.budget
    figures = (
        (f"{plan.gpus.desired:,} GPUs", f"{plan.gpus.min:,} min – {plan.gpus.max:,} max"),
        (usd(total.desired), _beside_price(total)),
        (plural(len(plan.cells), "cell"), f"in {plural(len(by_region(plan)), 'region')}"),
    )
    widths = [max(width(big, "figure"), width(small, "faint")) + 20 for big, small in figures]
    stats_w = sum(widths) + _GAP * (len(figures) - 1)
    beside = place.w >= _NARROW
    limit = place.w - stats_w - 20 if beside else place.w
    about = [
        f"owner {own.owner}", f"Dynamo {plan.engine.dynamo} + vLLM {plan.engine.vllm}",
        *([f"budget {dollars(budget.usd_per_month)} a month"] if budget else []),
    ]  # fmt: skip
    lines = wrap(" · ".join(about), "plain", limit)[:2]
    tags = " · ".join(f"{key}: {value}" for key, value in own.tags.items())
    texts = [put(own.name, "title", place.x, place.y + 24, limit)]
    baseline = place.y + 45
    for line, kind in [*((line, "plain") for line in lines), *([(tags, "faint")] if tags else [])]:
        texts.append(put(line, kind, place.x, baseline, limit))
        baseline += 16
    x, y = (place.right - stats_w, place.y) if beside else (place.x, baseline - 4)
    stats = []
    for (big, small), w in zip(figures, widths, strict=True):
        stats.append(_stat(big, small, Rect(x, y, w, 56)))
        x += w + _GAP
    bottom = max(baseline - 8, stats[0].rect.bottom)
    return Box("header", Rect(place.x, place.y, place.w, bottom - place.y), "", tuple(texts), tuple(stats))


def _beside_price(total: CostPlan) -> str:
    if monthly(total.desired) == usd(total.desired):
        return "of every GPU node"  # there is nothing to say by the month
    return f"a month, {usd(total.maximum)} at max"


def _stat(big: str, small: str, rect: Rect) -> Box:
    return Box(
        "stat", rect,
        texts=(
            put(big, "figure", rect.x + 10, rect.y + 26, rect.w - 20),
            put(small, "faint", rect.x + 10, rect.y + 44, rect.w - 20),
        ),
    )  # fmt: skip


def routing_boxes(plan: FleetPlan, place: Rect) -> tuple[list[Box], list[Link]]:
    """Users on the left, and the tiers with their names, promises and colours."""
    left = place.x + _USERS + 34
    w = place.right - left
    routing = plan.routing
    words = (
        f"DNS: {routing.policy} policy, answers kept 60 s"
        if routing.domain
        else "No names in DNS: each cell answers under its own"
    )
    cards = _cards(plan, Rect(left + _GAP, place.y + 28, w - 2 * _GAP, 0))
    h = max(c.rect.bottom for c in cards) + _GAP - place.y
    panel = Box(
        "routing", Rect(left, place.y, w, h), words,
        (put(words, "plain", left + _GAP, place.y + 18, w - 2 * _GAP),), tuple(cards),
    )  # fmt: skip
    users = _users(plan, Rect(place.x, place.y, _USERS, h))
    middle = place.y + h / 2
    return [users, panel], [Link("route", ((users.rect.right, middle), (left, middle)))]


def _users(plan: FleetPlan, rect: Rect) -> Box:
    near = tuple(dict.fromkeys(trip.users_near for trip in plan.routing.round_trips))
    room = int((rect.h - 52) // _LINE)
    shown = list(near) if len(near) <= room else [*near[: room - 1], f"and {len(near) - room + 1} more"]
    first = rect.y + max(22.0, (rect.h - _LINE * (len(shown) + 1)) / 2 + 10)
    texts = [put("Users near", "role", rect.x + 10, first, rect.w - 16)]
    texts += [
        put(region.partition(":")[2] or region, "faint", rect.x + 10, first + _LINE * (n + 1), rect.w - 16)
        for n, region in enumerate(shown)
    ]
    return Box("users", rect, f"Users near {', '.join(near)}", tuple(texts))


def _cards(plan: FleetPlan, place: Rect) -> list[Box]:
    """One card a tier, in rows of one height."""
    columns = max(1, min(len(plan.tiers), int((place.w + _GAP) // (_CARD + _GAP))))
    w = (place.w - _GAP * (columns - 1)) / columns
    colours = tier_colours(plan)
    cards: list[Box] = []
    y = place.y
    for n in range(0, len(plan.tiers), columns):
        row = plan.tiers[n : n + columns]
        lines = [_lines(plan, tier, w - 26) for tier in row]
        h = 30 + _LINE * max(len(each) for each in lines)
        for i, (tier, each) in enumerate(zip(row, lines, strict=True)):
            rect = Rect(place.x + i * (w + _GAP), y, w, h)
            cards.append(_card(tier, each, colours[tier.name], rect))
        y += h + _GAP
    return cards


def _lines(plan: FleetPlan, tier: TierPlan, limit: float) -> list[tuple[str, str]]:
    """What a card says below its name: hostname, promises, availability; each with its kind of text."""
    route = next((r for r in plan.routing.routes if r.tier == tier.name), None)
    host = (route.hostname or "no hostname") if route else "no pool serves it"
    lines = [(host, "role")]
    for promise in tier.promises:
        lines += [(line, "plain") for line in wrap(str(promise), "plain", limit)]
    if not tier.promises:
        lines.append(("no latency promise", "plain"))
    target = tier.availability_target_percent
    spill = {"never": "never spills", "when_down": "spills when down", "any": "spills any time"}[tier.spill]
    available = "no availability target" if target is None else f"{target:g} % available"
    lines += [(line, "faint") for line in wrap(f"{available} · {spill}", "faint", limit)]
    return lines


def _card(tier: TierPlan, lines: list[tuple[str, str]], colour: Colour, rect: Rect) -> Box:
    x, limit = rect.x + 16, rect.w - 26
    texts: list[Text] = [put(tier.name, "heading", x, rect.y + 20, limit)]
    texts += [put(line, kind, x, rect.y + 36 + _LINE * n, limit) for n, (line, kind) in enumerate(lines)]
    return Box("tier", rect, f"Tier {tier.name}", tuple(texts), colour=colour)
