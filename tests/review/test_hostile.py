"""Whatever a file holds: an answer or one clear refusal, and nothing heavy is loaded for it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inferfab.render.review.markdown import markdown
from inferfab.review import Asked, BadPlan, review
from inferfab.review.decode import decoded
from inferfab.review.gpus import HOLDERS, WANTED
from inferfab.review.plan_file import find_plan
from inferfab.review.terraform_plan import wanted_attributes
from review.plans import change, plan, written
from review.test_markdown import checked
from strategies import cheap

TEXTS = st.sampled_from(["", "p5.48xlarge", "0.0.0.0/0", "::/0", "lt-1", "SPOT", "In", "*", "|`<b>", "us-east-1", "3"])
KEYS = st.sampled_from(sorted({n for names in wanted_attributes().values() for n in names} | {
    "min_size", "desired_size", "max_size", "id", "instance_type", "machine_type", "override", "spec", "template",
    "requirements", "key", "operator", "values", "limits", "nvidia.com/gpu", "kind", "apiVersion", "cidr_blocks",
    "type", "count", "launch_template_specification", "instances_distribution", "on_demand_base_capacity",
    "weighted_capacity",
}))  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 9) | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
TYPES = st.sampled_from(sorted({*HOLDERS, *WANTED, *wanted_attributes()}))
CHANGES = st.builds(
    lambda type_, actions, before, after, unknown, marks: change(
        f"{type_}.x", actions, before, after, unknown=unknown, before_sensitive=marks, after_sensitive=marks
    ),
    TYPES,
    st.sampled_from(["create", "update", "delete", "delete create", "create delete", "no-op", "forget", "read"]),
    VALUES, VALUES, VALUES, VALUES,
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hostile")


@settings(cheap, max_examples=150)
@given(changes=st.lists(CHANGES, min_size=1, max_size=3))
def test_any_values_give_a_report(folder: Path, changes: list[dict[str, Any]]) -> None:
    """Values of any shape under the attributes that are looked at, of the types that are looked at."""
    for number, one in enumerate(changes):
        one["address"] += f"[{number}]"
    report = review(Asked(plans=[written(folder, plan(*changes, resource_drift=changes))])).report
    assert report.stacks[0].problem == ""
    checked(markdown(report))


@cheap
@given(st.binary(max_size=300) | st.text(max_size=200).map(str.encode))
def test_any_bytes_are_a_plan_or_refused(data: bytes) -> None:
    with pytest.raises(BadPlan):
        find_plan(decoded(data))


@cheap
@given(st.integers(0, 400))
def test_a_plan_cut_anywhere_is_refused(place: int) -> None:
    text = json.dumps(plan(change("aws_sns_topic.t", "create", None, {"a": [1, {"b": "c"}]})))
    with pytest.raises(BadPlan):
        find_plan(text[: min(place, len(text) - 1)])


LAUGHS = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(97 + n + 1)}: &{chr(97 + n + 1)} [{','.join([f'*{chr(97 + n)}'] * 9)}]\n" for n in range(9)
)


def test_yaml_that_explodes_is_walked_for_a_while_only(tmp_path: Path) -> None:
    """Nine to the ninth members behind aliases."""
    text = f"kind: NodePool\napiVersion: karpenter.sh/v1\n---\n{LAUGHS}"
    made = change("kubectl_manifest.m", "create", None, {"yaml_body": text})
    report = review(Asked(plans=[written(tmp_path, plan(made))])).report
    assert report.verdict.exit_code == 0


def test_a_deep_module_and_a_wide_configuration(tmp_path: Path) -> None:
    """Modules in modules, and an expression with very many references."""
    module: dict[str, Any] = {}
    for n in range(200):
        module = {"module_calls": {f"m{n}": {"module": module}}}
    references = {"references": [f"aws_launch_template.t{n}.id" for n in range(20_000)]}
    resource = {"type": "aws_instance", "name": "i", "expressions": {"launch_template": [{"id": references}]}}
    document = plan(change("aws_instance.i", "create", None, {"launch_template": [{}]}))
    document["configuration"]["root_module"] = {**module, "resources": [resource]}
    report = review(Asked(plans=[written(tmp_path, document)])).report
    assert report.stacks[0].problem == "" and report.stacks[0].counts == {"create": 1}


def test_nothing_heavy_is_loaded() -> None:
    """A review works without Terraform's engine, a cloud's library, or Rich."""
    code = (
        "import sys, inferfab.review, inferfab.review.github\n"
        "import inferfab.render.review.markdown, inferfab.render.review.sarif\n"
        "print(sorted({'cdktf', 'jsii', 'boto3', 'constructs', 'rich', 'requests', 'jinja2'} & set(sys.modules)))"
    )
    done = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
