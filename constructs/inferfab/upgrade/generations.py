"""Steps from one generation of a pool's node groups to the next."""

import json
import re
from collections.abc import Iterator

from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.plan.placement import FORMER_TAINT, NodeGroupPlan
from inferfab.upgrade.change import former_of
from inferfab.upgrade.commands import (
    Resources,
    drained,
    emptied,
    folder,
    is_fixed,
    minutes,
    target,
    targets_of_groups,
    traffic_away,
    traffic_back,
)
from inferfab.upgrade.keeps import keeps
from inferfab.upgrade.steps import Step

_NOTHING_ELSE = (
    "`former` keeps the old group as it was made: another machine type or capacity of the pool, written now, is that "
    "of the new group alone"
)


def generation_steps(
    fleet: FleetPlan, was: CellPlan, cell: CellPlan, pool: str, resources: Resources
) -> Iterator[Step]:
    """Beside each other where there are machines for both; where there are not, one after the other.

    :param was: the cell before the change.
    """
    groups = [group for group in cell.node_groups if group.pool == pool]
    if any(is_fixed(group) for group in groups):
        yield from _one_after_the_other(fleet, was, cell, groups, resources)
    else:
        yield from _beside(fleet, was, cell, groups, resources)
    yield Step(
        where=cell.name,
        title="Take the old group away",
        edit=f"cells.{cell.name}.pools.{pool}: remove `former`",
        commands=(
            *(f"kubectl get nodes --selector eks.amazonaws.com/nodegroup={g.former_name}" for g in groups),
            f"inferfab synth {fleet.ownership.name}",
            f"terraform -chdir={folder(fleet, cell, 'foundation')} apply",
        ),
        notes=("a deleted node group is destroyed: the review of that change needs the label inferfab:allow-destroy",),
    )
    if any(is_fixed(group) for group in groups):
        yield from traffic_back(fleet, was)


def _edit(was: CellPlan, groups: list[NodeGroupPlan]) -> str:
    pool, generation = groups[0].pool, groups[0].generation
    former = re.sub(r'"([\w.-]+)"', r"\1", json.dumps(former_of(was, pool)))  # A time keeps its quotes.
    return f"cells.{was.name}.pools.{pool}: {{generation: {generation}, former: {former}}}"


def _beside(
    fleet: FleetPlan, was: CellPlan, cell: CellPlan, groups: list[NodeGroupPlan], resources: Resources
) -> Iterator[Step]:
    here = folder(fleet, cell, "foundation")
    more = sum(group.nodes.desired for group in groups)
    yield Step(
        where=cell.name,
        title=f"New group {_names(groups)} beside {_former(groups)}",
        edit=_edit(was, groups),
        commands=(
            f"inferfab synth {fleet.ownership.name}",
            f"terraform -chdir={here} apply{targets_of_groups(resources, {g.cloud_name for g in groups})}",
        ),
        minutes=minutes("cold_start", 1),
        notes=(f"{more} more nodes until the old ones are gone: quota, capacity and money", _NOTHING_ELSE),
    )
    yield Step(
        where=cell.name,
        title="Taint the old group, then move its pods, one node at a time",
        commands=(f"terraform -chdir={here} apply", *(drained(str(g.former_name)) for g in groups)),
        keeps=keeps(fleet, cell, {g.name: 1 for g in groups}),
        minutes=minutes("cold_start", max(1, *(g.nodes.desired for g in groups))),
        notes=("budgets let one pod of a component go at a time; requests in flight end first",),
    )


def _one_after_the_other(
    fleet: FleetPlan, was: CellPlan, cell: CellPlan, groups: list[NodeGroupPlan], resources: Resources
) -> Iterator[Step]:
    """The taint comes first: without it the autoscaler would refill the old group for the pods that wait."""
    here = folder(fleet, cell, "foundation")
    lost = {group.name: group.nodes.desired for group in groups}
    yield traffic_away(fleet, was, lost, f"the capacity of {groups[0].pool} is exactly reserved")
    former = {str(group.former_name) for group in groups}
    yield Step(
        where=cell.name,
        title=f"Taint {_former(groups)}: no pod goes back to it, and the autoscaler starts nothing in it",
        edit=_edit(was, groups),
        commands=(
            f"inferfab synth {fleet.ownership.name}",
            f"terraform -chdir={here} apply{targets_of_groups(resources, former)}{_taint_tags(resources, former)}",
        ),
        notes=(
            "the taint alone: the new group would find no machine yet, and its making would fail",
            "a new reservation has machines for both: write it as the pool's `capacity` here, then apply the whole "
            "stack, drain the old group, and leave out what takes traffic and nodes away",
        ),
    )
    yield Step(
        where=cell.name,
        title=f"Empty {_former(groups)}",
        commands=(
            *(drained(str(group.former_name)) for group in groups),
            *(emptied(cell, str(group.former_name), (group.former or group).nodes.max) for group in groups),
            *(f"kubectl get nodes --selector eks.amazonaws.com/nodegroup={one}" for one in sorted(former)),
        ),
        keeps=keeps(fleet, cell, lost),
        minutes=minutes("cold_start", 1),
        notes=(
            "blue/green is impossible: the machines of the old group are the new one's",
            "its pods wait for the new group; go on when no node is left",
        ),
    )
    yield Step(
        where=cell.name,
        title=f"New group {_names(groups)} on the machines that are free now",
        commands=(f"terraform -chdir={here} apply{targets_of_groups(resources, {g.cloud_name for g in groups})}",),
        keeps=keeps(fleet, cell, lost),
        minutes=minutes("cold_start", 1),
        notes=(_NOTHING_ELSE,),
    )


def _taint_tags(resources: Resources, former: set[str]) -> str:
    """Tags by which the autoscaler learns of the old groups' taint."""
    keys = [
        key for key, body in resources.get("aws_eks_node_group", {}).items() if body.get("node_group_name") in former
    ]
    return "".join(
        target("aws_autoscaling_group_tag", tag)
        for tag, body in resources.get("aws_autoscaling_group_tag", {}).items()
        if body["tag"]["key"].endswith(f"/taint/{FORMER_TAINT}")
        and any(f"aws_eks_node_group.{key}." in body["autoscaling_group_name"] for key in keys)
    )


def _names(groups: list[NodeGroupPlan]) -> str:
    return ", ".join(group.cloud_name for group in groups)


def _former(groups: list[NodeGroupPlan]) -> str:
    return ", ".join(str(group.former_name) for group in groups)
