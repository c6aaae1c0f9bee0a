"""checkov finds nothing in the network that has no reason beside it; and the harness would notice if it did."""

from pathlib import Path
from typing import Any

import pytest

from aws.checkov import Finding, NothingScannedError, scan
from aws.synth_net import stack_json
from aws.test_network import existing, spec
from aws.test_security_groups import balancer, balancer_spec, inference, inference_spec
from inferfab.aws.existing_network import ExistingNetwork
from inferfab.aws.inference_security_group import InferenceSecurityGroup
from inferfab.aws.load_balancer_security_group import LoadBalancerSecurityGroup
from inferfab.aws.network import CellNetwork
from inferfab.terraform import TerraformStack, recorded_skips, skip_check
from inferfab.terraform.aws.cloudwatch import CloudwatchLogGroup
from inferfab.terraform.aws.vpc import SecurityGroup, Vpc, VpcSecurityGroupIngressRule

KEY = "arn:aws:kms:us-east-1:111122223333:key/5b9ae1f2-0c7d-4c6e-9a51-2f6f0d1f7a11"


def whole_cell(stack: TerraformStack) -> None:
    """A cell's network and groups in one stack, as they are deployed."""
    network = CellNetwork(stack, "network", spec(flow_log_key_arn=KEY))
    InferenceSecurityGroup(stack, "inference-group", inference_spec(vpc_id=network.vpc_id))
    LoadBalancerSecurityGroup(stack, "load-balancer-group", balancer_spec(vpc_id=network.vpc_id))


@pytest.mark.slow
def test_nothing_fails_without_a_reason(tmp_path: Path) -> None:
    """Every variant of the network, in one run."""
    asked = {"endpoints": ("sts",), "region": "us-east-1"}
    stacks = {
        "cell": stack_json(whole_cell),
        "nat": stack_json(lambda stack: CellNetwork(stack, "network", spec())),
        "no-nat": stack_json(lambda stack: CellNetwork(stack, "network", spec(egress="none", public_cidr=None))),
        "short": stack_json(lambda stack: CellNetwork(stack, "network", spec(flow_log_retention_days=7))),
        "existing": stack_json(lambda stack: ExistingNetwork(stack, "network", existing(**asked))),
        "inference": inference(),
        "balancer": balancer(),
    }
    found = scan(stacks, tmp_path)
    assert found.failed == ()
    assert found.checks > 200
    assert {(finding.stack, finding.check_id) for finding in found.explained} == {
        ("cell", "CKV2_AWS_5"),
        ("nat", "CKV_AWS_158"),
        ("no-nat", "CKV_AWS_158"),
        ("short", "CKV_AWS_158"),
        ("short", "CKV_AWS_338"),
        ("inference", "CKV2_AWS_5"),
        ("balancer", "CKV2_AWS_5"),
    }


@pytest.mark.slow
def test_a_finding_is_traced_to_its_resource_and_its_reason(tmp_path: Path) -> None:
    """Both of checkov's ways to name a resource; a reason excuses its own resource and check only."""

    def build(stack: TerraformStack) -> None:
        Vpc(stack, "bare", cidr_block="10.0.0.0/16")
        group = SecurityGroup(stack, "open", vpc_id="vpc-0a1b2c3d4e5f60718")
        VpcSecurityGroupIngressRule(
            stack, "ssh", security_group_id=group.id, ip_protocol="tcp", from_port=22, to_port=22, cidr_ipv4="0.0.0.0/0"
        )
        for name in ("excused", "plain"):
            logs = CloudwatchLogGroup(stack, name, name=name, retention_in_days=365)
            if name == "excused":
                skip_check(logs, "CKV_AWS_158", "A test")

    found = scan({"bad": stack_json(build)}, tmp_path)
    failed = {(finding.address, finding.check_id) for finding in found.failed}
    assert {
        ("aws_vpc.bare", "CKV2_AWS_11"),
        ("aws_security_group.open", "CKV_AWS_23"),
        ("aws_vpc_security_group_ingress_rule.ssh", "CKV_AWS_24"),
        ("aws_cloudwatch_log_group.plain", "CKV_AWS_158"),
    } <= failed
    assert [(finding.address, finding.check_id, finding.reason) for finding in found.explained] == [
        ("aws_cloudwatch_log_group.excused", "CKV_AWS_158", "A test")
    ]
    assert all(isinstance(finding, Finding) and finding.stack == "bad" for finding in found.failed)


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [{"terraform": {"required_version": ">=1.11"}}, {"resource": {}}],
    ids=["what crashes checkov", "nothing to check"],
)
def test_a_scan_that_read_nothing_is_no_pass(change: dict[str, Any], tmp_path: Path) -> None:
    """checkov itself exits with 0 in both cases."""
    document = {**stack_json(lambda stack: Vpc(stack, "bare", cidr_block="10.0.0.0/16")), **change}
    with pytest.raises(NothingScannedError):
        scan({"stack": document}, tmp_path)


def test_reasons_stand_beside_the_resource_in_the_json() -> None:
    """Whoever reads cdk.tf.json finds them, by address and check."""
    (skip,) = recorded_skips(inference())
    assert skip.address.startswith("aws_security_group.gpu_group_")
    assert skip.check_id == "CKV2_AWS_5"
    assert "launch templates" in skip.reason


@pytest.mark.parametrize(
    ("check_id", "reason", "says"),
    [("AWS_1", "Because", "not the id"), ("CKV_AWS_1", " ", "needs a reason"), ("CKV_AWS_1", "${x}", "plain text")],
)
def test_a_skip_without_an_id_or_a_reason_is_refused(check_id: str, reason: str, says: str) -> None:
    """A misspelled id would excuse nothing, and say nothing."""

    def build(stack: TerraformStack) -> None:
        skip_check(Vpc(stack, "vpc", cidr_block="10.0.0.0/16"), check_id, reason)

    with pytest.raises(ValueError, match=says):
        stack_json(build)
