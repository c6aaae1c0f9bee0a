"""The network of a cell: what is in it, and what it refuses. Expectations from AWS's and the provider's docs."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from aws.synth_net import reference, resources, rules, stack_json
from inferfab.aws.existing_network import ExistingNetwork, ExistingNetworkSpec
from inferfab.aws.network import CellNetwork, CellNetworkSpec
from inferfab.aws.network_ids import NetworkIds

VPC, GROUP = "vpc-0a1b2c3d4e5f60718", "sg-0a1b2c3d4e5f60718"
SUBNETS = tuple(f"subnet-0a1b2c3d4e5f6071{n}" for n in range(4))
TABLE = "rtb-0a1b2c3d4e5f60718"


def spec(**changes: Any) -> CellNetworkSpec:
    fields: dict[str, Any] = {
        "name": "prod-use1-a", "region": "us-east-1", "zone": "us-east-1a", "second_zone": "us-east-1b",
        "cidr": "10.16.0.0/16", "public_cidr": "10.16.0.0/20", "system_cidr": "10.16.16.0/20",
        "control_plane_cidrs": ("10.16.32.0/22", "10.16.36.0/22"), "inference_cidr": "10.16.64.0/18",
        "cluster_name": "prod-use1-a",
    }  # fmt: skip
    return CellNetworkSpec(**{**fields, **changes})


def network(**changes: Any) -> dict[str, Any]:
    return stack_json(lambda stack: CellNetwork(stack, "network", spec(**changes)))


def existing(**changes: Any) -> ExistingNetworkSpec:
    fields: dict[str, Any] = {
        "name": "prod-use1-a", "vpc_id": VPC, "cidr": "10.16.0.0/16", "system_subnet_ids": SUBNETS[:2],
        "inference_subnet_id": SUBNETS[2],
    }  # fmt: skip
    return ExistingNetworkSpec(**{**fields, **changes})


def services(document: dict[str, Any], kind: str) -> set[str]:
    endpoints = resources(document, "aws_vpc_endpoint").values()
    return {
        e["service_name"].removeprefix("com.amazonaws.us-east-1.") for e in endpoints if e["vpc_endpoint_type"] == kind
    }


def default_routes(document: dict[str, Any]) -> dict[str, str]:
    """Where each subnet's default route leads: ``gateway`` or ``nat``."""
    tables = {
        reference(document, "aws_route_table", path): path.split("/")[1]
        for path in resources(document, "aws_route_table")
    }
    return {
        tables[route["route_table_id"]]: "nat" if "nat_gateway_id" in route else "gateway"
        for route in resources(document, "aws_route").values()
        if route["destination_cidr_block"] == "0.0.0.0/0"
    }


def test_subnets_stand_where_the_spec_says_and_hand_out_no_public_address() -> None:
    """Five subnets, all but one control-plane subnet in the cell's zone; even the public one maps no addresses."""
    found = resources(network(), "aws_subnet")
    assert {path.split("/")[1]: (s["cidr_block"], s["availability_zone"]) for path, s in found.items()} == {
        "public": ("10.16.0.0/20", "us-east-1a"),
        "system": ("10.16.16.0/20", "us-east-1a"),
        "control-plane-0": ("10.16.32.0/22", "us-east-1a"),
        "control-plane-1": ("10.16.36.0/22", "us-east-1b"),
        "inference": ("10.16.64.0/18", "us-east-1a"),
    }
    assert all(subnet["map_public_ip_on_launch"] is False for subnet in found.values())


def test_each_subnet_has_a_route_table_of_its_own() -> None:
    """A route for one subnet never reaches another."""
    document = network()
    joined = resources(document, "aws_route_table_association")
    assert len(joined) == len({a["subnet_id"] for a in joined.values()}) == 5
    assert len({a["route_table_id"] for a in joined.values()}) == 5


def test_with_nat_only_nodes_go_out_through_it() -> None:
    """Control-plane subnets need no way out; the public one goes through the internet gateway."""
    assert default_routes(network()) == {"public": "gateway", "system": "nat", "inference": "nat"}


def test_the_nat_gateway_stands_in_the_public_subnet_and_waits_for_the_internet_gateway() -> None:
    """NAT gateways need a public subnet, an address, and an internet gateway that is attached already."""
    document = network()
    (nat,) = resources(document, "aws_nat_gateway").values()
    assert nat["subnet_id"] == reference(document, "aws_subnet", "network/public/subnet")
    assert nat["allocation_id"] == reference(document, "aws_eip", "network/internet/address")
    gateway = reference(document, "aws_internet_gateway", "network/internet/gateway")
    assert nat["depends_on"] == [gateway.removeprefix("${").removesuffix(".id}")]


def test_without_egress_nothing_leads_to_the_internet() -> None:
    """No NAT, no internet gateway, no default route, no public address."""
    document = network(egress="none", public_cidr=None)
    kinds = ("aws_nat_gateway", "aws_internet_gateway", "aws_route", "aws_eip")
    assert [kind for kind in kinds if resources(document, kind)] == []


def test_without_egress_a_public_load_balancer_may_still_have_its_subnet() -> None:
    """Requests come in through the internet gateway; nodes still have no way out."""
    document = network(egress="none")
    assert default_routes(document) == {"public": "gateway"}
    assert not resources(document, "aws_nat_gateway")


def test_endpoints_beside_nat() -> None:
    """What carries much, or makes a node join."""
    document = network()
    assert services(document, "Interface") == {"ec2", "ecr.api", "ecr.dkr", "logs", "sts"}
    assert services(document, "Gateway") == {"s3"}


def test_endpoints_without_nat_are_all_that_a_cell_calls() -> None:
    """EKS user guide, private clusters, and the operators: autoscaler, load balancers, secrets, metrics."""
    document = network(egress="none", public_cidr=None)
    assert services(document, "Interface") == {
        "autoscaling", "ec2", "ecr.api", "ecr.dkr", "eks", "eks-auth", "elasticloadbalancing", "logs", "monitoring",
        "secretsmanager", "sts",
    }  # fmt: skip
    assert services(document, "Gateway") == {"s3"}


def test_the_spec_may_name_the_endpoints() -> None:
    """An own list replaces the default; an empty one leaves only S3's free endpoint."""
    assert services(network(endpoints=("ssm", "sts")), "Interface") == {"ssm", "sts"}
    document = network(endpoints=())
    assert services(document, "Interface") == set()
    assert not resources(document, "aws_security_group")


def test_interface_endpoints_have_private_names_and_let_in_https_from_the_network_only() -> None:
    """One rule: 443 from the VPC's range; nothing out."""
    document = network()
    interfaces = [e for e in resources(document, "aws_vpc_endpoint").values() if e["vpc_endpoint_type"] == "Interface"]
    group = reference(document, "aws_security_group", "network/endpoints/group")
    assert all(e["private_dns_enabled"] and e["security_group_ids"] == [group] for e in interfaces)
    (rule,) = rules(document, "ingress").values()
    assert (rule["cidr_ipv4"], rule["ip_protocol"], rule["from_port"], rule["to_port"]) == (
        "10.16.0.0/16",
        "tcp",
        443,
        443,
    )
    assert not rules(document, "egress")


def test_the_s3_endpoint_serves_the_nodes_and_nobody_else() -> None:
    """Gateway endpoints are routes: in the tables of system and inference subnets."""
    document = network()
    (s3,) = (e for e in resources(document, "aws_vpc_endpoint").values() if e["vpc_endpoint_type"] == "Gateway")
    assert s3["route_table_ids"] == [
        reference(document, "aws_route_table", f"network/{name}/routes") for name in ("system", "inference")
    ]


def test_only_this_accounts_principals_pass_interface_endpoints() -> None:
    """Foreign credentials cannot carry data out; a pod's web identity, not yet anybody's, may ask STS for a role."""
    document = network(egress="none", public_cidr=None)
    policies = {
        path.rpartition("/")[2]: json.loads(e["policy"])["Statement"]
        for path, e in resources(document, "aws_vpc_endpoint").items()
        if "policy" in e
    }
    without_policy = services(document, "Interface") - {name.replace("-", ".") for name in policies} - set(policies)
    assert without_policy == {"eks-auth"}
    for statements in policies.values():
        assert list(statements[0]["Condition"]["StringEquals"]) == ["aws:PrincipalAccount"]
    more = {name: [s["Action"] for s in statements[1:]] for name, statements in policies.items() if statements[1:]}
    assert more == {"sts": ["sts:AssumeRoleWithWebIdentity"], "s3": ["s3:GetObject"]}


def test_ecr_layers_stay_reachable_without_nat() -> None:
    """ECR user guide: layers come from the bucket prod-<region>-starport-layer-bucket, with ECR's signature."""
    (s3,) = (e for path, e in resources(network(egress="none"), "aws_vpc_endpoint").items() if path.endswith("/s3"))
    resource = json.loads(s3["policy"])["Statement"][1]["Resource"]
    assert resource.endswith(":s3:::prod-us-east-1-starport-layer-bucket/*")


def test_public_registries_on_s3_stay_reachable_with_nat() -> None:
    """registry.k8s.io serves from public buckets, anonymously; S3 traffic goes through the endpoint in any case."""
    found = resources(network(), "aws_vpc_endpoint")
    assert "policy" not in found["network/endpoints/s3"]


def test_the_default_security_group_is_shut() -> None:
    """The provider removes all rules that the resource does not have."""
    (group,) = resources(network(), "aws_default_security_group").values()
    assert not {"ingress", "egress"} & set(group)


def test_names_resolve_in_the_vpc() -> None:
    """Private DNS of endpoints and EKS's private endpoint need both switches."""
    (vpc,) = resources(network(), "aws_vpc").values()
    assert vpc["enable_dns_support"] is vpc["enable_dns_hostnames"] is True


def test_flow_logs_catch_all_traffic_in_a_log_group() -> None:
    """A year, and everything, by default."""
    document = network()
    (log,) = resources(document, "aws_flow_log").values()
    (group,) = resources(document, "aws_cloudwatch_log_group").values()
    assert (log["traffic_type"], log["log_destination_type"]) == ("ALL", "cloud-watch-logs")
    assert log["vpc_id"] == reference(document, "aws_vpc", "network/vpc")
    assert log["log_destination"] == reference(document, "aws_cloudwatch_log_group", "network/flow-logs/group", "arn")
    assert (group["name"], group["retention_in_days"]) == ("/inferfab/prod-use1-a/flow-logs", 365)


def test_flow_logs_take_a_key_a_boundary_and_less() -> None:
    """What the spec says goes to the log group and the role."""
    key = "arn:aws:kms:us-east-1:111122223333:key/5b9ae1f2-0c7d-4c6e-9a51-2f6f0d1f7a11"
    boundary = "arn:aws:iam::111122223333:policy/inferfab-boundary"
    document = network(
        flow_log_key_arn=key, permissions_boundary_arn=boundary, flow_log_retention_days=30, flow_log_traffic="REJECT"
    )
    (group,) = resources(document, "aws_cloudwatch_log_group").values()
    (role,) = resources(document, "aws_iam_role").values()
    assert (group["kms_key_id"], group["retention_in_days"]) == (key, 30)
    assert role["permissions_boundary"] == boundary
    assert next(iter(resources(document, "aws_flow_log").values()))["traffic_type"] == "REJECT"


def test_the_flow_log_role_writes_one_log_group_for_one_account() -> None:
    """No star but for the group's streams; the service may not use the role for another account."""
    document = network()
    (policy,) = resources(document, "aws_iam_role_policy").values()
    (role,) = resources(document, "aws_iam_role").values()
    group = reference(document, "aws_cloudwatch_log_group", "network/flow-logs/group", "arn")
    (statement,) = json.loads(policy["policy"])["Statement"]
    assert statement["Resource"] == f"{group}:*"
    assert all(action.startswith("logs:") and "*" not in action for action in statement["Action"])
    (trust,) = json.loads(role["assume_role_policy"])["Statement"]
    assert trust["Principal"] == {"Service": "vpc-flow-logs.amazonaws.com"}
    assert "aws:SourceAccount" in trust["Condition"]["StringEquals"]


def test_load_balancers_find_their_subnets_by_tag() -> None:
    """Load balancer controller, subnet discovery: elb for public, internal-elb for private, and the cluster's tag."""
    found = resources(network(), "aws_subnet")
    tags = {path.split("/")[1]: set(s["tags"]) - {"Name"} for path, s in found.items()}
    cluster = "kubernetes.io/cluster/prod-use1-a"
    assert tags == {
        "public": {"kubernetes.io/role/elb", cluster},
        "system": {"kubernetes.io/role/internal-elb", cluster},
        "control-plane-0": {cluster},
        "control-plane-1": {cluster},
        "inference": {cluster},
    }
    assert not any(
        key.startswith("kubernetes.io/cluster/")
        for s in resources(network(cluster_name=None), "aws_subnet").values()
        for key in s["tags"]
    )


def test_everything_that_takes_tags_has_a_name() -> None:
    """So that a person finds it in the console."""
    document = network()
    nameless = {
        "aws_route",
        "aws_route_table_association",
        "aws_iam_role_policy",
        "aws_vpc_security_group_ingress_rule",
    }
    for type_ in set(document["resource"]) - nameless:
        for path, body in resources(document, type_).items():
            assert body["tags"]["Name"].startswith("prod-use1-a"), path


def test_two_runs_write_the_same() -> None:
    """Nothing depends on order, clock or folder."""
    assert json.dumps(network()) == json.dumps(network())


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"cidr": "10.16.0.1/16"}, "write the range: 10.16.0.0/16"),
        ({"cidr": "ten"}, "is not an IPv4 range"),
        ({"cidr": "10.16.0.0"}, "has no length"),
        ({"cidr": "10.0.0.0/8"}, "AWS takes /16 to /28"),
        ({"system_cidr": "10.17.0.0/20"}, "not inside the VPC's range"),
        ({"inference_cidr": "10.16.0.0/18"}, "overlap"),
        ({"public_cidr": "10.16.40.0/29"}, "AWS takes /16 to /28"),
        ({"second_zone": "us-east-1a"}, "must be another zone"),
        ({"zone": "us-west-2a"}, "not a zone of us-east-1"),
        ({"public_cidr": None}, "nat needs public_cidr"),
        ({"endpoints": ("ECR",)}, "endpoints"),
        ({"flow_log_retention_days": 100}, "flow_log_retention_days"),
        ({"nat": True}, "nat"),
        ({"name": "x" * 60}, "name"),
    ],
)
def test_refuses_what_aws_would_refuse_later(changes: dict[str, Any], says: str) -> None:
    """A message before the first API call."""
    with pytest.raises(ValidationError, match=says):
        spec(**changes)


def test_an_existing_network_adds_nothing_by_default() -> None:
    """Not a route, not an endpoint, not a tag."""
    document = stack_json(lambda stack: ExistingNetwork(stack, "network", existing()))
    assert document.get("resource", {}) == {}


def test_both_networks_have_the_same_attributes() -> None:
    """So that a cell's other constructs do not ask whose the network is."""
    made: list[NetworkIds] = []

    def build(stack: Any) -> None:
        made.append(CellNetwork(stack, "new", spec()))
        made.append(ExistingNetwork(stack, "existing", existing(public_subnet_ids=SUBNETS[3:])))

    stack_json(build)
    wanted = {name for name in vars(NetworkIds) if not name.startswith("_")}
    assert len(wanted) == 9
    for one in made:
        assert wanted <= set(vars(one)), one
    assert made[1].control_plane_subnet_ids == SUBNETS[:2]
    assert made[1].public_subnet_ids == SUBNETS[3:]
    assert made[1].inference_subnet_id == SUBNETS[2]


def test_an_existing_network_takes_endpoints_when_asked() -> None:
    """In its first system subnet; the S3 endpoint only for route tables that are named."""
    document = stack_json(
        lambda stack: ExistingNetwork(
            stack, "network", existing(endpoints=("ecr.api",), region="us-east-1", s3_route_table_ids=(TABLE,))
        )
    )
    found = resources(document, "aws_vpc_endpoint")
    assert found["network/endpoints/ecr-api"]["subnet_ids"] == [SUBNETS[0]]
    assert found["network/endpoints/s3"]["route_table_ids"] == [TABLE]
    assert not resources(document, "aws_route")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"vpc_id": "vpc-xyz"}, "looks like vpc-"),
        ({"system_subnet_ids": SUBNETS[:1]}, "two subnets"),
        ({"inference_subnet_id": SUBNETS[3], "public_subnet_ids": SUBNETS[3:]}, "among the public"),
        ({"endpoints": ("sts",)}, "region"),
        ({"endpoints": ("s3",), "region": "us-east-1", "cidr": "10.16.0.1/16"}, "write the range"),
    ],
)
def test_existing_networks_are_checked_too(changes: dict[str, Any], says: str) -> None:
    """What can be known before AWS is asked."""
    with pytest.raises(ValidationError, match=says):
        existing(**changes)
