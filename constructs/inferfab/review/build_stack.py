"""From a Terraform plan to its review."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from inferfab.catalog.plan_review import plan_review_facts
from inferfab.plan.cost import Money
from inferfab.plan.quantities import Range
from inferfab.review import openings as opening
from inferfab.review.changes import ACTIONS, ResourceChange
from inferfab.review.destruction import destruction
from inferfab.review.gpus.extract import Holder, holders
from inferfab.review.gpus.group import GpuGroup
from inferfab.review.gpus.templates import Templates
from inferfab.review.lines import Axis, Destruction, GpuLine, MoneyLine, Opening, Unseen
from inferfab.review.money import Overlay, cost, price_lines
from inferfab.review.purchases import purchase, reserved
from inferfab.review.span import NOTHING, Span
from inferfab.review.stack import DriftLine, GroupLine, StackReview, UpdateLine
from inferfab.review.terraform_plan import TerraformPlan

TierOf = Callable[[GpuGroup], str]
"""Tier of a group's pool; empty where no environment says it."""
_WORD = re.compile(r"[A-Za-z_-]{1,32}")


def stack_review(plan: TerraformPlan, templates: Templates, overlay: Overlay, tier_of: TierOf) -> StackReview:
    """Review one plan; ``templates`` are its own, and lead to those of the other plans."""
    found: list[Holder] = []
    by_address: dict[str, list[Holder]] = {}
    for change in plan.changes:
        for holder in holders(change, templates, plan.configuration.region):
            found.append(holder)
            by_address.setdefault(change.address, []).append(holder)
    found = _once(found)
    unseen = list(_unseen(plan, found))
    opened = []
    for change in plan.changes:
        for one in opening.openings(change, plan.name):
            if isinstance(one, Opening):
                opened.append(one)
            else:
                unseen.append(one)
    destroyed: list[Destruction] = []
    for change in plan.changes:
        held = by_address.get(change.address, [])
        if change.deposed:
            # Its own machines, not those of the living object at its address.
            held = list(holders(replace(change, deposed=False), templates, plan.configuration.region))
        destroyed += destruction(change, held, plan.name, reserved(change))
    groups = [g for h in found for g in (h.before, h.after) if g is not None]
    return StackReview(
        name=plan.name,
        file=plan.file,
        incomplete=_incomplete(plan),
        terraform_version=plan.terraform_version,
        format_version=plan.format_version,
        planned_at=plan.planned_at,
        counts=dict(sorted(_counts(plan.changes).items())),
        gpus=tuple(_gpu_lines(found, tier_of)),
        groups=tuple(map(_group_line, found_with_gpus(found))),
        money=tuple(_money_lines(found, overlay, tier_of)),
        prices=price_lines(groups, overlay),
        destroyed=tuple(sorted(destroyed, key=_worst_first)),
        purchases=tuple(p for p in (purchase(c, plan.name, plan.upfront_fees) for c in plan.changes) if p),
        opened=tuple(opened),
        drift=tuple(_drift(plan, templates)),
        updates=tuple(_updates(plan.changes)),
        outputs_changed=tuple(sorted(plan.outputs_changed)),
        failed_checks=tuple(plan.failed_checks),
        invocations=plan.invocations,
        unseen=tuple(unseen),
    )


def _once(found: list[Holder]) -> list[Holder]:
    """A GKE cluster's state also lists the pools that are resources of their own."""
    own = {
        side.get("name")
        for h in found
        if h.change.type == "google_container_node_pool"
        for side in (h.change.before, h.change.after)
        if side
    }
    return [h for h in found if h.change.type != "google_container_cluster" or h.name not in own]


def found_with_gpus(found: Iterable[Holder]) -> list[Holder]:
    return [h for h in found if h.before is not None or h.after is not None]


def _incomplete(plan: TerraformPlan) -> str:
    if plan.errored:
        return "planning ended in an error: the plan holds only what was planned until then"
    if not plan.complete:
        return "the plan does not cover everything (-target, or deferred changes): plan again after applying it"
    return ""


def _counts(changes: Iterable[ResourceChange]) -> Counter[str]:
    found: Counter[str] = Counter()
    for change in changes:
        if change.mode != "managed" and change.actions != ("read",):
            continue
        found[_kind(change)] += 1
        found["import"] += change.imported
        found["move"] += bool(change.moved_from and change.moved_from != change.address)
    return Counter({k: n for k, n in found.items() if n})


def _kind(change: ResourceChange) -> str:
    if change.destroys:
        return "replace" if "create" in change.actions else "delete"
    if change.forgets:
        return "forget"
    return change.actions[0] if len(change.actions) == 1 else "+".join(change.actions)


def _worst_first(line: Destruction) -> tuple[bool, bool, float, bool, str]:
    return (line.harmless, not line.blocks, -line.gpus_lost.max.low, not line.keeps_data, line.subject)


_NAMES: tuple[tuple[Axis, Callable[[GpuGroup, TierOf], str]], ...] = (
    ("all", lambda g, tier: "all"),
    ("type", lambda g, tier: g.gpu),
    ("tier", lambda g, tier: tier(g) or "not said"),
    ("role", lambda g, tier: g.role or "not said"),
    ("region", lambda g, tier: f"{g.cloud}:{g.region}" if g.region else f"{g.cloud}: region not seen"),
    ("capacity", lambda g, tier: g.capacity),
)


def _gpu_lines(found: list[Holder], tier_of: TierOf) -> Iterator[GpuLine]:
    for axis, name_of in _NAMES:
        sums: dict[str, list[Span]] = {}
        for holder in found:
            for side, group in enumerate((holder.before, holder.after)):
                if group is not None:
                    both = sums.setdefault(name_of(group, tier_of), [NOTHING, NOTHING])
                    both[side] = both[side].plus(group.gpus)
        for name in sorted(sums):
            yield GpuLine(axis=axis, name=name, before=sums[name][0], after=sums[name][1])


def _money_lines(found: list[Holder], overlay: Overlay, tier_of: TierOf) -> Iterator[MoneyLine]:
    """Desired and max, of all and of each tier that an environment names."""
    nothing = Money.hourly(Range.exact(0.0))
    sums: dict[str, list[list[Money]]] = {}
    for holder in found:
        for side, group in enumerate((holder.before, holder.after)):
            if group is None:
                continue
            tier = tier_of(group)
            for scope in ("all", f"tier {tier}") if tier else ("all",):
                rows = sums.setdefault(scope, [[nothing, nothing], [nothing, nothing]])
                for size, money in enumerate(cost(group, overlay)):
                    rows[size][side] = Money.total((rows[size][side], money))
    for scope, rows in sums.items():
        yield MoneyLine(scope=scope, size="desired", before=rows[0][0], after=rows[0][1])
        yield MoneyLine(scope=scope, size="max", before=rows[1][0], after=rows[1][1])


def _group_line(holder: Holder) -> GroupLine:
    before, after = holder.before, holder.after
    here = after or before
    assert here is not None
    return GroupLine(
        subject=holder.subject,
        kind=here.kind,
        pool="/".join(filter(None, (here.cell, here.pool, here.role))),
        machines_before=_machines(before),
        machines_after=_machines(after),
        nodes_before=before.nodes if before else NOTHING,
        nodes_after=after.nodes if after else NOTHING,
        gpus_before=before.gpus if before else NOTHING,
        gpus_after=after.gpus if after else NOTHING,
        capacity_before=before.capacity if before else "",
        capacity_after=after.capacity if after else "",
    )


def _machines(group: GpuGroup | None) -> str:
    if group is None:
        return ""
    shown = ", ".join(group.machines[:3]) or "unknown machine"
    return f"{shown} and {len(group.machines) - 3} more" if len(group.machines) > 3 else shown


def _drift(plan: TerraformPlan, templates: Templates) -> Iterator[DriftLine]:
    """Those with GPUs first: somebody scaled by hand."""
    lines = []
    for change in plan.drift:
        held = [h for h in holders(change, templates, plan.configuration.region) if h.before or h.after]
        lines.append(
            DriftLine(
                subject=change.address,
                what="was deleted" if change.destroys else "was changed",
                changed=change.changed,
                more_changed=change.more_changed,
                gpus_before=Span.total(h.before.gpus for h in held if h.before) if held else None,
                gpus_after=Span.total(h.after.gpus for h in held if h.after) if held else None,
            )
        )
    yield from sorted(lines, key=lambda d: (d.gpus_before is None, d.what != "was deleted", d.subject))


def _updates(changes: Iterable[ResourceChange]) -> Iterator[UpdateLine]:
    for change in changes:
        if change.mode != "managed":
            continue
        moved = change.moved_from if change.moved_from != change.address else ""
        if change.no_op and not moved and not change.imported:
            continue
        action = "move" if change.no_op and moved else "import" if change.no_op else _kind(change)
        yield UpdateLine(
            subject=change.address,
            action=f"import and {action}" if change.imported and action not in ("import",) else action,
            changed=change.changed,
            more_changed=change.more_changed,
            moved_from=moved,
        )


def _unseen(plan: TerraformPlan, found: list[Holder]) -> Iterator[Unseen]:
    reasons = plan_review_facts().deferral_reasons
    for change, reason in plan.deferred:
        yield Unseen(subject=change.address, what=f"deferred: {reasons.get(reason, reason or 'no reason is given')}")
    for change in plan.changes:
        for action in change.actions:
            if action not in ACTIONS:
                shown = f"`{action}`" if _WORD.fullmatch(action) else "of a name that is none"
                yield Unseen(subject=change.address, what=f"an unknown action, {shown}: what it does is not known")
    for holder in found:
        for note in holder.unseen:
            yield Unseen(subject=holder.subject, what=note)
    for address, machine in plan.not_understood:
        yield Unseen(
            subject=address,
            what=f"names {machine}, which has accelerators; the review does not count resources of this type",
        )
    for holder in found:
        group = holder.after
        if group is not None and not holder.change.no_op and not group.gpus.known and not holder.unseen:
            yield Unseen(
                subject=holder.subject, what="the number of GPUs is a range: a count is known only after apply"
            )
    if plan.invocations:
        yield Unseen(
            subject=plan.name, what=f"{plan.invocations} provider action(s) run; what they do is not in a plan"
        )
