"""Nothing secret of a plan is printed, in any format, wherever a plan can hold it."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferfab.review.masking import SENSITIVE, UNKNOWN_VALUE, changed_paths, masked
from review.conftest import Run
from review.plans import change, plan, report_of, written
from strategies import cheap

WORD = "hunter2"


class Planted:
    """Hands out secrets that differ, so that a test can say which one got out."""

    def __init__(self) -> None:
        self.words: list[str] = []

    def __call__(self, where: str) -> str:
        self.words.append(f"{WORD}-{len(self.words)}-{where}")
        return self.words[-1]


def leaking_plan(secret: Planted) -> dict[str, Any]:
    """A plan with a secret in every place that can hold one."""
    group = {"instance_types": ["p5.48xlarge"], "scaling_config": [{"min_size": 1, "desired_size": 1, "max_size": 2}]}
    marked = change(
        "aws_db_instance.marked", "update",
        {"password": secret("before"), "tags": {secret("key-before"): "x"}, "list": [{"v": secret("list-before")}]},
        {"password": secret("after"), "tags": {secret("key-after"): "x"}, "list": [{"v": secret("list-after")}]},
        before_sensitive={"password": True, "tags": True, "list": [{"v": True}]},
        after_sensitive={"password": True, "tags": True, "list": [{"v": True}]},
    )  # fmt: skip
    whole = change(
        "aws_eks_node_group.whole", "update",
        {**group, "labels": {"inferfab/pool": secret("whole-before")}},
        {**group, "labels": {"inferfab/pool": secret("whole-after")}},
        before_sensitive=True, after_sensitive=True,
    )  # fmt: skip
    one_side = change(
        "aws_eks_node_group.one-side", "update",
        {**group, "instance_types": [secret("unmarked-side")], "labels": {"inferfab/pool": secret("label")}},
        {**group, "labels": {"inferfab/pool": secret("label-after")}},
        before_sensitive={}, after_sensitive={"instance_types": True, "labels": True},
    )  # fmt: skip
    cidr = change(
        "aws_security_group.s", "create", None,
        {"ingress": [{"cidr_blocks": [secret("cidr")], "description": secret("description")}]},
        after_sensitive={"ingress": True},
    )  # fmt: skip
    policy = change(
        "aws_iam_policy.p", "create", None,
        {"policy": json.dumps({"Statement": {"Effect": "Allow", "Action": f"{secret('action')}:*", "Resource": "*"}})},
        after_sensitive={"policy": True},
    )  # fmt: skip
    user_data = change(
        "aws_instance.i", "delete create",
        {"instance_type": "p5.4xlarge", "user_data": secret("user-data-before"), "user_data_base64": secret("base64")},
        {"instance_type": "p5.4xlarge", "user_data": secret("user-data-after"), "user_data_base64": secret("base64-2")},
        replace_paths=[["user_data"], ["tags", secret("replace-path")]],
        after_sensitive={"tags": True},
    )  # fmt: skip
    template = change(
        "aws_launch_template.t", "update",
        {"id": "lt-1", "instance_type": "p5.4xlarge", "user_data": secret("template")},
        {"id": "lt-1", "instance_type": "p5.4xlarge", "user_data": secret("template-after")},
    )  # fmt: skip
    manifest = change(
        "kubectl_manifest.m", "create", None,
        {"yaml_body": f"kind: NodePool\napiVersion: karpenter.sh/v1\nmetadata: {{name: {secret('yaml')}}}"},
        after_sensitive={"yaml_body": True},
    )  # fmt: skip
    release = change(
        "helm_release.r", "update",
        {"values": [secret("values-before")], "set": [{"name": "a", "value": secret("set")}]},
        {"values": [secret("values-after")], "set_sensitive": [{"name": "a", "value": secret("set-sensitive")}]},
    )  # fmt: skip
    machine = change(
        "aws_sagemaker_endpoint_configuration.e", "create", None,
        {"x": secret("sage"), "instance_type": "ml.p5.48xlarge"},
        after_sensitive={"x": True},
    )  # fmt: skip
    generated = change("aws_sns_topic.g", "create", None, {"name": secret("generated")})
    generated["change"] |= {
        "importing": {"id": secret("import-id"), "identity": {"a": secret("identity")}},
        "generated_config": f'password = "{secret("config")}"',
        "before_identity": {"x": secret("before-identity")},
    }
    resources = [
        {"address": "a.b", "type": "a", "name": "b", "values": {"v": secret("values")}, "sensitive_values": {"v": True}}
    ]
    block = {"type": "aws_ec2_capacity_block_offering", "values": {
        "capacity_block_offering_id": secret("offering"), "upfront_fee": secret("fee")},
        "sensitive_values": {"upfront_fee": True, "capacity_block_offering_id": True}}  # fmt: skip
    return plan(
        marked, whole, one_side, cidr, policy, user_data, template, manifest, release, machine, generated,
        variables={"password": {"value": secret("variable")}, "region": {"value": secret("region")}},
        planned_values={"outputs": {"o": {"sensitive": True, "value": secret("planned-output")}},
                        "root_module": {"resources": resources}},
        prior_state={"values": {"root_module": {"resources": [*resources, block]}}},
        output_changes={"out": {"actions": ["update"], "before": secret("output"), "after": secret("output-after"),
                                "before_sensitive": True, "after_sensitive": True},
                        "plain": {"actions": ["create"], "after": secret("plain-output"), "after_sensitive": False}},
        resource_drift=[change("aws_db_instance.d", "update", {"password": secret("drift")},
                               {"password": secret("drift-after")}, after_sensitive={"password": True})],
        deferred_changes=[{"reason": "instance_count_unknown", "resource_change": change(
            "aws_db_instance.x", "create", None, {"password": secret("deferred")},
            after_sensitive={"password": True})}],
        checks=[{"address": {"to_display": "check.c"}, "status": "fail",
                 "instances": [{"problems": [{"message": secret("check")}]}]}],
        action_invocations=[{"address": "action.a", "config_values": {"x": secret("invocation")}}],
        relevant_attributes=[{"resource": "a.b", "attribute": [secret("relevant")]}],
        configuration={
            "provider_config": {"aws": {"name": "aws", "expressions": {
                "access_key": {"constant_value": secret("access-key")},
                "region": {"constant_value": secret("provider-region")}}}},
            "root_module": {"resources": [{"type": "aws_instance", "name": "i", "expressions": {
                "user_data": {"constant_value": secret("constant")},
                "launch_template": [{"id": {"references": ["aws_launch_template.t.id"]}}]}}],
                "variables": {"password": {"default": secret("default")}}},
        },
    )  # fmt: skip


@pytest.mark.parametrize("format", ["markdown", "html", "json", "sarif"])
def test_no_format_prints_a_secret(format: str, run: Run, tmp_path: Path) -> None:
    """None of about sixty planted ones, on stdout or stderr; what holds them is named all the same."""
    secret = Planted()
    file = written(tmp_path, leaking_plan(secret))
    code, out, err = run(str(file), "--format", format)
    assert code == 4
    assert [w for w in secret.words if w in out or w in err] == []
    assert WORD not in out and WORD not in err
    assert len(secret.words) > 40
    assert "aws_instance.i" in out


def test_the_comment_prints_none(run: Run, tmp_path: Path) -> None:
    file = written(tmp_path, leaking_plan(Planted()))
    _, out, err = run(str(file), "--comment", "1", "--dry-run")
    assert WORD not in out + err


def test_a_broken_plan_prints_none(run: Run, tmp_path: Path) -> None:
    """Cut off anywhere, a plan's error message quotes nothing of it."""
    text = json.dumps(leaking_plan(Planted()))
    for part in range(1, 40):
        file = written(tmp_path, text[: len(text) * part // 40])
        code, out, err = run(str(file))
        assert code == 2
        assert WORD not in out + err


def test_a_changed_secret_shows_as_changed(run: Run, tmp_path: Path) -> None:
    """By its attribute's name, with the word sensitive; an unchanged one does not show."""
    made = change(
        "aws_db_instance.d", "update",
        {"password": "a", "kept": "k", "size": 1}, {"password": "b", "kept": "k", "size": 2},
        before_sensitive={"password": True, "kept": True}, after_sensitive={"password": True, "kept": True},
    )  # fmt: skip
    _, out, _ = run(str(written(tmp_path, plan(made))))
    assert "password (sensitive), size" in out
    assert "kept" not in out


def test_marks_of_every_shape() -> None:
    """``true``, nested objects, lists, and a set whose marks fit no member: then all of it is hidden."""
    assert masked({"a": 1}, [True]) is SENSITIVE
    assert masked({"a": {"b": 1, "c": 2}}, [{"a": {"b": True}}]) == {"a": {"b": SENSITIVE, "c": 2}}
    assert masked([1, 2], [[False, True]]) == [1, SENSITIVE]
    assert masked([1], [[False, True]]) == [SENSITIVE]
    assert masked([{"a": 1}], [{"a": True}]) == [SENSITIVE]
    assert masked({"a": None}, [], {"a": True}) == {"a": UNKNOWN_VALUE}
    assert masked({"a": 1}, [{}, False, None]) == {"a": 1}


def test_names_below_a_secret_are_not_named() -> None:
    """A map that is sensitive as a whole: its keys are secret too."""
    assert changed_paths({"m": {"k": 1}}, {"m": {"k2": 1}}, [{"m": True}]) == (("m (sensitive)",), 0)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.just("plain"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@cheap
@given(VALUES, VALUES, st.data())
def test_whatever_is_marked_is_hidden(before: Any, after: Any, data: st.DataObject) -> None:
    """Put a secret at any leaf and mark it there: it appears neither in the masked value nor in a path's name."""
    secret = "the-secret"

    def plant(value: Any) -> tuple[Any, Any]:
        if isinstance(value, dict) and value:
            key = data.draw(st.sampled_from(sorted(value)))
            inner, marks = plant(value[key])
            return {**value, key: inner}, {key: marks}
        if isinstance(value, list) and value:
            place = data.draw(st.integers(0, len(value) - 1))
            inner, marks = plant(value[place])
            listed: list[Any] = [False] * len(value)
            listed[place] = marks
            return [*value[:place], inner, *value[place + 1 :]], listed
        return data.draw(st.sampled_from([secret, {secret: secret}, [secret]])), True

    planted, marks = plant(after)
    assert secret not in repr(masked(planted, [marks]))
    paths, _ = changed_paths({"x": before}, {"x": planted}, [{"x": marks}])
    assert secret not in " ".join(paths)


PRIVATE_POOL = """
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: {0}}}
spec:
  limits: {{nvidia.com/gpu: 64}}
  template:
    metadata: {{labels: {{inferfab/pool: {0}}}}}
    spec: {{requirements: [{{key: node.kubernetes.io/instance-type, operator: In, values: [p5.48xlarge]}}]}}
"""


def test_a_copy_of_a_sensitive_text_is_counted_and_not_quoted(run: Run, tmp_path: Path) -> None:
    """The kubectl providers mark `yaml_body` and repeat it in `yaml_body_parsed`: 64 GPUs at most, and no name."""
    body = PRIVATE_POOL.format(WORD)
    values = {"yaml_body": body, "yaml_body_parsed": body}
    made = change("kubectl_manifest.m", "create", None, values, after_sensitive={"yaml_body": True})
    file = written(tmp_path, plan(made))
    for each in ("markdown", "html", "json", "sarif"):
        _, out, err = run(str(file), "--format", each)
        assert WORD not in out + err
    (stack,) = report_of(tmp_path, plan(made)).stacks
    assert next(g for g in stack.gpus if g.axis == "all").after.max.high == 64


def test_what_stands_where_a_name_belongs_is_not_printed(run: Run, tmp_path: Path) -> None:
    """IAM actions, regions and zones have a form; anything else there is somebody's mistake, perhaps a secret."""
    policy = json.dumps({"Statement": [{"Effect": "Allow", "Action": f"{WORD}/x:*", "Resource": "*"}]})
    group = {"instance_types": ["p5.48xlarge"], "scaling_config": [{"min_size": 1, "desired_size": 1, "max_size": 1}]}
    zone = {"machine_type": "a3-highgpu-8g", "zone": WORD}
    document = plan(
        change("aws_iam_policy.p", "create", None, {"policy": policy}),
        change("aws_eks_node_group.r", "create", None, {**group, "region": WORD}),
        change("aws_eks_node_group.a", "create", None, {**group, "arn": f"arn:aws:eks:{WORD}:1:x"}),
        change("aws_instance.z", "create", None, {"instance_type": "p5.48xlarge", "availability_zone": WORD}),
        change("google_compute_instance.z", "create", None, zone),
    )
    _, out, err = run(str(written(tmp_path, document)))
    assert WORD not in out + err and "every action of a service" in out


def test_a_sensitive_variable_that_looks_like_a_region(run: Run, tmp_path: Path) -> None:
    """Kept where it is not sensitive: then it is the region."""
    group = {"instance_types": ["p5.48xlarge"], "scaling_config": [{"min_size": 1, "desired_size": 1, "max_size": 1}]}
    for sensitive in (True, False):
        document = plan(change("aws_eks_node_group.g", "create", None, group))
        document["variables"] = {"where": {"value": "us-secret-7"}}
        document["configuration"] = {
            "provider_config": {"aws": {"name": "aws", "expressions": {"region": {"references": ["var.where"]}}}},
            "root_module": {"variables": {"where": {"sensitive": sensitive}}},
        }
        _, out, _ = run(str(written(tmp_path, document)))
        assert ("us-secret-7" in out) is not sensitive
