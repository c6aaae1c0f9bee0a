"""Groups on a Capacity Block are emptied before the block ends, and no other group is."""

from synthesized import fleet, stacks


def test_the_schedule_is_the_plans() -> None:
    """Minimum, maximum and desired 0 at the plan's time; with a maximum of 0 the autoscaler starts nothing again."""
    plan, made = fleet("staging"), 0
    for cell in plan.cells:
        resources = stacks("staging")[f"staging-{cell.name}-foundation"]["resource"]
        schedules = resources.get("aws_autoscaling_schedule", {})
        times = sorted(group.drains_at for group in cell.node_groups if group.drains_at)
        assert sorted(one["start_time"] for one in schedules.values()) == times
        for one in schedules.values():
            made += 1
            assert (one["min_size"], one["max_size"], one["desired_capacity"]) == (0, 0, 0)
            assert "aws_eks_node_group." in one["autoscaling_group_name"]
    assert made
