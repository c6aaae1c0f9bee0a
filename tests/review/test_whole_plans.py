"""A plan is read whole, once, and apart from every other; what cannot be relied on is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from inferfab.review import Asked, review
from review.conftest import Run
from review.plans import change, gpus, node_group, plan, report_of, stack_of, three, written

DELETED = change("aws_eks_node_group.g", "delete", node_group("p5.48xlarge", 0, 2, 4), None)
GROUP = {"scaling_config": [{"min_size": 1, "desired_size": 1, "max_size": 1}], "launch_template": [{"version": "1"}]}


def cell(instance: str, name: str = "gpu", **group: Any) -> dict[str, Any]:
    """A stack whose group uses a template that is made with it, found by reference alone."""
    reference = {"launch_template": [{"id": {"references": ["aws_launch_template.gpu.id", "aws_launch_template.gpu"]}}]}
    resource = {"type": "aws_eks_node_group", "name": "gpu", "expressions": reference}
    made = plan(
        change("aws_launch_template.gpu", "create", None, {"name": name, "instance_type": instance}),
        change("aws_eks_node_group.gpu", "create", None, {**GROUP, **group}),
    )
    made["configuration"]["root_module"] = {"resources": [resource]}
    return made


def types(folder: Path, *documents: dict[str, Any]) -> list[list[str]]:
    """GPU types of each stack."""
    files = [written(folder, document, f"{n}.json") for n, document in enumerate(documents)]
    stacks = review(Asked(plans=files)).report.stacks
    return [[line.name for line in stack.gpus if line.axis == "type"] for stack in stacks]


def test_templates_of_one_address_in_two_plans(tmp_path: Path) -> None:
    """g6.xlarge has one L4, p5.48xlarge eight H100: each cell its own, in both orders."""
    first, second = cell("g6.xlarge"), cell("p5.48xlarge")
    assert types(tmp_path, first, second) == [["l4"], ["h100"]]
    assert types(tmp_path, second, first) == [["h100"], ["l4"]]


def test_templates_of_one_name_in_two_plans(tmp_path: Path) -> None:
    named: dict[str, Any] = {"launch_template": [{"name": "gpu"}]}
    assert types(tmp_path, cell("g6.xlarge", **named), cell("p5.48xlarge", **named)) == [["l4"], ["h100"]]


def test_templates_of_one_name_in_two_regions(tmp_path: Path) -> None:
    """Provider 6 has a region on every resource; without one, two that differ are none."""
    templates = [
        change(f"aws_launch_template.{n}", "create", None, {"name": "gpu", "instance_type": t, "region": r})
        for n, t, r in (("a", "g6.xlarge", "us-east-1"), ("b", "p5.48xlarge", "us-west-2"))
    ]
    group = {**GROUP, "launch_template": [{"name": "gpu"}], "region": "us-west-2"}
    document = plan(*templates, change("aws_eks_node_group.g", "create", None, group), region="")
    assert types(tmp_path, document) == [["h100"]]
    del group["region"]
    assert types(tmp_path, document) == [[]]


def test_a_template_of_another_stack_is_found_by_its_id(tmp_path: Path) -> None:
    """Ids of launch templates are AWS's own, and no two are alike; a name in another account means nothing."""
    template = {"id": "lt-0abc", "name": "gpu", "instance_type": "p5.48xlarge"}
    there = plan(change("aws_launch_template.t", "no-op", template, template))
    by_id = plan(change("aws_eks_node_group.g", "create", None, {**GROUP, "launch_template": [{"id": "lt-0abc"}]}))
    by_name = plan(change("aws_eks_node_group.g", "create", None, {**GROUP, "launch_template": [{"name": "gpu"}]}))
    assert types(tmp_path, there, by_id, by_name) == [[], ["h100"], []]


def test_two_plans_in_one_file_are_refused(tmp_path: Path) -> None:
    """The second would be left out; the same one twice, as a wrapper logs it, is one."""
    one, other = json.dumps(plan(DELETED)), json.dumps(plan(change("aws_sns_topic.t", "create", None, {})))
    report = report_of(tmp_path, f"{other}\n{one}\n")
    assert report.verdict.exit_code == 2 and "more than one plan" in report.stacks[0].problem
    assert report_of(tmp_path, f"{one}\nlog: {one}\n").verdict.exit_code == 4


@pytest.mark.parametrize(
    ("document", "says"),
    [
        (plan(DELETED, DELETED), "aws_eks_node_group.g is in it twice"),
        (
            {
                "format_version": "1.2",
                "planned_values": {"root_module": {"child_modules": [{"resources": [{"type": "aws_instance"}]}]}},
            },
            "no resource_changes",
        ),
        (
            plan(
                change("aws_ec2_capacity_block_offering.o", "no-op", {}, {}),
                prior_state={"values": {"root_module": {"child_modules": 5}}},
                offering="aws_ec2_capacity_block_offering",
            ),
            "`child_modules` of a module is not a list",
        ),
    ],
)
def test_what_is_no_sound_plan(document: dict[str, Any], says: str, run: Run, tmp_path: Path) -> None:
    code, _, err = run(str(written(tmp_path, document)))
    assert code == 2 and says in err and "Traceback" not in err


def test_a_part_that_stands_twice_is_refused(tmp_path: Path) -> None:
    """JSON would take the last: nothing."""
    text = json.dumps(plan(DELETED))
    report = report_of(tmp_path, text.replace('"configuration"', '"resource_changes": [], "configuration"'))
    assert report.verdict.exit_code == 2 and "twice" in report.stacks[0].problem


def test_a_review_of_no_plan_is_not_one_that_changes_nothing(run: Run, tmp_path: Path) -> None:
    saved = tmp_path / "saved.json"
    run(str(written(tmp_path, plan(DELETED))), "--format", "json", "--out", str(saved))
    saved.write_text(json.dumps({**json.loads(saved.read_text()), "stacks": []}))
    code, _, err = run(str(saved))
    assert code == 2 and "of no Terraform plan" in err


def test_a_plan_of_nothing_is_one(tmp_path: Path) -> None:
    """Terraform leaves `resource_changes` out where there are none."""
    empty = {"format_version": "1.2", "planned_values": {"root_module": {}}}
    assert report_of(tmp_path, empty).verdict.exit_code == 0


@pytest.mark.parametrize("action", ["banana", "Delete", "x\n<script>"])
def test_an_unknown_action_is_not_harmless(action: str, tmp_path: Path) -> None:
    report = report_of(tmp_path, plan(change("aws_db_instance.d", [action], {"a": 1}, None)))
    (line,) = report.stacks[0].unseen
    assert report.verdict.word == "REVIEW" and "unknown action" in line.what and "<" not in line.what


def test_what_is_forgotten_runs_on_and_costs_on(tmp_path: Path) -> None:
    """4 nodes of 8 GPUs before and after; in the place of a forgotten group a new one comes on top."""
    old, new = node_group("p5.48xlarge", 4, 4, 4), node_group("p5.48xlarge", 1, 1, 1)
    stack = stack_of(tmp_path, plan(change("aws_eks_node_group.g", "forget", old, None)))
    assert three(gpus(stack).after) == (32, 32, 32)
    cost = stack.cost("desired")
    assert cost is not None and cost.before == cost.after
    both = stack_of(tmp_path, plan(change("aws_eks_node_group.g", "create forget", old, new)))
    assert three(gpus(both).after) == (40, 40, 40)


def test_a_deposed_object_has_its_own_gpus(tmp_path: Path) -> None:
    """A left-over t3.micro beside a p5.48xlarge that stays, and the other way round."""
    large, small = {"instance_type": "p5.48xlarge"}, {"instance_type": "t3.micro"}
    for living, left_over, lost in ((large, small, 0), (small, large, 8)):
        document = plan(
            change("aws_instance.g", "no-op", living, living),
            change("aws_instance.g", "delete", left_over, None, deposed="abcd1234"),
        )
        (line,) = stack_of(tmp_path, document).destroyed
        assert line.gpus_lost.desired.low == lost


def test_terraform_data_holds_nothing(tmp_path: Path) -> None:
    """Built in, and only runs things: as null_resource, shown and without a label."""
    report = report_of(tmp_path, plan(change("terraform_data.x", "delete create", {"input": "a"}, {"input": "b"})))
    assert report.verdict.exit_code == 0 and report.stacks[0].destroyed[0].harmless


def test_a_plan_with_a_variable_named_like_our_key(tmp_path: Path) -> None:
    document = {"format_version": "1.2", "variables": {"review_version": {"value": "3"}}, "resource_changes": [DELETED]}
    assert report_of(tmp_path, document).verdict.exit_code == 4


def test_a_review_that_was_sorted_is_one(run: Run, tmp_path: Path) -> None:
    """As `jq -S` writes it: our key is not the first."""
    saved = tmp_path / "saved.json"
    run(str(written(tmp_path, plan(DELETED))), "--format", "json", "--out", str(saved))
    saved.write_text(json.dumps(json.loads(saved.read_text()), sort_keys=True))
    assert run(str(saved))[0] == 4


@pytest.mark.parametrize("fee", ["²", "-5", "1e9", "NaN", -5, float("nan"), float("inf"), True, [1]])
def test_a_fee_that_is_none_enters_no_sum(fee: Any, tmp_path: Path) -> None:
    values = {"capacity_block_offering_id": "cb-1", "upfront_fee": fee}
    block = {"type": "aws_ec2_capacity_block_offering", "values": values}
    bought = change("aws_ec2_capacity_block_reservation.r", "create", None, {"capacity_block_offering_id": "cb-1"})
    document = plan(bought, prior_state={"values": {"root_module": {"resources": [block]}}})
    assert stack_of(tmp_path, document).purchases[0].upfront_usd is None
    values["upfront_fee"] = "1234.50"
    assert stack_of(tmp_path, document).purchases[0].upfront_usd == 1234.5


@pytest.mark.parametrize("before", ['{"@level":"info","@message":"x"}\n' * 250, "2026-01-01T00:00:00Z ", "stdout | "])
def test_logs_before_the_plan(before: str, tmp_path: Path) -> None:
    """However many lines, and on the plan's own."""
    assert report_of(tmp_path, before + json.dumps(plan(DELETED))).verdict.exit_code == 4


def test_a_file_that_is_named_twice_counts_once(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = written(tmp_path, plan(DELETED))
    code, out, _ = run(file.name, str(file), f"../{tmp_path.name}/{file.name}", "--format", "json")
    assert code == 4 and [s["name"] for s in json.loads(out)["stacks"]] == ["stack"]
