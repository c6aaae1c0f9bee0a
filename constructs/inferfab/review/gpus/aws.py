"""GPUs on AWS: EKS node groups, autoscaling groups, instances, fleets."""

import math
from collections.abc import Callable
from typing import Any

from inferfab.plan.quantities import Range
from inferfab.review.changes import ResourceChange
from inferfab.review.gpus.group import Buys, Machines, Part
from inferfab.review.gpus.templates import Side, Templates
from inferfab.review.gpus.values import Values, block, blocks, count, hidden, place, text, texts
from inferfab.review.span import NOTHING, Span

Read = Callable[[ResourceChange, Side, Values, Templates], Machines]
_PLACE = ("region", "arn", "availability_zone", "availability_zones")
TEMPLATE = (
    "id",
    "name",
    "instance_type",
    "instance_market_options",
    "capacity_reservation_specification",
    "spot_price",
    "instance_requirements",
    "region",
)
NODE_GROUP = (
    "instance_types", "launch_template", "scaling_config", "capacity_type", "labels", "ami_type", "taint", "version",
    "release_version", *_PLACE,
)  # fmt: skip
AUTOSCALING = (
    "launch_template", "launch_configuration", "mixed_instances_policy", "min_size", "max_size", "desired_capacity",
    "instance_refresh", *_PLACE,
)  # fmt: skip
INSTANCE = (
    "instance_type", "launch_template", "instance_market_options", "capacity_reservation_specification",
    "instance_lifecycle", *_PLACE,
)  # fmt: skip
_CAPACITY_TYPES: dict[str, Buys] = {"SPOT": "spot", "CAPACITY_BLOCK": "capacity block"}
_MARKETS: dict[str, Buys] = {"spot": "spot", "capacity-block": "capacity block"}
_TARGETS: dict[str, Buys] = {"on_demand_target_capacity": "on demand", "spot_target_capacity": "spot"}
_NO_TYPE = "its machine type is not in the plan (known after apply, or in a launch template elsewhere)"
_BY_REQUIREMENTS = "machine types are chosen by requirements, which the review does not resolve"
FLEET = ("launch_template_config", "target_capacity_specification", *_PLACE)


def node_group(change: ResourceChange, side: Side, values: Values, templates: Templates) -> Machines:
    """EKS takes the machine type from the launch template if that names one, else from ``instance_types``."""
    named = block(values.get("launch_template"))
    template = (
        templates.find(change, side, (named.get("id"), named.get("name"))) if _uses(values, "launch_template") else None
    )
    of_template = text((template or {}).get("instance_type"))
    names = (of_template,) if of_template else texts(values.get("instance_types"))
    sizes = block(values.get("scaling_config"))
    nodes = Span(
        min=count(sizes.get("min_size")), desired=count(sizes.get("desired_size")), max=count(sizes.get("max_size"))
    )
    buys = _CAPACITY_TYPES.get(text(values.get("capacity_type")), _reserved(template))
    labels = values.get("labels")
    tainted = any("gpu" in text(t.get("key")) for t in blocks(values.get("taint")))
    image = text(values.get("ami_type"))
    return Machines(
        kind="EKS node group",
        cloud="aws",
        names=names,
        parts=(Part(buys, nodes),),
        labels={k: v for k, v in labels.items() if isinstance(v, str)} if isinstance(labels, dict) else {},
        certainly_gpus=tainted or "NVIDIA" in image or "GPU" in image,
        notes=_notes(names, values, "launch_template", "instance_types"),
    )


def _uses(values: Values, name: str) -> bool:
    return bool(values.get(name))


def _notes(names: tuple[str, ...], values: Values, *asked: str) -> tuple[str, ...]:
    if names or not any(values.get(a) is not None for a in asked):
        return ()
    return (_NO_TYPE,)


def _reserved(template: Values | None) -> Buys:
    if not template:
        return "on demand"
    if block(template.get("instance_market_options")):
        kind = text(block(template.get("instance_market_options")).get("market_type"))
        return _MARKETS.get(kind, "on demand")
    if template.get("spot_price"):
        return "spot"
    spec = block(template.get("capacity_reservation_specification"))
    if block(spec.get("capacity_reservation_target")) or text(spec.get("capacity_reservation_preference")).endswith(
        "only"
    ):
        return "reservation"
    return "on demand"


def autoscaling_group(change: ResourceChange, side: Side, values: Values, templates: Templates) -> Machines:
    """Without a policy one machine type; with one, overrides with weights and a split of on-demand and spot.

    ``desired_capacity`` that is left out is computed: then anything between the bounds.
    """
    low, high = count(values.get("min_size")), count(values.get("max_size"))
    wanted = values.get("desired_capacity")
    between = Range(low=low.low, high=high.high)
    units = Span(min=low, desired=between if wanted is None or hidden(wanted) else count(wanted), max=high)
    policy = block(values.get("mixed_instances_policy"))
    if policy:
        return _mixed(change, side, policy, units, templates)
    named = block(values.get("launch_template"))
    template = templates.find(change, side, (named.get("id"), named.get("name"), values.get("launch_configuration")))
    type_ = text((template or {}).get("instance_type"))
    return Machines(
        kind="autoscaling group",
        cloud="aws",
        names=(type_,) if type_ else (),
        parts=(Part(_reserved(template), units),),
        notes=_notes((type_,) if type_ else (), values, "launch_template", "launch_configuration"),
    )


def _mixed(change: ResourceChange, side: Side, policy: Values, units: Span, templates: Templates) -> Machines:
    outer = block(policy.get("launch_template"))
    named = block(outer.get("launch_template_specification"))
    template = templates.find(change, side, (named.get("launch_template_id"), named.get("launch_template_name")))
    names: dict[str, None] = {}
    weights: list[Range] = []
    notes = []
    for override in blocks(outer.get("override")):
        if block(override.get("instance_requirements")):
            notes.append(_BY_REQUIREMENTS)
        if name := text(override.get("instance_type")):
            names[name] = None
            weights.append(count(override.get("weighted_capacity") or None, Range.exact(1)))
    if not names and (type_ := text((template or {}).get("instance_type"))):
        names[type_] = None
    if not names and (template or {}).get("instance_requirements"):
        notes.append(_BY_REQUIREMENTS)
    nodes = _by_weight(units, weights)
    spread = block(policy.get("instances_distribution"))
    base = count(spread.get("on_demand_base_capacity"), Range.exact(0))
    percent = count(spread.get("on_demand_percentage_above_base_capacity"), Range.exact(100))
    return Machines(
        kind="autoscaling group",
        cloud="aws",
        names=tuple(names),
        parts=_split(nodes, base, percent),
        unresolved=(*notes, *(() if notes else _notes(tuple(names), policy, "launch_template"))),
    )


def _by_weight(units: Span, weights: list[Range]) -> Span:
    """Capacity units to machines: a machine of weight 8 fills 8 units."""
    if not weights or all(w == Range.exact(1) for w in weights):
        return units
    least = min(max(1.0, w.low) for w in weights)
    most = None if any(w.high is None for w in weights) else max(max(1.0, w.high or 1.0) for w in weights)

    def machines(value: Range) -> Range:
        low = math.ceil(value.low / most) if most else 0
        return Range(low=low, high=None if value.high is None else math.ceil(value.high / least))

    return Span(min=machines(units.min), desired=machines(units.desired), max=machines(units.max))


def _split(nodes: Span, base: Range, percent: Range) -> tuple[Part, ...]:
    """On-demand: the base, and a percentage of the rest, rounded up (AWS rounds in favour of on demand)."""
    if percent == Range.exact(100):
        return (Part("on demand", nodes),)

    def on_demand(total: Range) -> Range:
        def one(n: float, floor: float, share: float) -> float:
            fixed = min(n, floor)
            return fixed + math.ceil((n - fixed) * min(share, 100) / 100)

        low = one(total.low, base.low, percent.low)
        if total.high is None or base.high is None or percent.high is None:
            return Range(low=low, high=total.high)
        return Range(low=low, high=one(total.high, base.high, percent.high))

    def spot(total: Range, kept: Range) -> Range:
        if total.known and kept.known:
            return Range.exact(total.low - kept.low)
        return Range(low=0, high=None if total.high is None else max(0.0, total.high - kept.low))

    fixed = Span(min=on_demand(nodes.min), desired=on_demand(nodes.desired), max=on_demand(nodes.max))
    rest = Span(
        min=spot(nodes.min, fixed.min), desired=spot(nodes.desired, fixed.desired), max=spot(nodes.max, fixed.max)
    )
    return tuple(p for p in (Part("on demand", fixed), Part("spot", rest)) if p.nodes != NOTHING)


def instance(change: ResourceChange, side: Side, values: Values, templates: Templates) -> Machines:
    """One machine; its own fields go before its launch template's."""
    named = block(values.get("launch_template"))
    template = (
        templates.find(change, side, (named.get("id"), named.get("name"))) if _uses(values, "launch_template") else None
    )
    type_ = text(values.get("instance_type")) or text((template or {}).get("instance_type"))
    spot = change.type == "aws_spot_instance_request" or text(values.get("instance_lifecycle")) == "spot"
    buys: Buys = "spot" if spot else _reserved(values)
    return Machines(
        kind="instance",
        cloud="aws",
        names=(type_,) if type_ else (),
        parts=(Part(buys if buys != "on demand" else _reserved(template), Span.exact(1)),),
        notes=_notes((type_,) if type_ else (), values, "instance_type", "launch_template"),
    )


def fleet(change: ResourceChange, side: Side, values: Values, templates: Templates) -> Machines:
    """EC2 fleet: a target and a list of machine types; the fleet picks. Without overrides the template's own."""
    names: dict[str, None] = {}
    notes: dict[str, None] = {}
    for config in blocks(values.get("launch_template_config")):
        named = block(config.get("launch_template_specification"))
        keys = (named.get("launch_template_id"), named.get("launch_template_name"))
        template = templates.find(change, side, keys) or {}
        asked = [*blocks(config.get("override")), template]
        here = [name for one in asked[:-1] if (name := text(one.get("instance_type")))]
        here = here or [name for name in (text(template.get("instance_type")),) if name]
        names.update(dict.fromkeys(here))
        if any(block(one.get("instance_requirements")) for one in asked):
            notes[_BY_REQUIREMENTS] = None
        elif not here:
            notes[_NO_TYPE] = None
    if hidden(values.get("launch_template_config")):
        notes[_NO_TYPE] = None
    target = block(values.get("target_capacity_specification"))
    total = count(target.get("total_target_capacity"))
    usual: Buys = "spot" if text(target.get("default_target_capacity_type")) == "spot" else "on demand"
    parts = []
    for key, buys in _TARGETS.items():
        nodes = count(target.get(key), Range.exact(0))
        if nodes != Range.exact(0):
            parts.append(Part(buys, Span(min=nodes, desired=nodes, max=nodes)))
    return Machines(
        kind="EC2 fleet",
        cloud="aws",
        names=tuple(names),
        parts=tuple(parts) or (Part(usual, Span(min=total, desired=total, max=total)),),
        unresolved=tuple(notes),
    )


def region_of(values: Values) -> str:
    """From the region argument of AWS provider 6, an ARN, or a zone."""
    found = place(values.get("region"))
    if found:
        return found
    arn = text(values.get("arn")).split(":")
    if len(arn) > 3 and place(arn[3]):
        return arn[3]
    zones: Any = values.get("availability_zones") or [values.get("availability_zone")]
    zone = place(next(iter(texts(zones)), ""))
    return zone.rstrip("abcdefghij") if zone[-1:].isalpha() else ""
