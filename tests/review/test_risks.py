"""What a plan destroys, buys, opens, what drifted and what is deferred."""

import json
from pathlib import Path
from typing import Any

import pytest

from inferfab.catalog.plan_review import plan_review_facts
from inferfab.plan.quantities import Range
from review.plans import change, node_group, plan, report_of, stack_of, three

GROUP = node_group("p5.48xlarge", 1, 2, 4)


def test_a_replaced_group_names_attributes_gpus_and_seconds(tmp_path: Path) -> None:
    """2 (1 to 4) nodes of 8 GPUs are away for at least one measured cold start, 966 s (kaito-project/kaito#2325)."""
    made = change(
        "aws_eks_node_group.g", "delete create", GROUP, GROUP,
        replace_paths=[["subnet_ids"], ["launch_template", 0, "id"]], action_reason="replace_because_cannot_update",
    )  # fmt: skip
    (line,) = stack_of(tmp_path, plan(made)).destroyed
    assert (line.action, line.reason) == ("replace", "it cannot be updated in place")
    assert line.because_of == ("subnet_ids", "launch_template[0].id")
    assert three(line.gpus_lost) == (8, 16, 32)
    assert line.seconds_without == Range(low=966, high=None)
    assert line.blocks


@pytest.mark.parametrize(
    ("actions", "action", "blocks", "seconds"),
    [
        ("delete", "delete", True, None),
        ("delete create", "replace", True, Range(low=966, high=None)),
        ("create delete", "replace, create first", True, Range(low=0, high=None)),
        ("forget", "forget", False, Range(low=0, high=0)),
        ("create forget", "forget", False, Range(low=0, high=0)),
        ("delete brand-new", "delete", True, None),
    ],
)
def test_every_way_to_lose_a_group(
    actions: str, action: str, blocks: bool, seconds: Range | None, tmp_path: Path
) -> None:
    """A combination that Terraform adds later is caught by its `delete`, as upstream advises."""
    after = GROUP if "create" in actions else None
    (line,) = stack_of(tmp_path, plan(change("aws_eks_node_group.g", actions, GROUP, after))).destroyed
    assert (line.action, line.blocks, line.seconds_without) == (action, blocks, seconds)


@pytest.mark.parametrize(
    ("reason", "says"),
    [
        ("replace_because_tainted", "it is tainted"),
        ("delete_because_count_index", "its index is out of range for count"),
        ("delete_because_each_key", "its key is no longer in for_each"),
        ("a_reason_of_tomorrow", "a_reason_of_tomorrow"),
        ("", "no reason is given (the whole stack may be destroyed)"),
    ],
)
def test_reasons_in_words(reason: str, says: str, tmp_path: Path) -> None:
    made = change("aws_sns_topic.t", "delete", {}, None, **({"action_reason": reason} if reason else {}))
    assert stack_of(tmp_path, plan(made)).destroyed[0].reason == says


def test_what_is_lost_besides_capacity(tmp_path: Path) -> None:
    """A bucket holds objects and no GPU; a deposed object and a harmless tag are told apart."""
    document = plan(
        change("aws_autoscaling_group_tag.t", "delete create", {}, {}),
        change("aws_s3_bucket.b", "delete", {}, None),
        change("aws_eks_node_group.g", "delete", GROUP, None, deposed="abc"),
        change("data.aws_ami.a", "delete", {}, None) | {"mode": "data"},
    )
    lines = {d.subject: d for d in stack_of(tmp_path, document).destroyed}
    assert lines["aws_s3_bucket.b"].keeps_data == "the objects of the bucket"
    assert lines["aws_s3_bucket.b"].seconds_without == Range.exact(0)
    assert not lines["aws_autoscaling_group_tag.t"].blocks
    assert lines["aws_eks_node_group.g (deposed)"].blocks
    assert len(lines) == 3


def test_rolling_and_shrinking_are_shown_and_do_not_block(tmp_path: Path) -> None:
    """A new Kubernetes version replaces nodes in turn; 2 nodes to 1 give 8 GPUs back."""
    before = {**GROUP, "version": "1.35"}
    after = {**node_group("p5.48xlarge", 1, 1, 4), "version": "1.36"}
    rolls, shrinks = stack_of(tmp_path, plan(change("aws_eks_node_group.g", "update", before, after))).destroyed
    assert (rolls.action, rolls.because_of, rolls.blocks) == ("roll nodes", ("version",), False)
    assert (shrinks.action, three(shrinks.gpus_lost), shrinks.blocks) == ("shrink", (8, 8, 8), False)


BLOCK = {"instance_type": "p5.48xlarge", "instance_count": 4, "capacity_block_offering_id": "cb-1"}


def _with_offering(*changes: dict[str, Any]) -> dict[str, Any]:
    offering = {"type": "aws_ec2_capacity_block_offering", "values": {
        "capacity_block_offering_id": "cb-1", "upfront_fee": "12345.60"}}  # fmt: skip
    return plan(*changes, prior_state={"values": {"root_module": {"child_modules": [{"resources": [offering]}]}}})


def test_a_capacity_block_is_an_irreversible_purchase(tmp_path: Path) -> None:
    """4 p5.48xlarge are 32 GPUs; the fee is what the data source of the offering read."""
    report = report_of(tmp_path, _with_offering(change("aws_ec2_capacity_block_reservation.b", "create", None, BLOCK)))
    (line,) = report.stacks[0].purchases
    assert (line.action, line.irreversible, line.upfront_usd) == ("buy", True, 12345.60)
    assert three(line.gpus) == (32, 32, 32)
    assert report.verdict.exit_code == 4 and "irreversible purchase" in report.verdict.why
    assert report.stacks[0].destroyed == ()


def test_destroying_a_block_only_forgets_it(tmp_path: Path) -> None:
    report = report_of(tmp_path, plan(change("aws_ec2_capacity_block_reservation.b", "delete", BLOCK, None)))
    (line,) = report.stacks[0].purchases
    assert line.action == "forget" and "only forgets it" in line.what


def test_an_on_demand_reservation_can_be_given_back(tmp_path: Path) -> None:
    """Growing one from 1 to 3 instances reserves 16 GPUs more; it blocks nothing."""
    more = change(
        "aws_ec2_capacity_reservation.r", "update", {**BLOCK, "instance_count": 1}, {**BLOCK, "instance_count": 3}
    )
    report = report_of(tmp_path, plan(more))
    (line,) = report.stacks[0].purchases
    assert (line.irreversible, three(line.gpus)) == (False, (16, 16, 16))
    assert (report.verdict.word, report.verdict.exit_code) == ("REVIEW", 0)


def _policy(**statement: Any) -> dict[str, Any]:
    return {"policy": json.dumps({"Statement": [{"Effect": "Allow", **statement}]})}


OPENS = [
    (
        "aws_vpc_security_group_ingress_rule.r",
        {"cidr_ipv4": "0.0.0.0/0", "ip_protocol": "tcp", "from_port": 22, "to_port": 22},
        "lets in 0.0.0.0/0, tcp 22",
    ),
    (
        "aws_security_group.g",
        {"ingress": [{"cidr_blocks": ["0.0.0.0/0"], "protocol": "-1", "from_port": 0, "to_port": 0}]},
        "lets in 0.0.0.0/0, every port and protocol",
    ),
    (
        "aws_security_group_rule.r",
        {"type": "ingress", "ipv6_cidr_blocks": ["::/0"], "protocol": "tcp", "from_port": 80, "to_port": 81},
        "lets in ::/0, tcp 80–81",
    ),
    (
        "google_compute_firewall.f",
        {"direction": "INGRESS", "source_ranges": ["0.0.0.0/0"], "allow": [{"protocol": "tcp", "ports": ["22"]}]},
        "lets in 0.0.0.0/0, tcp 22",
    ),
    (
        "aws_eks_cluster.c",
        {"vpc_config": [{"endpoint_public_access": True, "public_access_cidrs": ["0.0.0.0/0"]}]},
        "lets in 0.0.0.0/0",
    ),
    ("aws_lb.l", {"internal": False}, "the load balancer faces the internet"),
    ("aws_s3_bucket_public_access_block.b", {"block_public_policy": False}, "public policies are allowed"),
    ("aws_iam_role_policy.p", _policy(Action="*", Resource="*"), "allows * on every resource"),
    ("aws_iam_policy.p", _policy(Action=["s3:*"], Resource="*"), "allows s3:* on every resource"),
    ("aws_s3_bucket_policy.p", _policy(Action="s3:GetObject", Resource="arn:x", Principal="*"), "anybody may use it"),
    (
        "aws_sns_topic_policy.p",
        _policy(Action="sns:Publish", Resource="arn:x", Principal={"AWS": ["*"]}),
        "anybody may use it",
    ),
    (
        "aws_iam_role_policy_attachment.a",
        {"policy_arn": "arn:aws:iam::aws:policy/AdministratorAccess"},
        "grants AdministratorAccess",
    ),
    ("google_project_iam_member.m", {"role": "roles/owner"}, "grants roles/owner"),
    ("google_storage_bucket_iam_member.m", {"member": "allUsers"}, "grants allUsers"),
]
CLOSED = [
    ("aws_vpc_security_group_ingress_rule.r", {"cidr_ipv4": "10.0.0.0/8", "ip_protocol": "tcp"}),
    ("aws_vpc_security_group_egress_rule.r", {"cidr_ipv4": "0.0.0.0/0", "ip_protocol": "-1"}),
    ("aws_security_group_rule.r", {"type": "egress", "cidr_blocks": ["0.0.0.0/0"]}),
    ("aws_eks_cluster.c", {"vpc_config": [{"endpoint_public_access": False, "public_access_cidrs": ["0.0.0.0/0"]}]}),
    ("aws_lb.l", {"internal": True}),
    ("aws_iam_role_policy.p", _policy(Action=["s3:GetObject"], Resource="*")),
    ("aws_kms_key.k", _policy(Action="kms:*", Resource="*", Principal={"AWS": "arn:aws:iam::111122223333:root"})),
    ("aws_vpc_endpoint.e", _policy(Action="*", Resource="*", Principal="*")),
    ("aws_iam_role_policy_attachment.a", {"policy_arn": "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"}),
]


@pytest.mark.parametrize(("address", "values", "what"), OPENS)
def test_what_opens(address: str, values: dict[str, Any], what: str, tmp_path: Path) -> None:
    """New, or widened; what was open already does not open."""
    assert what in [o.what for o in stack_of(tmp_path, plan(change(address, "create", None, values))).opened]
    assert what in [o.what for o in stack_of(tmp_path, plan(change(address, "update", {}, values))).opened]
    same = change(address, "update", {**values, "x": 1}, values)
    assert stack_of(tmp_path, plan(same)).opened == ()
    assert stack_of(tmp_path, plan(change(address, "delete", values, None))).opened == ()


@pytest.mark.parametrize(("address", "values"), CLOSED)
def test_what_does_not(address: str, values: dict[str, Any], tmp_path: Path) -> None:
    stack = stack_of(tmp_path, plan(change(address, "create", None, values)))
    assert stack.opened == () and stack.unseen == ()


def test_an_unknown_policy_is_listed(tmp_path: Path) -> None:
    made = change("aws_iam_role_policy.p", "create", None, {}, unknown={"policy": True})
    assert [u.subject for u in stack_of(tmp_path, plan(made)).unseen] == ["aws_iam_role_policy.p"]


def test_drift_with_gpus_comes_first(tmp_path: Path) -> None:
    """Somebody scaled 2 nodes to 3 by hand: 16 GPUs then, 24 now."""
    drift = [
        change("aws_sns_topic.t", "delete", {"name": "a"}, None),
        change("aws_eks_node_group.g", "update", GROUP, node_group("p5.48xlarge", 1, 3, 4)),
    ]
    first, second = stack_of(tmp_path, plan(resource_drift=drift)).drift
    assert first.subject == "aws_eks_node_group.g" and first.gpus_before and first.gpus_after
    assert (three(first.gpus_before), three(first.gpus_after)) == ((8, 16, 32), (8, 24, 32))
    assert first.changed == ("scaling_config[0].desired_size",)
    assert second.what == "was deleted"


def test_deferred_changes_say_why(tmp_path: Path) -> None:
    deferred = [{"reason": "instance_count_unknown", "resource_change": change("aws_sns_topic.t", "create", None, {})}]
    (line,) = stack_of(tmp_path, plan(deferred_changes=deferred)).unseen
    assert "how many instances there will be is not known yet" in line.what


@pytest.mark.parametrize(("field", "value"), [("errored", True), ("complete", False)])
def test_half_a_plan_is_no_plan(field: str, value: bool, tmp_path: Path) -> None:
    report = report_of(tmp_path, plan(**{field: value}))
    assert (report.verdict.word, report.verdict.exit_code) == ("BLOCK", 2)


def test_moves_and_imports_are_told_apart(tmp_path: Path) -> None:
    moved = change("aws_sns_topic.b", "no-op", {}, {}, previous_address="aws_sns_topic.a")
    imported = change("aws_sns_topic.c", "update", {"a": 1}, {"a": 2})
    imported["change"]["importing"] = {"id": "x"}
    stack = stack_of(tmp_path, plan(moved, imported))
    assert [(u.subject, u.action, u.moved_from) for u in stack.updates] == [
        ("aws_sns_topic.b", "move", "aws_sns_topic.a"),
        ("aws_sns_topic.c", "import and update", ""),
    ]
    assert stack.counts == {"import": 1, "move": 1, "no-op": 1, "update": 1}


def test_every_reason_of_upstream_has_words() -> None:
    """The constants of hashicorp/terraform internal/command/jsonplan/plan.go @883c7221ee, copied by hand."""
    reasons = (
        "replace_because_cannot_update replace_because_tainted replace_by_request replace_by_triggers "
        "delete_because_no_resource_config delete_because_wrong_repetition delete_because_count_index "
        "delete_because_each_key delete_because_no_module delete_because_no_move_target read_because_config_unknown "
        "read_because_dependency_pending read_because_check_nested"
    )
    deferrals = (
        "unknown instance_count_unknown resource_config_unknown provider_config_unknown deferred_prereq absent_prereq"
    )
    facts = plan_review_facts()
    assert set(facts.action_reasons) == set(reasons.split())
    assert set(facts.deferral_reasons) == set(deferrals.split())
