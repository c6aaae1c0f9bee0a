"""What a Terraform plan destroys: address, action, reason, and the GPUs that go with it."""

from collections.abc import Iterator, Sequence

from inferfab.catalog.plan_review import plan_review_facts
from inferfab.plan.quantities import Range
from inferfab.review.capacity_loss import capacity_loss
from inferfab.review.changes import ResourceChange
from inferfab.review.gpus.extract import Holder
from inferfab.review.lines import Action, Destruction
from inferfab.review.span import NOTHING, Span


def destruction(change: ResourceChange, held: Sequence[Holder], stack: str) -> Iterator[Destruction]:
    """Nothing for a change that keeps the thing and its nodes."""
    if change.mode != "managed":
        return
    gpus = Span.total(h.before.gpus for h in held if h.before is not None)
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
        yield _line(change, "shrink", "fewer nodes at the desired size", (), fewer, stack)


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
    """GPUs given back, where both sizes are known."""
    lost = 0.0
    for holder in held:
        if holder.before is None:
            continue
        before = holder.before.gpus.desired
        after = holder.after.gpus.desired if holder.after else Range.exact(0.0)
        if before.known and after.known and after.low < before.low:
            lost += before.low - after.low
    return Span.exact(int(lost)) if lost else None
