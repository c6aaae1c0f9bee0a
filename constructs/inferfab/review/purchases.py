"""Commitments to pay: what a plan buys that no later plan brings back, and what it only forgets."""

from collections.abc import Mapping

from inferfab.catalog.instances import Cloud
from inferfab.catalog.plan_review import PurchaseKind, plan_review_facts
from inferfab.plan.quantities import Range
from inferfab.review.changes import ResourceChange
from inferfab.review.gpus.group import Machines, Part, gpu_group
from inferfab.review.gpus.values import Values, block, count, text
from inferfab.review.lines import Purchase
from inferfab.review.span import NOTHING, Span

WANTED = ("instance_type", "instance_count", "capacity_block_offering_id", "specific_reservation", "availability_zone")
UpfrontFees = Mapping[str, float]
"""USD by id of a Capacity Block offering, as a data source of the plan read it."""


def purchase(change: ResourceChange, stack: str, fees: UpfrontFees) -> Purchase | None:
    """None for a change that neither buys nor gives up anything."""
    kind = plan_review_facts().purchases.get(change.type)
    if kind is None or change.mode != "managed" or change.no_op:
        return None
    buys, ends = "create" in change.actions, change.destroys or change.forgets
    if not buys and not ends:
        return _resized(change, kind, stack)
    title = kind.what if buys else kind.on_delete
    values = change.after if buys else change.before
    return Purchase(
        subject=change.address,
        stack=stack,
        action="replace" if buys and ends else "buy" if buys else "forget",
        irreversible=kind.irreversible,
        what=f"{title}; {kind.on_delete}" if buys and ends else title,
        gpus=_gpus(change.type, values or {}),
        upfront_usd=fees.get(text((values or {}).get("capacity_block_offering_id"))) if buys else None,
        source=kind.source,
    )


def reserved(change: ResourceChange) -> Span:
    """GPUs that a reservation holds before a change."""
    if change.type not in plan_review_facts().purchases or change.before is None:
        return NOTHING
    return _gpus(change.type, change.before)


def _resized(change: ResourceChange, kind: PurchaseKind, stack: str) -> Purchase | None:
    """A reservation that grows in place buys the difference; one that shrinks gives it back."""
    before, after = (_gpus(change.type, side or {}).desired for side in (change.before, change.after))
    if before == after:
        return None
    buys = after.high is None or (before.high is not None and after.high > before.high)
    more, less = (after, before) if buys else (before, after)
    what = "more of" if buys else "less of"
    return Purchase(
        subject=change.address,
        stack=stack,
        action="buy" if buys else "give back",
        irreversible=kind.irreversible,
        what=f"{what} {kind.what}" + ("" if buys else f"; {kind.on_delete}"),
        gpus=_difference(more, less),
        upfront_usd=None,
        source=kind.source,
    )


def _difference(more: Range, less: Range) -> Span:
    high = None if more.high is None else more.high - less.low
    low = 0.0 if less.high is None else max(0.0, more.low - less.high)
    found = Range(low=low, high=high)
    return Span(min=found, desired=found, max=found)


def _gpus(type_: str, values: Values) -> Span:
    specific = block(values.get("specific_reservation"))
    google = block(specific.get("instance_properties"))
    name = text(values.get("instance_type")) or text(google.get("machine_type"))
    nodes = count(values.get("instance_count", specific.get("count")), Range.exact(0))
    cloud: Cloud = "gcp" if type_.startswith("google") else "aws"
    span = Span(min=nodes, desired=nodes, max=nodes)
    names = (name,) if name else ()
    group = gpu_group(Machines(kind="", cloud=cloud, names=names, parts=(Part("reservation", span),)), "")
    return group.gpus if group else NOTHING
