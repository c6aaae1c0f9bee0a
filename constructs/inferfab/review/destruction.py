"""What a Terraform plan destroys: address, action, reason, and the GPUs that go with it."""

from collections.abc import Iterator, Sequence

from inferfab.catalog.plan_review import plan_review_facts
from inferfab.plan.quantities import Range
from inferfab.review.capacity_loss import capacity_loss
from inferfab.review.changes import ResourceChange
from inferfab.review.gpus.extract import Holder
from inferfab.review.gpus.group import GpuGroup
from inferfab.review.lines import Action, Destruction
from inferfab.review.span import NOTHING, Span


def destruction(
    change: ResourceChange, held: Sequence[Holder], stack: str, reserved: Span = NOTHING
) -> Iterator[Destruction]:
    """Nothing for a change that keeps the thing and its nodes; ``reserved`` are GPUs that it keeps for others."""
    if change.mode != "managed":
        return
    gpus = Span.total(h.before.gpus for h in held if h.before is not None).plus(reserved)
    action = _action(change)
    if action is not None:
        yield _line(change, action, _reason(change), change.replace_paths, gpus, stack)
        return
    if not held or "update" not in change.actions:
        return
    rolled = _rolls(change)
    if rolled and gpus != NOTHING:
        yield _line(change, "roll nodes", "its nodes are replaced one after another", rolled, gpus, stack)
    fewer = _fewer(held)
    if fewer is not None:
        known = fewer.desired.known
        why = "fewer nodes at the desired size" if known else "fewer nodes than it may hold now; how many is not known"
        yield _line(change, "shrink", why, (), fewer, stack)


def _action(change: ResourceChange) -> Action | None:
    if change.destroys:
        if "create" not in change.actions:
            return "delete"
        return "replace, create first" if change.actions.index("create") < change.actions.index("delete") else "replace"
    return "forget" if change.forgets else None


def _reason(change: ResourceChange) -> str:
    words = plan_review_facts().action_reasons.get(change.reason, change.reason)
    if change.deposed:
        return "left over from a replacement that failed half-way"
    if not words:
        return (
            "no reason is given (the whole stack may be destroyed)"
            if _action(change) == "delete"
            else "no reason is given"
        )
    return words


def _line(
    change: ResourceChange, action: Action, reason: str, because: tuple[str, ...], gpus: Span, stack: str
) -> Destruction:
    facts = plan_review_facts()
    loss = capacity_loss(action)
    none = gpus == NOTHING
    return Destruction(
        subject=f"{change.address} (deposed)" if change.deposed else change.address,
        stack=stack,
        basis="terraform plan",
        action=action,
        reason=reason,
        because_of=because,
        gpus_lost=gpus,
        seconds_without=Range.exact(0.0) if none else loss.seconds_without,
        seconds_basis="holds no GPU" if none else loss.basis,
        keeps_data=facts.holds.get(change.type, "") if action not in ("forget", "roll nodes", "shrink") else "",
        harmless=change.type in facts.harmless,
    )


def _rolls(change: ResourceChange) -> tuple[str, ...]:
    rule = plan_review_facts().rolls_nodes.get(change.type)
    if rule is None or (rule.only_with and not (change.after or {}).get(rule.only_with)):
        return ()
    tops = {path: path.split(".", 1)[0].split("[", 1)[0].split(" ", 1)[0] for path in change.changed}
    return tuple(path for path, top in tops.items() if top in rule.attributes)


def _fewer(held: Sequence[Holder]) -> Span | None:
    """GPUs given back: certainly, or as far as bounds say where a size is computed."""
    found = [fewer for h in held if h.before is not None and (fewer := _given_back(h.before, h.after)) is not None]
    if not found:
        return None
    lost = Range.total(found)
    return Span(min=lost, desired=lost, max=lost)


def _given_back(before: GpuGroup, after: GpuGroup | None) -> Range | None:
    was, is_ = _held(before.gpus), _held(after.gpus) if after else Range.exact(0.0)
    if is_.high is None or (was.high is not None and is_.high >= was.high):
        return None
    high = None if was.high is None else was.high - is_.low
    return Range(low=max(0.0, was.low - is_.high), high=high)


def _held(gpus: Span) -> Range:
    """The desired size; of an unknown one only that it stays between the bounds."""
    if gpus.desired.high is not None:
        return gpus.desired
    return Range(low=max(gpus.desired.low, gpus.min.low), high=gpus.max.high)
