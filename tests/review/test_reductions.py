"""Changes that leave the count alone, and reductions whose size is computed."""

from pathlib import Path
from typing import Any

import pytest

from review.plans import change, node_group, plan, report_of, three

ASG: dict[str, Any] = {"launch_template": [{"id": "lt-1"}], "desired_capacity": None}
FIXED = {**ASG, "min_size": 2, "max_size": 2, "desired_capacity": 2, "availability_zones": ["us-east-1a"]}


def template(**more: Any) -> dict[str, Any]:
    return {"id": "lt-1", "instance_type": "p5.48xlarge", **more}


@pytest.mark.parametrize(
    ("after", "says"),
    [
        ({"instance_type": "g6e.48xlarge"}, "GPU type and cost change in stack"),
        ({"instance_market_options": [{"market_type": "spot"}]}, "capacity and cost change in stack"),
        (
            {"instance_type": "g6e.48xlarge", "instance_market_options": [{"market_type": "spot"}]},
            "GPU type, capacity and cost change in stack",
        ),
    ],
)
def test_another_choice_at_an_equal_count(after: dict[str, Any], says: str, tmp_path: Path) -> None:
    """Two machines of eight GPUs before and after: other ones, or bought otherwise."""
    made = (
        change("aws_launch_template.g", "update", template(), template(**after)),
        change("aws_autoscaling_group.a", "no-op", FIXED, FIXED),
    )
    report = report_of(tmp_path, plan(*made))
    assert report.verdict.word == "REVIEW" and says in report.verdict.why


def test_what_else_costs_is_not_claimed_to_cost_nothing(tmp_path: Path) -> None:
    made = change("aws_db_instance.big", "create", None, {"instance_class": "db.r7g.16xlarge"})
    why = report_of(tmp_path, plan(made)).verdict.why
    assert "no GPUs change" in why and "what else costs was not looked at" in why


def reservation(count: int, instance: str = "p5.48xlarge") -> dict[str, Any]:
    return {"instance_type": instance, "instance_count": count}


def test_a_reservation_that_shrinks_is_given_back(tmp_path: Path) -> None:
    """From 16 to 1 machine of 8 GPUs: 120 GPUs go back."""
    made = change("aws_ec2_capacity_reservation.r", "update", reservation(16), reservation(1))
    report = report_of(tmp_path, plan(made))
    (line,) = report.stacks[0].purchases
    assert (line.action, line.gpus.desired.low, report.verdict.word) == ("give back", 120, "REVIEW")
    more = change("aws_ec2_capacity_reservation.r", "update", reservation(1), reservation(16))
    assert report_of(tmp_path, plan(more)).stacks[0].purchases[0].action == "buy"


def test_a_replaced_reservation_loses_its_gpus(tmp_path: Path) -> None:
    made = change("aws_ec2_capacity_reservation.r", "delete create", reservation(16), reservation(1, "g6.xlarge"))
    (line,) = report_of(tmp_path, plan(made)).stacks[0].destroyed
    assert line.gpus_lost.desired.low == 128


POOL = """
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec: {limits: {nvidia.com/gpu: 64}, template: {spec: {taints: [{key: nvidia.com/gpu}]}}}
"""


@pytest.mark.parametrize(
    ("made", "lost"),
    [
        # The group decides between 4 and 16 machines of 8 GPUs; then there are none.
        (
            change(
                "aws_autoscaling_group.a",
                "update",
                {**ASG, "min_size": 4, "max_size": 16},
                {**ASG, "min_size": 0, "max_size": 0},
            ),
            (32, 128),
        ),
        (
            change(
                "aws_eks_node_group.g",
                "update",
                node_group("p5.48xlarge", 0, None, 64),  # type: ignore[arg-type]
                node_group("p5.48xlarge", 0, None, 0),  # type: ignore[arg-type]
            ),
            (0, 512),
        ),
        (change("helm_release.k", "update", {"values": [POOL]}, {"values": ["a: 1"]}), (0, 64)),
        (
            change("helm_release.k", "update", {"values": [POOL]}, {"values": [POOL.replace("64", "8")]}),
            (0, 64),
        ),
    ],
)
def test_a_computed_size_that_falls(made: dict[str, Any], lost: tuple[float, float], tmp_path: Path) -> None:
    known = change("aws_launch_template.g", "no-op", template(), template())
    report = report_of(tmp_path, plan(known, made))
    (line,) = report.stacks[0].destroyed
    assert line.action == "shrink" and three(line.gpus_lost)[1] == lost
    assert "gives nodes back" in report.verdict.why


def test_a_bound_that_falls_beside_a_known_size_gives_nothing_back(tmp_path: Path) -> None:
    made = change(
        "aws_eks_node_group.g", "update", node_group("p5.48xlarge", 0, 2, 64), node_group("p5.48xlarge", 0, 2, 4)
    )
    assert report_of(tmp_path, plan(made)).stacks[0].destroyed == ()
