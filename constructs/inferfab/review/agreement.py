"""Whether a Terraform plan and the environment beside it speak of the same fleet.

A plan that was made from another revision of the environment reads well and is wrong.
"""

from collections.abc import Iterator, Sequence

from inferfab.plan.placement import NodeGroupPlan
from inferfab.plan.quantities import Range
from inferfab.review.lines import Unseen
from inferfab.review.pictured import Pictured
from inferfab.review.stack import GroupLine, StackReview
from inferfab.review.words import span

_DISAGREE = "plan and environment disagree"


def disagreements(stack: StackReview, fleets: Sequence[Pictured]) -> StackReview:
    """The review with a line for each of our node groups whose machine or bounds differ from the environment's."""
    planned: dict[str, list[NodeGroupPlan]] = {}
    for fleet in fleets:
        for group in fleet.after.node_groups if fleet.after else ():
            # Environments may call their cells and pools alike.
            planned.setdefault("/".join((group.cell, group.pool, group.role)), []).append(group)
    if not planned:
        return stack
    # A review of another job has said it already, of the environment that it was given.
    told = [line for line in stack.unseen if not line.what.startswith(_DISAGREE)]
    return stack.model_copy(update={"unseen": tuple(dict.fromkeys((*told, *_differs(stack, planned))))})


def _differs(stack: StackReview, planned: dict[str, list[NodeGroupPlan]]) -> Iterator[Unseen]:
    for line in stack.groups:
        groups = planned.get(line.pool, [])
        if not groups or not line.machines_after or any(_same(line, group) for group in groups):
            continue
        group = groups[0]
        bounds = f"{group.nodes.min}–{group.nodes.max} × {group.instance}"
        here = f"{span(line.nodes_after)} × {line.machines_after}"
        what = f"{_DISAGREE}: {here} in the plan, {bounds} in the environment; of one revision?"
        yield Unseen(subject=line.subject, what=what)


def _same(line: GroupLine, group: NodeGroupPlan) -> bool:
    """The desired size is the autoscaler's once the group runs; what the plan does not say differs in nothing."""
    nodes = line.nodes_after
    bounds = ((nodes.min, group.nodes.min), (nodes.max, group.nodes.max))
    machine = line.machines_after in (group.instance, "unknown machine")
    return machine and all(not here.known or here == Range.exact(there) for here, there in bounds)
