"""Groups on a Capacity Block are emptied before the block ends and may grow after it, and no other group is."""

from synthesized import fleet, stacks


def test_the_schedule_is_the_plans() -> None:
    """Minimum, maximum and desired 0 at the plan's time; with a maximum of 0 the autoscaler starts nothing again.

    At the block's end the bounds come back: Terraform compares those of the node group, which never changed, so
    nothing else would raise the maximum for the next block. The desired size (-1) is left alone.
    """
    plan, made = fleet("staging"), 0
    for cell in plan.cells:
        resources = stacks("staging")[f"staging-{cell.name}-foundation"]["resource"]
        schedules = resources.get("aws_autoscaling_schedule", {})
        groups = {body["node_group_name"]: key for key, body in resources["aws_eks_node_group"].items()}
        wanted = []
        for group in cell.node_groups:
            if group.capacity.kind == "capacity_block":
                asg = f"aws_eks_node_group.{groups[group.cloud_name]}.resources[0].autoscaling_groups[0].name"
                wanted.append((asg, "inferfab-before-capacity-ends", group.drains_at, 0, 0, 0))
                wanted.append((asg, "inferfab-after-capacity-ends", group.capacity.ends_at, 0, group.nodes.max, -1))
        found = [
            (
                one["autoscaling_group_name"].strip("${}"),
                one["scheduled_action_name"],
                one["start_time"],
                one["min_size"],
                one["max_size"],
                one["desired_capacity"],
            )
            for one in schedules.values()
        ]
        assert sorted(found) == sorted(wanted)
        # EC2 Auto Scaling takes no two actions of a group at one time.
        assert len({(asg, time) for asg, _, time, *_ in found}) == len(found)
        made += len(found)
    assert made
