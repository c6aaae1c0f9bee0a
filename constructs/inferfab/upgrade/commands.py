"""What steps have in common: folders, addresses, times, and a cell without traffic."""

from typing import Any

from inferfab.catalog.upgrade_times import upgrade_times
from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.plan.placement import NodeGroupPlan
from inferfab.plan.quantities import Range
from inferfab.upgrade.keeps import keeps
from inferfab.upgrade.steps import Step

OUT = "cdktf.out"
Resources = dict[str, dict[str, Any]]
"""Resources of one stack by type and name."""


def folder(fleet: FleetPlan, cell: CellPlan, part: str) -> str:
    return f"{OUT}/stacks/{fleet.ownership.name}-{cell.name}-{part}"


def target(kind: str, key: str) -> str:
    return f" -target={kind}.{key}"


def targets_of_groups(resources: Resources, names: set[str]) -> str:
    """The node groups of these names in the cloud."""
    return "".join(
        target("aws_eks_node_group", key)
        for key, body in resources.get("aws_eks_node_group", {}).items()
        if body.get("node_group_name") in names
    )


def minutes(row: str, times: int = 1) -> Range:
    found = upgrade_times()[row]
    return Range(low=found.low_minutes * times, high=found.high_minutes * times)


def is_fixed(group: NodeGroupPlan) -> bool:
    """Whether there are exactly so many machines."""
    return group.capacity.kind in ("reservation", "capacity_block", "owned")


def drained(group: str) -> str:
    """Moves the pods of a node group away."""
    return (
        "kubectl drain --ignore-daemonsets --delete-emptydir-data --timeout=45m "
        f"--selector eks.amazonaws.com/nodegroup={group}"
    )


def emptied(cell: CellPlan, name: str, most: int) -> str:
    """Takes the nodes of a group away; its bounds stay, but for the least."""
    return (
        f"aws eks update-nodegroup-config --cluster-name {cell.cluster} --region {cell.region} "
        f"--nodegroup-name {name} --scaling-config minSize=0,maxSize={most},desiredSize=0"
    )


def traffic_away(fleet: FleetPlan, cell: CellPlan, lost_nodes: dict[str, int], why: str) -> Step:
    """No name in DNS leads to the cell any more."""
    name = fleet.ownership.name
    alone = len(fleet.cells) == 1
    return Step(
        where=cell.name,
        title=f"Take the cell's traffic away: {why}",
        edit="" if alone else f"cells.{cell.name}.traffic_share: 0 (what the others state has to add up to 1)",
        commands=() if alone else (f"inferfab synth {name}", f"terraform -chdir={OUT}/stacks/{name}-global apply"),
        keeps=keeps(fleet, cell, lost_nodes),
        notes=("it is the only cell: its tiers answer nothing meanwhile, so tell who asks",)
        if alone
        else ("or by hand to another cell, where the tier spills; wait until gateways here are idle",),
    )


def traffic_back(fleet: FleetPlan, cell: CellPlan) -> tuple[Step, ...]:
    """As it was before :func:`traffic_away`."""
    if len(fleet.cells) == 1:
        return ()
    name = fleet.ownership.name
    return (
        Step(
            where=cell.name,
            title="Give the cell its traffic back",
            edit=f"cells.{cell.name}.traffic_share: as it was ({cell.traffic_share:g})",
            commands=(
                f"inferfab verify {name} --cell {cell.name}",
                f"inferfab synth {name}",
                f"terraform -chdir={OUT}/stacks/{name}-global apply",
            ),
        ),
    )
