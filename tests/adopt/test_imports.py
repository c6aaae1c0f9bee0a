"""Import blocks for what is there: found in moto's account, with ids in the form that the AWS provider's import takes.

Source of the forms: documentation of hashicorp/aws 6, section Import of each resource.
"""

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import boto3
import pytest

from inferfab.adopt.imports import CANNOT, FINDERS, NOT_NEEDED, Looked, imports_file, look
from inferfab.adopt.stacks import UnreadableStacks, refuse_others, stacks_in
from inferfab.cli.main import main
from inferfab.preflight.aws import AwsReader
from inferfab.preflight.reader import Denied, ReadFailed
from inferfab.synthesis import synthesize
from moto_server import false_credentials, moto_endpoint
from preflight.account import CHAT, FakeReader, fleet_of, not_there

ACCOUNT = "111122223333"
ADDRESSES = Path(__file__).parents[1] / "stacks" / "addresses"
TRUST = '{"Version": "2012-10-17", "Statement": []}'


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stacks") / "cdktf.out"
    synthesize(fleet_of(), folder)
    return folder


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with moto_endpoint(ACCOUNT, tmp_path_factory.mktemp("moto") / "log") as url:
        yield url


@pytest.fixture
def moto(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    false_credentials(monkeypatch)
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)


def test_every_type_is_accounted_for() -> None:
    """Each AWS type of every golden address list is found, needs no import, or is said to be out of reach."""
    types = {
        line.split()[1].partition(".")[0]
        for path in ADDRESSES.glob("*.txt")
        for line in path.read_text(encoding="utf-8").splitlines()
    }
    ours = {t for t in types if t.startswith("aws_")}
    assert len(ours) > 40
    assert ours <= set(FINDERS) | set(NOT_NEEDED)
    assert not set(FINDERS) & set(NOT_NEEDED)
    assert "helm_release" in CANNOT


def client(service: str) -> Any:
    return boto3.client(service, region_name="us-east-1")


def brownfield() -> dict[str, str]:
    """What somebody made by hand under our names; import ids by type, from AWS's own answers."""
    ids, vpc, public = network()
    return ids | services(vpc, public)


def network() -> tuple[dict[str, str], str, str]:
    """And the ids of VPC and public subnet."""

    def name(resource: str, value: str) -> list[dict[str, Any]]:
        return [{"ResourceType": resource, "Tags": [{"Key": "Name", "Value": value}]}]

    ec2 = client("ec2")
    ids: dict[str, str] = {}
    vpc = ec2.create_vpc(CidrBlock="10.16.0.0/16", TagSpecifications=name("vpc", "shop-a"))["Vpc"]["VpcId"]
    # Another of the same name and range elsewhere is not ours: its range differs.
    ec2.create_vpc(CidrBlock="10.99.0.0/16", TagSpecifications=name("vpc", "shop-a"))
    ids["aws_vpc"] = vpc
    public = ec2.create_subnet(VpcId=vpc, CidrBlock="10.16.0.0/20", AvailabilityZone="us-east-1a")["Subnet"]["SubnetId"]
    ids["aws_subnet"] = public
    gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    ids["aws_internet_gateway"] = gateway
    address = ec2.allocate_address(Domain="vpc", TagSpecifications=name("elastic-ip", "shop-a"))["AllocationId"]
    ids["aws_eip"] = address
    ids["aws_nat_gateway"] = ec2.create_nat_gateway(SubnetId=public, AllocationId=address)["NatGateway"]["NatGatewayId"]
    table = ec2.create_route_table(VpcId=vpc, TagSpecifications=name("route-table", "shop-a-public"))["RouteTable"][
        "RouteTableId"
    ]
    ec2.associate_route_table(RouteTableId=table, SubnetId=public)
    ec2.create_route(RouteTableId=table, DestinationCidrBlock="0.0.0.0/0", GatewayId=gateway)
    ids |= {
        "aws_route_table": table,
        "aws_route_table_association": f"{public}/{table}",
        "aws_route": f"{table}_0.0.0.0/0",
    }
    group = ec2.create_security_group(GroupName="shop-a-inference", Description="x", VpcId=vpc)["GroupId"]
    ids["aws_security_group"] = group
    rule = ec2.authorize_security_group_ingress(
        GroupId=group, IpPermissions=[{"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group}]}]
    )["SecurityGroupRules"][0]["SecurityGroupRuleId"]
    ids["aws_vpc_security_group_ingress_rule"] = rule
    return ids, vpc, public


def services(vpc: str, public: str) -> dict[str, str]:
    iam = client("iam")
    ids: dict[str, str] = {}
    iam.create_role(RoleName="shop-a-node", AssumeRolePolicyDocument=TRUST)
    policy = "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"
    try:
        iam.attach_role_policy(RoleName="shop-a-node", PolicyArn=policy)
        ids["aws_iam_role_policy_attachment"] = f"shop-a-node/{policy}"
    except iam.exceptions.NoSuchEntityException:
        pass  # moto may not hold the managed policies
    ids["aws_iam_role"] = "shop-a-node"
    key = client("kms").create_key()["KeyMetadata"]["KeyId"]
    client("kms").create_alias(AliasName="alias/shop-models", TargetKeyId=key)
    ids |= {"aws_kms_key": key, "aws_kms_alias": "alias/shop-models"}
    client("s3").create_bucket(Bucket=f"shop-models-{ACCOUNT}-us-east-1")
    ids["aws_s3_bucket"] = f"shop-models-{ACCOUNT}-us-east-1"
    client("logs").create_log_group(logGroupName="/aws/eks/shop-a/cluster")
    client("logs").create_log_group(logGroupName="/aws/eks/shop-a/cluster-of-another")
    ids["aws_cloudwatch_log_group"] = "/aws/eks/shop-a/cluster"
    role = f"arn:aws:iam::{ACCOUNT}:role/shop-a-node"
    client("eks").create_cluster(name="shop-a", roleArn=role, resourcesVpcConfig={"subnetIds": [public]})
    client("eks").create_nodegroup(clusterName="shop-a", nodegroupName="system", subnets=[public], nodeRole=role)
    ids |= {"aws_eks_cluster": "shop-a", "aws_eks_node_group": "shop-a:system"}
    balancer = client("elbv2").create_load_balancer(Name="shop-a", Type="network", Subnets=[public])
    arn = balancer["LoadBalancers"][0]["LoadBalancerArn"]
    target = client("elbv2").create_target_group(Name="shop-a-gateway", Protocol="TCP", Port=8443, VpcId=vpc)
    target_arn = target["TargetGroups"][0]["TargetGroupArn"]
    forward = [{"Type": "forward", "TargetGroupArn": target_arn}]
    listener = client("elbv2").create_listener(LoadBalancerArn=arn, Protocol="TCP", Port=443, DefaultActions=forward)
    ids |= {
        "aws_lb": arn,
        "aws_lb_target_group": target_arn,
        "aws_lb_listener": listener["Listeners"][0]["ListenerArn"],
    }
    ids["aws_sns_topic"] = client("sns").create_topic(Name="shop-alerts")["TopicArn"]
    template = client("ec2").create_launch_template(
        LaunchTemplateName="shop-a-system", LaunchTemplateData={"InstanceType": "m7i.2xlarge"}
    )
    ids["aws_launch_template"] = template["LaunchTemplate"]["LaunchTemplateId"]
    zone = client("route53").create_hosted_zone(Name="llm.example.com", CallerReference="1")["HostedZone"]["Id"]
    zone = zone.rpartition("/")[2]
    alias = {"HostedZoneId": zone, "DNSName": "x.example.com", "EvaluateTargetHealth": False}
    record = {"Name": "a.llm.example.com", "Type": "A", "AliasTarget": alias}
    changes = {"Changes": [{"Action": "CREATE", "ResourceRecordSet": record}]}
    client("route53").change_resource_record_sets(HostedZoneId=zone, ChangeBatch=changes)
    ids["aws_route53_record"] = f"{zone}_a.llm.example.com_A"
    return ids


@pytest.mark.slow
def test_what_is_there_is_found(
    moto: None, out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Against moto over HTTP: nothing before, each thing by its id after, one block each in the stacks' folders."""
    documents = stacks_in(out, "shop")
    reader = AwsReader("us-east-1")
    assert not [one for one in look(documents, reader) if one.state in ("found", "ambiguous")]

    ids = brownfield()
    looked = look(documents, reader)
    found: dict[str, list[str]] = {}
    for one in looked:
        if one.state == "found":
            assert one.import_id is not None
            found.setdefault(one.address.partition(".")[0], []).append(one.import_id)
    assert {t: found.get(t) for t in ids} == {t: [i] for t, i in ids.items()}
    assert not [one for one in looked if one.state == "ambiguous"]

    file = tmp_path / "shop.yaml"
    file.write_text(CHAT)
    folder = tmp_path / "cdktf.out"
    shutil.copytree(out, folder)
    monkeypatch.setattr("sys.argv", ["inferfab", "import", str(file), "--stacks", str(folder)])
    main_exit(0)
    assert not list(folder.rglob("imports.tf.json"))
    monkeypatch.setattr("sys.argv", ["inferfab", "import", str(file), "--stacks", str(folder), "--write"])
    main_exit(0)
    assert "wrote" in capsys.readouterr().out
    foundation = json.loads((folder / "stacks/shop-a-foundation/imports.tf.json").read_text())
    region = json.loads((folder / "stacks/shop-us-east-1-region/imports.tf.json").read_text())
    written = {block["to"].partition(".")[0]: block["id"] for block in (*foundation["import"], *region["import"])}
    assert {t: i for t, i in ids.items() if not t.startswith("aws_route53")}.items() <= written.items()
    assert [b["id"] for b in json.loads((folder / "stacks/shop-global/imports.tf.json").read_text())["import"]] == [
        ids["aws_route53_record"]
    ]


def main_exit(code: int) -> None:
    try:
        main()
    except SystemExit as stop:
        assert int(stop.code or 0) == code


def stack(resources: Mapping[str, Any], data: Mapping[str, Any] | None = None) -> dict[str, Mapping[str, Any]]:
    """A stack of a few resources."""
    provider = {
        "region": "us-east-1",
        "allowed_account_ids": [ACCOUNT],
        "default_tags": [{"tags": {"inferfab-environment": "shop"}}],
    }
    return {"shop-x": {"provider": {"aws": [provider]}, "resource": resources, "data": data or {}}}


def one(resources: Mapping[str, Any], answers: Mapping[tuple[str, str], Any], address: str) -> Looked:
    looked = {found.address: found for found in look(stack(resources), FakeReader(answers))}
    return looked[address]


NODE_GROUP = {"aws_eks_node_group": {"g": {"cluster_name": "shop-a", "node_group_name": "chat"}}}


@pytest.mark.parametrize(
    ("resources", "answers", "import_id"),
    [
        (NODE_GROUP, {("eks", "ListNodegroups"): {"nodegroups": ["chat"]}}, "shop-a:chat"),
        (
            {"aws_eks_addon": {"a": {"cluster_name": "shop-a", "addon_name": "vpc-cni"}}},
            {("eks", "ListAddons"): {"addons": ["vpc-cni"]}},
            "shop-a:vpc-cni",
        ),
        (
            {"aws_eks_access_entry": {"e": {"cluster_name": "shop-a", "principal_arn": "arn:aws:iam::1:role/x"}}},
            {("eks", "ListAccessEntries"): {"accessEntries": ["arn:aws:iam::1:role/x"]}},
            "shop-a:arn:aws:iam::1:role/x",
        ),
        (
            {
                "aws_eks_access_policy_association": {
                    "p": {"cluster_name": "shop-a", "principal_arn": "arn:p", "policy_arn": "arn:aws:eks::aws:x"}
                }
            },
            {
                ("eks", "ListAssociatedAccessPolicies"): {
                    "associatedAccessPolicies": [{"policyArn": "arn:aws:eks::aws:x"}]
                }
            },
            "shop-a#arn:p#arn:aws:eks::aws:x",
        ),
        (
            {
                "aws_eks_pod_identity_association": {
                    "i": {"cluster_name": "shop-a", "namespace": "keda", "service_account": "keda"}
                }
            },
            {
                ("eks", "ListPodIdentityAssociations"): {
                    "associations": [
                        {"namespace": "keda", "serviceAccount": "keda", "associationId": "a-1"},
                        {"namespace": "keda", "serviceAccount": "other", "associationId": "a-2"},
                    ]
                }
            },
            "shop-a,a-1",
        ),
        (
            {"aws_budgets_budget": {"b": {"name": "shop-gpu-fleet"}}},
            {("budgets", "DescribeBudget"): {"Budget": {}}},
            f"{ACCOUNT}:shop-gpu-fleet",
        ),
        (
            {"aws_iam_role_policy": {"p": {"role": "r", "name": "read-models"}}},
            {("iam", "ListRolePolicies"): {"PolicyNames": ["read-models"]}},
            "r:read-models",
        ),
        (
            {"aws_cloudwatch_metric_alarm": {"a": {"alarm_name": "full", "region": "us-west-2"}}},
            {("cloudwatch", "DescribeAlarms"): {"MetricAlarms": [{}]}},
            "full@us-west-2",
        ),
    ],
)  # fmt: skip
def test_forms_of_ids(resources: Mapping[str, Any], answers: Mapping[tuple[str, str], Any], import_id: str) -> None:
    ((type_, by_name),) = resources.items()
    (name,) = by_name
    found = one(resources, answers, f"{type_}.{name}")
    assert (found.state, found.import_id) == ("found", import_id)


def test_what_stands_on_something_that_is_not_there_is_not_there() -> None:
    """The cluster is looked up once, for all that refer to it."""
    resources = {
        "aws_eks_cluster": {"c": {"name": "shop-a"}},
        "aws_eks_node_group": {
            name: {"cluster_name": "${aws_eks_cluster.c.name}", "node_group_name": name} for name in ("x", "y")
        },
    }
    reader = FakeReader({("eks", "DescribeCluster"): not_there("ResourceNotFoundException")})
    assert {found.state for found in look(stack(resources), reader)} == {"absent"}
    assert len(reader.calls) == 1


def test_of_several_none_is_taken() -> None:
    """A wrong import is worse than none: Terraform would change, or destroy, what is not ours."""
    vpcs = [{"VpcId": f"vpc-{n}", "CidrBlock": "10.0.0.0/16"} for n in (1, 2)]
    resources = {"aws_vpc": {"v": {"cidr_block": "10.0.0.0/16", "tags": {"Name": "shop-a"}}}}
    found = one(resources, {("ec2", "DescribeVpcs"): {"Vpcs": vpcs}}, "aws_vpc.v")
    assert (found.state, found.import_id) == ("ambiguous", None)
    assert "vpc-1, vpc-2" in found.why


def test_what_is_refused_is_unknown() -> None:
    resources = {
        "aws_vpc": {"v": {"cidr_block": "10.0.0.0/16", "tags": {"Name": "shop-a"}}},
        "aws_subnet": {"s": {"cidr_block": "10.0.0.0/20", "vpc_id": "${aws_vpc.v.id}"}},
        **NODE_GROUP,
    }
    answers = {
        ("ec2", "DescribeVpcs"): Denied("ec2:DescribeVpcs"),
        ("eks", "ListNodegroups"): {"nodegroups": ["chat"]},
    }
    looked = {found.address: found for found in look(stack(resources), FakeReader(answers))}
    assert looked["aws_vpc.v"].state == looked["aws_subnet.s"].state == "unknown"
    assert "ec2:DescribeVpcs" in looked["aws_subnet.s"].why
    assert looked["aws_eks_node_group.g"].state == "found"


def test_zones_of_another_account_are_left_alone() -> None:
    record = {
        "zone_id": "${data.aws_route53_zone.z.zone_id}",
        "name": "x.example.com",
        "type": "A",
        "provider": "aws.dns",
    }
    found = one({"aws_route53_record": {"r": record}}, {}, "aws_route53_record.r")
    assert (found.state, found.why) == ("unknown", "the zone is another account's")


@pytest.mark.parametrize(
    ("folder", "says"),
    [("nothing", "run `inferfab synth shop"), ("other", "which is not shop's")],
)
def test_stacks_that_are_not_there(
    folder: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "shop.yaml"
    file.write_text(CHAT)
    other = tmp_path / "other" / "stacks" / "prod-global"
    other.mkdir(parents=True)
    (other / "cdk.tf.json").write_text("{}")
    monkeypatch.setattr("sys.argv", ["inferfab", "import", str(file), "--stacks", str(tmp_path / folder)])
    main_exit(1)
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"account_id": "999988887777"}, "AWS account 111122223333, and the file says 999988887777"),
        ({"bucket": "another"}, "and the file says another"),
    ],
)
def test_stacks_of_an_earlier_file(out: Path, change: dict[str, str], said: str) -> None:
    fleet = fleet_of()
    stacks = stacks_in(out, "shop")
    refuse_others(stacks, fleet, out)
    own = fleet.ownership
    assert own.accounts.aws is not None and own.state is not None
    if "account_id" in change:
        accounts = own.accounts.model_copy(update={"aws": own.accounts.aws.model_copy(update=change)})
        own = own.model_copy(update={"accounts": accounts})
    else:
        own = own.model_copy(update={"state": own.state.model_copy(update=change)})
    with pytest.raises(UnreadableStacks, match=said):
        refuse_others(stacks, fleet.model_copy(update={"ownership": own}), out)


@pytest.mark.parametrize(
    "text",
    [
        "[]", "null", "{", '{"resource": {"aws_x": null}}', '{"resource": []}', '{"resource": {"aws_x": {"a": 1}}}',
        '{"data": {"aws_x": []}}', '{"provider": {"aws": {}}}', '{"provider": {"aws": [{}]}}', '{"provider": 1}',
        '{"terraform": {"backend": []}}', '{"provider": {"aws": [{"region": "r", "allowed_account_ids": ["1"]}]}}',
    ],
)  # fmt: skip
def test_stacks_that_are_none(text: str, tmp_path: Path) -> None:
    folder = tmp_path / "stacks" / "shop-global"
    folder.mkdir(parents=True)
    (folder / "cdk.tf.json").write_text(text)
    with pytest.raises(UnreadableStacks, match=r"cdk\.tf\.json"):
        stacks_in(tmp_path, "shop")


def _import(
    out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reader: FakeReader, *argv: str, foreign: str = ""
) -> tuple[int, Path]:
    """Exit code, and the import file of a stack that is given one."""
    file, folder = tmp_path / "shop.yaml", tmp_path / "cdktf.out"
    file.write_text(CHAT)
    shutil.copytree(out, folder)
    blocks = folder / "stacks" / "shop-global" / "imports.tf.json"
    if foreign:
        blocks.write_text(foreign)
    monkeypatch.setattr("inferfab.cli.preflight.reader_of", lambda _: reader)
    monkeypatch.setattr("sys.argv", ["inferfab", "import", str(file), "--stacks", str(folder), *argv])
    with pytest.raises(SystemExit) as stop:
        main()
    return int(stop.value.code or 0), blocks


class Unreachable(FakeReader):
    """Answers nobody; STS too, or not."""

    def __init__(self, *, sts: bool) -> None:
        super().__init__({("sts", "GetCallerIdentity"): {"Account": ACCOUNT}} if sts else {})

    def read(self, service: str, operation: str, region: str | None = None, **asked: Any) -> Any:
        if (service, operation) in self.answers:
            return super().read(service, operation, region, **asked)
        raise ReadFailed(f"{service} does not answer")


@pytest.mark.parametrize(("sts", "said"), [(False, "STS does not say"), (True, "nothing could be looked at")])
def test_nothing_that_could_be_looked_at(
    sts: bool, said: str, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _ = _import(out, tmp_path, monkeypatch, Unreachable(sts=sts))
    assert code == 1 and said in capsys.readouterr().err


def test_blocks_of_somebody_else_stay(
    out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Written by hand in the very form of ours: neither replaced, nor taken away where nothing is found."""
    text = '{"import": [{"to": "aws_x.a", "id": "mine"}]}'
    code, blocks = _import(out, tmp_path, monkeypatch, Unreachable(sts=True), "--write", foreign=text)
    assert code == 1 and blocks.read_text() == text
    assert "inferfab did not write it" in capsys.readouterr().err


@pytest.mark.slow
def test_terraform_reads_the_blocks(tmp_path: Path) -> None:
    """JSON import blocks, with addresses that hold dashes, in the real Terraform's plan."""
    terraform = shutil.which("terraform") or shutil.which("tofu")
    if terraform is None:
        pytest.skip("neither terraform nor tofu is on this machine")
    looked = [
        Looked(stack="s", address="terraform_data.use1-a_group_1A2B", state="found", import_id="one"),
        Looked(stack="s", address="terraform_data.absent", state="absent"),
    ]
    (tmp_path / "main.tf.json").write_text('{"resource": {"terraform_data": {"use1-a_group_1A2B": {}}}}')
    (tmp_path / "imports.tf.json").write_text(imports_file(looked))
    for words in (("init", "-no-color"), ("plan", "-no-color", "-input=false")):
        done = subprocess.run(
            [terraform, *words], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
    assert "1 to import" in done.stdout
