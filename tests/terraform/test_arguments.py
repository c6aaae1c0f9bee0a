"""What a resource refuses, and what it does to text."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from inferfab import terraform
from inferfab.terraform import (
    ArgumentsError,
    Expression,
    Fn,
    Lifecycle,
    TerraformOutput,
    TerraformStack,
    new_app,
    stack_backend_local,
)
from inferfab.terraform.aws import acm, ec2, eks, vpc
from inferfab.terraform.aws.provider import AwsProvider
from inferfab.terraform.builtin import TerraformData

NODE_GROUP: dict[str, Any] = {
    "cluster_name": "cell",
    "node_role_arn": "arn",
    "subnet_ids": ["subnet-1"],
    "scaling_config": {"min_size": 0, "max_size": 4, "desired_size": 0},
}


@pytest.fixture
def stack() -> TerraformStack:
    return TerraformStack(terraform.Testing.app(), "cell")


def written(stack: TerraformStack) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(terraform.Testing.synth(stack))
    return result


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"instance_type": ["p5"]}, 'no argument "instance_type"; did you mean "instance_types"?'),
        ({"cluster_name": None}, 'misses the argument "cluster_name"'),
        ({"count": 2}, '"count" is not supported: write a Python loop'),
        ({"subnet_ids": "subnet-1"}, "subnet_ids must be a list, not 'subnet-1'"),
        ({"subnet_ids": {"subnet-1"}}, "subnet_ids must be a list, not {'subnet-1'}"),
        ({"subnet_ids": [1]}, "subnet_ids[0] must be a text, not 1"),
        ({"labels": {"gpu": True}}, "labels.gpu must be a text, not True"),
        ({"disk_size": "200"}, "disk_size must be a number, not '200'"),
        ({"force_update_version": "true"}, "force_update_version must be True or False, not 'true'"),
        ({"update_config": [{"max_unavailable": 1}]}, "update_config must be a block (a mapping), not"),
        (
            {"update_config": {"update_stategy": "MINIMAL"}},
            'update_config has no argument "update_stategy"; did you mean "update_strategy"?',
        ),
        ({"taint": [{"key": "gpu"}]}, 'taint[0] misses the argument "effect"'),
        (
            {"lifecycle": Lifecycle(ignore_changes=["scaling_conf[0].desired_size"])},
            'lifecycle.ignore_changes names no argument: "scaling_conf"; did you mean "scaling_config"?',
        ),
        ({"moved_from": "aws_vpc.old"}, 'moved_from "aws_vpc.old" is not the address of an aws_eks_node_group'),
    ],
)
def test_wrong_arguments_are_refused_by_name(stack: TerraformStack, change: dict[str, Any], problem: str) -> None:
    with pytest.raises(ArgumentsError) as refused:
        eks.EksNodeGroup(stack, "prefill", **{**NODE_GROUP, **change})
    assert str(refused.value).startswith(f'EksNodeGroup "cell/prefill": {problem}')
    assert len(refused.value.problems) == 1


def test_all_problems_are_reported_at_once(stack: TerraformStack) -> None:
    with pytest.raises(ArgumentsError) as refused:
        vpc.Subnet(stack, "a", cidr="10.0.0.0/24", map_public_ip_on_launch=1)
    assert refused.value.problems == (
        'no argument "cidr"; did you mean "cidr_block"?',
        'misses the argument "vpc_id"',
        "map_public_ip_on_launch must be True or False, not 1",
    )


def test_a_data_source_has_no_lifecycle(stack: TerraformStack) -> None:
    with pytest.raises(ArgumentsError, match='no argument "lifecycle"'):
        vpc.DataVpc(stack, "existing", id="vpc-1", lifecycle=Lifecycle())


def test_nothing_is_left_behind_by_a_refused_resource(stack: TerraformStack) -> None:
    with pytest.raises(ArgumentsError):
        vpc.Vpc(stack, "v", cidr="10.0.0.0/16")
    vpc.Vpc(stack, "v", cidr_block="10.0.0.0/16")
    assert list(written(stack)["resource"]["aws_vpc"]) == ["v"]


def test_arguments_of_none_are_left_out(stack: TerraformStack) -> None:
    ec2.PlacementGroup(stack, "p", name="p", strategy="cluster", spread_level=None)
    group = written(stack)["resource"]["aws_placement_group"]["p"]
    assert {key for key in group if key != "//"} == {"name", "strategy"}


def test_references_of_every_kind_are_taken_where_they_fit(stack: TerraformStack) -> None:
    zones = ec2.DataAvailabilityZones(stack, "zones")
    template = ec2.LaunchTemplate(stack, "t", name="t")
    certificate = acm.AcmCertificate(stack, "c", domain_name="chat.example.com")
    TerraformData(
        stack,
        "d",
        input={
            "list": zones.names,
            "text": template.latest_version,
            "of_a_set": certificate.validation_record_name,
            "truth": certificate.pending_renewal,
        },
    )
    eks.EksAccessEntry(stack, "e", cluster_name="c", principal_arn=template.arn, kubernetes_groups=zones.names)
    resources = written(stack)["resource"]
    assert resources["terraform_data"]["d"]["input"] == {
        "list": "${data.aws_availability_zones.zones.names}",
        "text": "${aws_launch_template.t.latest_version}",
        "of_a_set": "${one(aws_acm_certificate.c.domain_validation_options[*].resource_record_name)}",
        "truth": "${aws_acm_certificate.c.pending_renewal}",
    }
    assert resources["aws_eks_access_entry"]["e"]["kubernetes_groups"] == "${data.aws_availability_zones.zones.names}"


def test_a_resource_in_place_of_its_id_is_refused_with_the_remedy(stack: TerraformStack) -> None:
    network = vpc.Vpc(stack, "v", cidr_block="10.0.0.0/16")
    with pytest.raises(ArgumentsError, match=r"vpc_id must be a text, not the aws_vpc itself; .* such as \.id"):
        vpc.Subnet(stack, "s", vpc_id=network)


def test_numbers_and_mappings_of_other_resources_are_references_too(stack: TerraformStack) -> None:
    offering = ec2.DataEc2CapacityBlockOffering(
        stack, "o", capacity_duration_hours=24, instance_count=1, instance_type="p5"
    )
    parameters = {
        "disk_size": offering.get_number_attribute("instance_count"),
        "tags": offering.get_string_map_attribute("t"),
    }
    eks.EksNodeGroup(stack, "n", **{**NODE_GROUP, **parameters}, ami_type=f"x{parameters['disk_size']}")
    group = written(stack)["resource"]["aws_eks_node_group"]["n"]
    assert group["disk_size"] == "${data.aws_ec2_capacity_block_offering.o.instance_count}"
    assert group["tags"] == "${data.aws_ec2_capacity_block_offering.o.t}"
    assert group["ami_type"] == "x${data.aws_ec2_capacity_block_offering.o.instance_count}"


def test_an_expression_is_passed_on_as_it_stands(stack: TerraformStack) -> None:
    TerraformData(stack, "d", input=[Expression("${terraform.workspace}"), "${terraform.workspace}"])
    assert written(stack)["resource"]["terraform_data"]["d"]["input"] == [
        "${terraform.workspace}",
        "$${terraform.workspace}",
    ]


def test_a_second_provider_is_chosen_by_its_alias(stack: TerraformStack) -> None:
    AwsProvider(stack, "aws", region="eu-west-1", default_tags=[{"tags": {"ManagedBy": "inferfab"}}])
    virginia = AwsProvider(stack, "us-east-1", region="us-east-1", alias="virginia")
    acm.AcmCertificate(stack, "c", domain_name="chat.example.com", provider=virginia)
    result = written(stack)
    assert result["provider"]["aws"] == [
        {"region": "eu-west-1", "default_tags": [{"tags": {"ManagedBy": "inferfab"}}]},
        {"region": "us-east-1", "alias": "virginia"},
    ]
    assert result["resource"]["aws_acm_certificate"]["c"]["provider"] == "aws.virginia"


def test_moved_blocks_need_no_terraform_at_synthesis(tmp_path: Path) -> None:
    code = (
        "import sys; from inferfab.terraform import *; from inferfab.terraform.builtin import TerraformData\n"
        "app = new_app(sys.argv[1]); stack = TerraformStack(app, 's'); stack_backend_local(stack, 's.tfstate')\n"
        "for name in 'ab': TerraformData(stack, name, moved_from=f'terraform_data.old_{name}')\n"
        "app.synth()"
    )
    node = os.environ["JSII_NODE"]
    environment = {**os.environ, "PATH": str(tmp_path), "JSII_NODE": shutil.which(node) or node}
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, env=environment)
    stack = json.loads((tmp_path / "stacks" / "s" / "cdk.tf.json").read_text())
    assert stack["moved"] == [
        {"from": "terraform_data.old_a", "to": "terraform_data.a"},
        {"from": "terraform_data.old_b", "to": "terraform_data.b"},
    ]
    assert stack["terraform"]["backend"] == {"local": {"path": "s.tfstate"}}


TEXTS = [
    "${x}",
    "$${x}",
    "$$${x}",
    "%{if}",
    "%%{if}",
    "$",
    "100% {x}",
    "a$b{c}",
    "arn:aws:iam::*:user/${aws:username}",
    '"quoted" \\ and \n ${"x"}',
]


def test_terraform_reads_every_text_as_it_was_written(tmp_path: Path) -> None:
    """Applied for real: ``terraform_data`` needs no provider."""
    terraform = shutil.which("terraform") or shutil.which("tofu")
    if terraform is None:
        pytest.skip("neither terraform nor tofu is on this machine")
    app = new_app(str(tmp_path))
    stack = TerraformStack(app, "s")
    stack_backend_local(stack, "s.tfstate")
    other = TerraformData(stack, "other", input="one")
    texts = [*TEXTS, f"${other.output}", f"$${other.output}", "$${x}" + other.output + "${y}"]
    data = TerraformData(
        stack,
        "data",
        input={"texts": texts, "${key}": Fn.join(",", ["${x}", other.output])},
        lifecycle=Lifecycle(replace_triggered_by=[other], ignore_changes=["triggers_replace"]),
        depends_on=[other],
        moved_from="terraform_data.before",
    )
    TerraformOutput(stack, "o", value=data.output)
    app.synth()
    folder = tmp_path / "stacks" / "s"
    environment = {**os.environ, "CHECKPOINT_DISABLE": "1", "TF_CLI_CONFIG_FILE": os.devnull}
    for command in (["init", "-input=false"], ["apply", "-auto-approve", "-input=false"]):
        subprocess.run([terraform, *command], check=True, cwd=folder, env=environment, capture_output=True)
    output = subprocess.run(
        [terraform, "output", "-json", "o"], check=True, cwd=folder, env=environment, capture_output=True, text=True
    )
    assert json.loads(output.stdout) == {
        "texts": [*TEXTS, "$one", "$$one", "$${x}one${y}"],
        "${key}": "${x},one",
    }


@pytest.mark.slow
def test_mypy_refuses_what_terraform_would(tmp_path: Path) -> None:
    snippet = tmp_path / "snippet.py"
    snippet.write_text(
        "from inferfab.terraform import TerraformStack\n"
        "from inferfab.terraform.aws import ec2\n"
        "def good(stack: TerraformStack) -> str:\n"
        "    return ec2.LaunchTemplate(stack, 'x', network_interfaces=[{'device_index': 0}]).arn\n"
        "def bad(stack: TerraformStack) -> None:\n"
        "    ec2.LaunchTemplate(stack, 'x', network_interfaces=[{'device_indx': 0}])\n"
        "    ec2.LaunchTemplate(stack, 'x', image='ami')\n"
        "    ec2.PlacementGroup(stack, 'x', name='p')\n"
    )
    source = Path(__file__).resolve().parents[2] / "constructs"
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--explicit-package-bases", str(snippet)],
        env={**os.environ, "MYPYPATH": str(source)},
        cwd=source.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = sorted({line.split(":")[1] for line in run.stdout.splitlines() if f"{snippet.name}:" in line})
    assert lines == ["6", "7", "8"], run.stdout
