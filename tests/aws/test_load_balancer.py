"""The load balancer of a cell."""

import json
import textwrap
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from inferfab.aws.health_check import HealthCheck
from inferfab.aws.load_balancer import AccessLogs, CellLoadBalancer, CellLoadBalancerSpec
from inferfab.terraform import TerraformStack, Testing, new_app
from inferfab.terraform.aws.provider import AwsProvider
from inferfab.terraform.skips import recorded_skips

FIELDS: dict[str, Any] = {
    "name": "prod-use1-a",
    "target_group_name": "prod-use1-a-gateway",
    "vpc_id": "vpc-1",
    "subnet_ids": ("subnet-1",),
    "security_group_id": "sg-1",
    "target_port": 8443,
    "health_check": HealthCheck(port=19003),
}


def synthesized(**change: Any) -> dict[str, Any]:
    stack = TerraformStack(Testing.app(), "cell")
    CellLoadBalancer(stack, "load-balancer", CellLoadBalancerSpec(**{**FIELDS, **change}))
    result: dict[str, Any] = json.loads(Testing.synth(stack))
    return result


def skips(folder: Path, **change: Any) -> set[str]:
    """Checks that the written stack is excused from; Testing.synth leaves them out."""
    app = new_app(str(folder))
    stack = TerraformStack(app, "cell")
    AwsProvider(stack, "aws", region="us-east-1")
    CellLoadBalancer(stack, "load-balancer", CellLoadBalancerSpec(**{**FIELDS, **change}))
    app.synth()
    document = json.loads((folder / "stacks" / "cell" / "cdk.tf.json").read_text())
    return {skip.check_id for skip in recorded_skips(document) if skip.reason}


def one(document: dict[str, Any], type_: str) -> dict[str, Any]:
    (found,) = document["resource"][type_].values()
    assert isinstance(found, dict)
    return found


def test_the_example_in_the_documentation_runs() -> None:
    """It is what a reader copies."""
    assert CellLoadBalancer.__doc__ is not None
    stack = TerraformStack(Testing.app(), "cell")
    exec(textwrap.dedent(CellLoadBalancer.__doc__.split("Example::")[1]), {"stack": stack})
    assert "aws_lb" in json.loads(Testing.synth(stack))["resource"]


def test_by_default_it_is_internal_protected_and_stays_in_its_zone() -> None:
    """Arguments of aws_lb, typed by hand."""
    found = one(synthesized(), "aws_lb")
    assert found["internal"] is True
    assert found["load_balancer_type"] == "network"
    assert found["enable_deletion_protection"] is True
    assert found["enable_cross_zone_load_balancing"] is False
    assert found["subnets"] == ["subnet-1"]
    assert found["security_groups"] == ["sg-1"]
    assert found["tags"] == {"Name": "prod-use1-a"}


def test_in_more_zones_it_sends_across_them(tmp_path: Path) -> None:
    """All pods are in one zone, so the others' addresses have no target of their own; checkov is content."""
    found = one(synthesized(subnet_ids=("subnet-1", "subnet-2")), "aws_lb")
    assert found["subnets"] == ["subnet-1", "subnet-2"]
    assert found["enable_cross_zone_load_balancing"] is True
    assert skips(tmp_path / "d", subnet_ids=("subnet-1", "subnet-2")) == {"CKV_AWS_91"}


def test_tls_passes_through_to_the_target_group() -> None:
    """A TCP listener has no certificate; the gateway has it."""
    document = synthesized()
    listener = one(document, "aws_lb_listener")
    assert (listener["protocol"], listener["port"]) == ("TCP", 443)
    assert "certificate_arn" not in listener
    (address,) = document["resource"]["aws_lb_target_group"]
    assert listener["default_action"] == [
        {"type": "forward", "target_group_arn": f"${{aws_lb_target_group.{address}.arn}}"}
    ]


def test_streams_outlive_silence_and_the_pod_that_leaves() -> None:
    """AWS' own 350 s of silence and 300 s of draining cut long answers."""
    document = synthesized()
    assert one(document, "aws_lb_listener")["tcp_idle_timeout_seconds"] == 1800
    group = one(document, "aws_lb_target_group")
    assert group["deregistration_delay"] == "1800"
    assert group["connection_termination"] is True
    assert group["target_health_state"] == [{"enable_unhealthy_connection_termination": False}]


def test_targets_are_pods_that_see_the_clients_address() -> None:
    """Addresses, registered by name through a TargetGroupBinding."""
    group = one(synthesized(), "aws_lb_target_group")
    assert group["name"] == "prod-use1-a-gateway"
    assert (group["target_type"], group["protocol"], group["port"]) == ("ip", "TCP", 8443)
    assert group["preserve_client_ip"] == "true"
    assert group["vpc_id"] == "vpc-1"


def test_the_health_check_asks_the_gateway_itself() -> None:
    """On a port of its own."""
    assert one(synthesized(), "aws_lb_target_group")["health_check"] == {
        "enabled": True,
        "protocol": "HTTP",
        "path": "/ready",
        "matcher": "200",
        "port": "19003",
        "interval": 10,
        "timeout": 5,
        "healthy_threshold": 2,
        "unhealthy_threshold": 3,
    }


def test_a_tcp_check_has_neither_path_nor_matcher() -> None:
    """AWS refuses both."""
    check = one(synthesized(health_check=HealthCheck(port=8443, protocol="TCP")), "aws_lb_target_group")["health_check"]
    assert not {"path", "matcher"} & set(check)


def test_addresses_are_stable() -> None:
    """A changed address replaces the load balancer, and DNS with it."""
    resources = synthesized()["resource"]
    assert {f"{type_}.{name.rsplit('_', 1)[0]}" for type_, all_ in resources.items() for name in all_} == {
        "aws_lb.load-balancer_nlb",
        "aws_lb_listener.load-balancer_tls",
        "aws_lb_target_group.load-balancer_targets",
    }


def test_every_skipped_check_has_its_reason_beside_the_resource(tmp_path: Path) -> None:
    """Access logs are asked for or explained; deletion protection likewise."""
    logs = AccessLogs(bucket="logs", prefix="nlb")
    assert skips(tmp_path / "a") == {"CKV_AWS_152", "CKV_AWS_91"}
    assert skips(tmp_path / "b", access_logs=logs) == {"CKV_AWS_152"}
    assert skips(tmp_path / "c", access_logs=logs, deletion_protection=False) == {"CKV_AWS_152", "CKV_AWS_150"}
    found = one(synthesized(access_logs=logs), "aws_lb")
    assert found["access_logs"] == {"bucket": "logs", "prefix": "nlb", "enabled": True}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"name": "a" * 33}, "at most 32 characters"),
        ({"name": "-a"}, "should match pattern"),
        ({"subnet_ids": ()}, "name at least the subnet of the cell's zone"),
        ({"target_port": 0}, "greater than or equal to 1"),
        ({"deregistration_delay_seconds": 3601}, "less than or equal to 3600"),
        ({"idle_timeout_seconds": 59}, "greater than or equal to 60"),
    ],
)
def test_what_aws_would_refuse_is_refused_before(change: dict[str, Any], problem: str) -> None:
    """Limits of the ELB API reference."""
    with pytest.raises(ValidationError) as refused:
        CellLoadBalancerSpec(**{**FIELDS, **change})
    assert problem in str(refused.value)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"path": "ready"}, "must begin with /"),
        ({"timeout_seconds": 10}, "must be less than interval_seconds"),
        ({"protocol": "UDP"}, "protocol"),
    ],
)
def test_a_check_that_cannot_work_is_refused(change: dict[str, Any], problem: str) -> None:
    """Before AWS does."""
    with pytest.raises(ValidationError) as refused:
        HealthCheck(**{"port": 80, **change})
    assert problem in str(refused.value)
