"""What an environment adopts, looked at before it is used: by answers made by hand, and in moto's account."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import boto3
import pytest

from inferfab.preflight.aws import AwsReader
from inferfab.preflight.preflight import preflight
from inferfab.preflight.report import Report, Row
from moto_server import false_credentials, moto_endpoint

from .account import AS_OF, CHAT, WHOLE, FakeReader, FakeResolver, Say, fleet_of, not_there

VPC, NODES, MORE_NODES, GPUS = "vpc-0a1b2c3d4e5f60718", "subnet-0aaa0001", "subnet-0aaa0002", "subnet-0aaa0003"
NETWORK = f"""network:
      kind: existing
      vpc_id: {VPC}
      cidr: 10.20.0.0/16
      node_subnet_ids: [{NODES}, {MORE_NODES}]
      inference_subnet_id: {GPUS}"""
GUEST = CHAT.replace("network: {kind: new, cidr: 10.16.0.0/16}", NETWORK).split("routing:")[0]
IN_CLUSTER = GUEST.replace("    network:", '    cluster: {existing: platform, kubernetes: "1.36"}\n    network:')


def subnet(id: str, zone: str, **more: Any) -> dict[str, Any]:
    return {
        "SubnetId": id, "VpcId": VPC, "AvailabilityZone": zone, "CidrBlock": "10.20.0.0/20",
        "AvailableIpAddressCount": 4000, **more,
    }  # fmt: skip


SUBNETS = [subnet(NODES, "us-east-1a"), subnet(MORE_NODES, "us-east-1b"), subnet(GPUS, "us-east-1a")]
CLUSTER = {
    "version": "1.36",
    "resourcesVpcConfig": {"vpcId": VPC},
    "accessConfig": {"authenticationMode": "API_AND_CONFIG_MAP"},
}
ADDONS = ["vpc-cni", "coredns", "eks-pod-identity-agent", "aws-ebs-csi-driver"]
THERE: Mapping[tuple[str, str], Say] = {
    **WHOLE,
    ("ec2", "DescribeVpcs"): {"Vpcs": [{"VpcId": VPC, "CidrBlock": "10.20.0.0/16"}]},
    ("ec2", "DescribeSubnets"): {"Subnets": SUBNETS},
    ("eks", "DescribeCluster"): {"cluster": CLUSTER},
    ("eks", "ListAddons"): {"addons": ADDONS},
    ("eks", "ListNodegroups"): {"nodegroups": ["theirs-1", "theirs-2"]},
}


def looked(changed: Mapping[tuple[str, str], Say] | None = None, text: str = GUEST) -> Report:
    reader = FakeReader({**THERE, **(changed or {})})
    return preflight(fleet_of(text), reader, as_of=AS_OF, resolver=FakeResolver())


def rows(found: Report) -> dict[str, Row]:
    return {row.what: row for row in found.rows if row.area == "network"}


def test_a_sound_network() -> None:
    found = rows(looked())
    assert set(found) == {VPC, NODES, MORE_NODES, GPUS}
    assert {row.status for row in found.values()} == {"ok"}


@pytest.mark.parametrize(
    ("changed", "what", "says"),
    [
        ({("ec2", "DescribeVpcs"): {"Vpcs": []}}, VPC, "there is none in us-east-1"),
        (
            {("ec2", "DescribeVpcs"): {"Vpcs": [{"VpcId": VPC, "CidrBlock": "10.30.0.0/16"}]}},
            VPC,
            "its ranges are 10.30.0.0/16",
        ),
        ({("ec2", "DescribeSubnets"): {"Subnets": SUBNETS[:2]}}, GPUS, "there is none"),
        (
            {("ec2", "DescribeSubnets"): {"Subnets": [*SUBNETS[:2], subnet(GPUS, "us-east-1c")]}},
            GPUS,
            "it is in us-east-1c, and GPU nodes stand in us-east-1a",
        ),
        (
            # 4 p5en at max with 1 interface that carries IP each, 4 g6e.12xlarge with 1 each.
            {
                ("ec2", "DescribeSubnets"): {
                    "Subnets": [*SUBNETS[:2], subnet(GPUS, "us-east-1a", AvailableIpAddressCount=7)]
                }
            },
            GPUS,
            "7 addresses are free, 8 are needed",
        ),
        (
            {("ec2", "DescribeSubnets"): {"Subnets": [SUBNETS[0], subnet(MORE_NODES, "us-east-1a"), SUBNETS[2]]}},
            "node subnets",
            "all in us-east-1a",
        ),
        (
            {("ec2", "DescribeSubnets"): {"Subnets": [subnet(NODES, "us-east-1a", VpcId="vpc-other"), *SUBNETS[1:]]}},
            NODES,
            "it is in vpc-other",
        ),
    ],
)
def test_networks_that_do_not_fit(changed: Mapping[tuple[str, str], Say], what: str, says: str) -> None:
    found = rows(looked(changed))[what]
    assert found.status == "missing"
    assert found.found == says
    assert found.do


def test_an_existing_cluster() -> None:
    """Its owner's node groups count towards the quota of groups a cluster: two of theirs beside our four."""
    found = looked(text=IN_CLUSTER)
    assert rows(found)["cluster platform"].status == "ok"
    assert rows(found)["add-ons of platform"].status == "ok"
    quota = next(row for row in found.rows if row.area == "quota" and row.where == "platform")
    assert quota.needed == "4 node groups at max"
    assert quota.found == "30 granted; others in the account use 2"


@pytest.mark.parametrize(
    ("changed", "what", "status", "says"),
    [
        (
            {("eks", "DescribeCluster"): not_there("ResourceNotFoundException")},
            "cluster platform",
            "missing",
            "there is none",
        ),
        (
            {("eks", "DescribeCluster"): {"cluster": {**CLUSTER, "version": "1.35"}}},
            "cluster platform",
            "missing",
            "it runs 1.35",
        ),
        (
            {
                ("eks", "DescribeCluster"): {
                    "cluster": {**CLUSTER, "accessConfig": {"authenticationMode": "CONFIG_MAP"}}
                }
            },
            "cluster platform",
            "missing",
            "it takes no access entries (authentication mode CONFIG_MAP)",
        ),
        (
            {("eks", "ListAddons"): {"addons": ADDONS[:3]}},
            "add-ons of platform",
            "unknown",
            "not as EKS add-ons: aws-ebs-csi-driver",
        ),
    ],
)
def test_clusters_that_do_not_fit(changed: Mapping[tuple[str, str], Say], what: str, status: str, says: str) -> None:
    found = rows(looked(changed, IN_CLUSTER))[what]
    assert (found.status, found.found) == (status, says)


@pytest.mark.slow
def test_a_network_in_moto(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Made with boto3, adopted by id, and looked at over HTTP."""
    with moto_endpoint("111122223333", tmp_path / "log") as endpoint:
        false_credentials(monkeypatch)
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
        ec2 = boto3.client("ec2", region_name="us-east-1")
        vpc = ec2.create_vpc(CidrBlock="10.20.0.0/16")["Vpc"]["VpcId"]
        made = [
            ec2.create_subnet(VpcId=vpc, CidrBlock=f"10.20.{n * 16}.0/20", AvailabilityZone=f"us-east-1{zone}")
            for n, zone in enumerate("abc")
        ]
        ids = [one["Subnet"]["SubnetId"] for one in made]
        # GPU nodes in the subnet of zone c, and the cell in zone a.
        text = GUEST.replace(VPC, vpc)
        for old, new in zip((NODES, MORE_NODES, GPUS), ids, strict=True):
            text = text.replace(old, new)
        report = preflight(fleet_of(text), AwsReader("us-east-1"), as_of=AS_OF, resolver=FakeResolver())
    found = rows(report)
    assert found[vpc].status == "ok"
    assert [found[one].status for one in ids] == ["ok", "ok", "missing"]
    assert found[ids[2]].found == "it is in us-east-1c, and GPU nodes stand in us-east-1a"
