"""Steps that give the nodes of a cell another image or version."""

from collections.abc import Iterator

from inferfab.catalog.charts import charts
from inferfab.plan.autoscaling.provisioning import AUTOSCALER_REPLICAS
from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.plan.placement import NodeGroupPlan
from inferfab.upgrade.commands import (
    Resources,
    drained,
    emptied,
    folder,
    is_fixed,
    minutes,
    targets_of_groups,
    traffic_away,
    traffic_back,
)
from inferfab.upgrade.keeps import keeps
from inferfab.upgrade.steps import Step


def node_steps(
    fleet: FleetPlan, was: CellPlan, cell: CellPlan, groups: list[NodeGroupPlan], resources: Resources, edit: str
) -> Iterator[Step]:
    """The least important tier first; Capacity Blocks last, since the cell is without traffic meanwhile."""
    blocks = [group for group in groups if group.capacity.kind == "capacity_block"]
    for group in groups:
        if group not in blocks:
            yield _one_at_a_time(fleet, cell, group, resources, edit)
            edit = ""
    if blocks:
        yield from _as_a_whole(fleet, was, cell, blocks, resources, edit)


def _one_at_a_time(fleet: FleetPlan, cell: CellPlan, group: NodeGroupPlan, resources: Resources, edit: str) -> Step:
    """Beside the old node where there is capacity, in its place where there is none."""
    fixed = is_fixed(group)
    notes = []
    if group.capacity.kind == "owned":
        notes.append("owned servers: drain, reinstall and join one at a time; Terraform does not reach them")
    elif fixed:
        notes.append(
            "a reservation with exactly its machines: no surge, so each node is drained before its successor starts; "
            "blue/green has no machine to stand on"
        )
    else:
        notes.append("the new node is there before the old one is drained; that needs quota and capacity for one more")
    if not group.nodes.desired:
        notes.append("no node at the desired size: only what the autoscaler started is replaced")
    # A worker over several nodes is gone with each of them in turn: it comes back once all are there.
    return Step(
        where=cell.name,
        title=f"Nodes of {group.cloud_name} ({group.nodes.desired}, one at a time)",
        edit=edit,
        commands=() if group.capacity.kind == "owned" else (
            *((f"inferfab synth {fleet.ownership.name}",) if edit else ()),
            f"terraform -chdir={folder(fleet, cell, 'foundation')} apply"
            f"{targets_of_groups(resources, {group.cloud_name})}",
        ),
        keeps=keeps(fleet, cell, {group.name: 1}) if fixed and group.nodes.desired else (),
        minutes=minutes("cold_start", max(1, group.nodes.desired)),
        notes=tuple(notes),
    )  # fmt: skip


def _as_a_whole(
    fleet: FleetPlan, was: CellPlan, cell: CellPlan, blocks: list[NodeGroupPlan], resources: Resources, edit: str
) -> Iterator[Step]:
    """EKS asks for a desired size of 0 before it updates a group on a Capacity Block (EKS user guide).

    The autoscaler is stopped meanwhile: pods wait, and it would start nodes of the old image for them. A maximum of 0
    would stop it too, but EKS takes none below 1.
    """
    lost = {group.name: group.nodes.desired for group in blocks}
    names = [group.cloud_name for group in blocks]
    autoscaler = charts()["cluster-autoscaler"]
    scale = f"kubectl --namespace {autoscaler.namespace} scale deployment/{autoscaler.release} --replicas="
    said = ", ".join(names)
    yield traffic_away(fleet, was, lost, f"a group on a Capacity Block is empty while it is updated ({said})")
    yield Step(
        where=cell.name,
        title=f"Empty {said}, and hold the autoscaler",
        commands=(
            f"{scale}0",
            *(drained(name) for name in names),
            *(emptied(cell, group.cloud_name, group.nodes.max) for group in blocks),
            *(f"kubectl get nodes --selector eks.amazonaws.com/nodegroup={name}" for name in names),
        ),
        keeps=keeps(fleet, cell, lost),
        notes=(
            "AWS asks for a desired size of 0 before such an update; the pool is away as a whole",
            "go on when no node is left; no other pool of the cell scales while the autoscaler is held",
        ),
    )
    yield Step(
        where=cell.name,
        title=f"Nodes of {said}: the empty group gets the new image",
        edit=edit,
        commands=(
            *((f"inferfab synth {fleet.ownership.name}",) if edit else ()),
            f"terraform -chdir={folder(fleet, cell, 'foundation')} apply{targets_of_groups(resources, set(names))}",
        ),
        keeps=keeps(fleet, cell, lost),
        notes=("the block goes on being paid for, and ends when it ends",),
    )
    yield Step(
        where=cell.name,
        title="Let the autoscaler go on: it starts nodes for the pods that wait",
        commands=(
            f"{scale}{AUTOSCALER_REPLICAS}",
            *(f"kubectl get nodes --selector eks.amazonaws.com/nodegroup={name}"
              for name in names),
        ),
        keeps=keeps(fleet, cell, lost),
        minutes=minutes("cold_start", 1),
    )  # fmt: skip
    yield from traffic_back(fleet, was)
