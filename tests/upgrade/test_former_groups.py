"""Generations: the old group stays as it was made, and on fixed capacity nothing refills it."""

import json
from types import SimpleNamespace
from typing import Any, cast

import pytest
import yaml
from test_upgrade import AMI, after_of, changed, plan_of, planned, resources_of, target_of, text_of

from inferfab.checks.changes import Change, nodes_replaced
from inferfab.checks.facts import Facts
from inferfab.checks.registry import Problem
from inferfab.plan.fleet import FleetPlan
from inferfab.review.fleet_destruction import fleet_destruction

ON_DEMAND, SPOT = {"kind": "on_demand"}, {"kind": "spot"}
RESERVED = {"kind": "reservation", "id": "cr-0a1b2c3d4e5f60718"}
OTHER = {"kind": "reservation", "id": "cr-0123456789abcdef0"}
BLOCK = {"kind": "capacity_block", "id": "cr-0fedcba9876543210", "ends_at": "2027-01-31T11:30:00Z"}


def dev_with(here: dict[str, Any] | None, **pool: Any) -> FleetPlan:
    """dev, whose `chat` stands on g6e.xlarge on demand, with other fields of the pool and its place in the cell."""
    tree = yaml.safe_load(text_of("dev"))
    tree["pools"]["chat"].update(pool)
    tree["cells"]["use1-a"]["pools"]["chat"] = here
    return plan_of(json.dumps(tree))


def former(capacity: dict[str, str]) -> dict[str, Any]:
    return {"generation": 1, "instance": "g6e.xlarge", "capacity": capacity}


@pytest.mark.parametrize(
    ("made_with", "now"),
    [
        (ON_DEMAND, {"instance": "g6e.2xlarge"}),
        (ON_DEMAND, {"capacity": SPOT}),
        (ON_DEMAND, {"capacity": RESERVED}),
        (SPOT, {"capacity": ON_DEMAND}),
        (RESERVED, {"capacity": OTHER}),
        (BLOCK, {"capacity": RESERVED, "instance": "g6e.2xlarge"}),
    ],
)
def test_the_old_group_stays_as_it_was_made(made_with: dict[str, str], now: dict[str, Any]) -> None:
    """Another machine type, kind of capacity or reservation is the new group's alone: nothing of the old one rolls.

    Its launch template is byte for byte what it was; of its group only taint, minimum and version are let go.
    """
    was = dev_with(None, capacity=made_with)
    both = dev_with({"generation": 2, "former": former(made_with)}, **{"capacity": made_with, **now})
    old, new = (resources_of(plan)["dev-use1-a-foundation"] for plan in (was, both))
    (template,) = [a for a in old if a.startswith("aws_launch_template.chat_")]
    assert json.dumps(new[template]) == json.dumps(old[template])
    (group,) = [a for a in old if a.startswith("aws_eks_node_group.chat_")]
    let_go = {"taint", "scaling_config", "version"}
    assert [json.dumps({k: v for k, v in one[group].items() if k not in let_go}) for one in (new, old)] == 2 * [
        json.dumps({k: v for k, v in old[group].items() if k not in let_go})
    ]
    assert new[group]["scaling_config"] == {**old[group]["scaling_config"], "min_size": 0}
    schedules = [a for a in old if a.startswith("aws_autoscaling_schedule.chat_")]
    assert bool(schedules) == (made_with is BLOCK)
    assert all(new[a] == old[a] for a in schedules)
    # The successor is what the pool asks for now.
    (successor,) = [new[a] for a in new if a.startswith("aws_launch_template.chat-g2_")]
    assert successor["instance_type"] == now.get("instance", "g6e.xlarge")
    if made_with is SPOT:
        # The key's policy goes on naming the service that starts the old nodes.
        assert all(new[a] == old[a] for a in old if a.startswith("aws_kms_key."))


def test_the_command_states_what_the_old_group_is() -> None:
    """What it says to write is what keeps it: machine and capacity as planned now, the reservation's id with it."""
    (step,) = [s for s in planned("dev", "generation:chat").steps if s.title.startswith("New group")]
    assert step.edit == (
        "cells.use1-a.pools.chat: {generation: 2, former: {generation: 1, instance: g6e.xlarge, "
        "capacity: {kind: on_demand}}}"
    )
    tree = changed(text_of("prod"), (target_of("generation:chat-priority"),), plan_of(text_of("prod")))
    stated = [cell["pools"]["chat-priority"] for cell in tree["cells"].values() if "chat-priority" in cell["pools"]]
    assert stated
    assert all(here["former"]["capacity"]["id"] == here["capacity"]["id"] for here in stated)


def replaced(before: FleetPlan, after: FleetPlan) -> list[Problem]:
    """What IF-CHG-002 finds; of the facts it reads the plan alone."""
    return list(nodes_replaced(Change(before, cast("Facts", SimpleNamespace(fleet=after)))))


def test_what_compares_sees_the_old_group() -> None:
    """`check --against`: with `former` nothing is replaced; without it, or where it says another thing, nodes are."""
    was = dev_with(None)
    kept = dev_with({"generation": 2, "former": former(ON_DEMAND)}, instance="g6e.2xlarge")
    assert not replaced(was, kept)
    wrong = dev_with({"generation": 2, "former": former(SPOT)})
    assert [p.what for p in replaced(was, wrong) if "capacity" in p.what]
    (away,) = fleet_destruction(was, dev_with({"generation": 2}))
    assert (away.action, away.reason) == ("delete", "chat-g2 takes its place at once")
    assert not fleet_destruction(was, kept)
    assert [d.action for d in fleet_destruction(was, wrong)] == ["replace"]
    (gone,) = replaced(was, dev_with({"generation": 2}))
    assert "`chat` in use1-a is destroyed" in gone.what and "former" in gone.fix


def test_blue_green_on_reserved_machines_drains_first() -> None:
    """There is no machine for both: traffic, taint, empty, new group, old group, traffic; in this order.

    The taint is before the nodes go, alone, with the tag by which the autoscaler learns of it: else that would refill
    the old group for the pods that wait, and the new one would find no machine.
    """
    found = planned("prod", "generation:chat-priority")
    cell = found.steps[0].where
    steps = [step for step in found.steps if step.where == cell]
    words = [
        "Take the cell's traffic away",
        "Taint",
        "Empty",
        "New group",
        "Take the old group",
        "Give the cell",
        "Look",
    ]
    assert len(steps) == len(words)
    assert all(step.title.startswith(word) for step, word in zip(steps, words, strict=True))
    away, taint, empty, new = steps[:4]
    assert "exactly reserved" in away.title and away.edit.startswith(f"cells.{cell}.traffic_share: 0")
    assert away.keeps[0].tier == "priority" and away.keeps[0].left_in_cell == 0
    resources = resources_of(after_of("prod", "generation:chat-priority"))[f"prod-{cell}-foundation"]
    named = [word.removeprefix("-target=") for word in taint.commands[-1].split() if word.startswith("-target=")]
    assert all("-g2" not in address for address in named)
    groups = [resources[a]["node_group_name"] for a in named if a.startswith("aws_eks_node_group.")]
    tags = [resources[a]["tag"]["key"] for a in named if a.startswith("aws_autoscaling_group_tag.")]
    assert len(groups) == len(tags) == len(named) / 2 > 0
    assert set(tags) == {"k8s.io/cluster-autoscaler/node-template/taint/inferfab/former"}
    sizes = [c for c in empty.commands if "desiredSize=0" in c]
    assert len(sizes) == len(groups) and all(any(f"--nodegroup-name {g} " in c for c in sizes) for g in groups)
    # Drained while the nodes are there.
    drains = [i for i, command in enumerate(empty.commands) if command.startswith("kubectl drain")]
    assert min(empty.commands.index(c) for c in sizes) > max(drains)
    assert any("blue/green is impossible" in note for note in empty.notes)
    assert "-g2" in new.commands[0]


def test_a_block_is_empty_while_its_image_changes() -> None:
    """AWS wants a desired size of 0: traffic first, then the autoscaler held, or it refills; then the update."""
    found = planned("staging", f"ami={AMI}")
    fleet = plan_of(text_of("staging"))
    blocks = [g for g in fleet.node_groups if g.capacity.kind == "capacity_block"]
    assert blocks
    cell = blocks[0].cell
    steps = [step for step in found.steps if step.where == cell]
    titles = [step.title for step in steps]
    begins = ("Take the cell's traffic", "Empty", "Nodes of chat-decode, chat-prefill", "Let the autoscaler")
    at = [next(i for i, title in enumerate(titles) if title.startswith(word)) for word in begins]
    assert at == sorted(at)
    empty, update, on = (steps[i] for i in at[1:])
    assert empty.commands[0].endswith("scale deployment/cluster-autoscaler --replicas=0")
    assert on.commands[0].endswith("scale deployment/cluster-autoscaler --replicas=2")
    for group in (g for g in blocks if g.cell == cell):
        emptied = (
            f"--nodegroup-name {group.cloud_name} --scaling-config minSize=0,maxSize={group.nodes.max},desiredSize=0"
        )
        assert any(emptied in command for command in empty.commands)
        assert group.cloud_name in update.title and "-target=aws_eks_node_group" in update.commands[-1]
        tier = next(p.tier for p in fleet.pools if p.name == group.pool)
        assert not group.nodes.desired or tier in {one.tier for one in update.keeps}
    assert not any("before its successor" in note for step in steps[at[0] :] for note in step.notes)
