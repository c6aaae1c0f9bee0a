"""Who may come in, and what roles may do, in every stack of every environment."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from synthesized import ALL, ENVIRONMENTS, at, every, fleet, reference, stacks

from inferfab.terraform.skips import recorded_skips

ANYWHERE = {"0.0.0.0/0", "::/0"}
Statement = Mapping[str, Any]

WHOLE_RESOURCE = "CKV_AWS_355"
"""The check under which a policy's reason for a wildcard resource stands."""
KEY_ADMINISTRATION = ("aws_kms_key", "Account", "kms:*")
"""A key without AWS's own first statement could be administered by nobody, and IAM policies would not count for it
(encryption_key.py says so beside it); it goes to the account's root only."""


@pytest.mark.parametrize("name", ALL)
def test_the_internet_reaches_the_load_balancer_on_443_and_nothing_else(name: str) -> None:
    """One public rule a public cell, on the group of its load balancer; none elsewhere, none inline."""
    public = {
        path: rule
        for path, rule in every(stacks(name), "aws_vpc_security_group_ingress_rule")
        if {rule.get("cidr_ipv4"), rule.get("cidr_ipv6")} & ANYWHERE or "prefix_list_id" in rule
    }
    entrances = {}
    for cell in fleet(name).cells:
        there = cell.network.existing
        if cell.gateway.public and (there is None or there.public_subnet_ids):
            entrances[f"{fleet(name).ownership.name}-{cell.name}-foundation"] = cell
    assert {path.split("/")[0] for path in public} == entrances.keys()
    assert len(public) == len(entrances)
    for path, rule in public.items():
        stack = path.split("/")[0]
        group = at(stacks(name)[stack], "aws_security_group", f"{stack}/load-balancer-group/group")
        assert rule["security_group_id"] == reference("aws_security_group", group, "id")
        assert (rule["ip_protocol"], rule["from_port"], rule["to_port"]) == ("tcp", 443, 443)
        balancer = at(stacks(name)[stack], "aws_lb", f"{stack}/load-balancer/nlb")
        assert balancer["security_groups"] == [reference("aws_security_group", group, "id")]
        assert balancer["internal"] is False
    for kind in ("aws_security_group", "aws_default_security_group"):
        for path, group in every(stacks(name), kind):
            assert "ingress" not in group and "egress" not in group, path
    assert not list(every(stacks(name), "aws_security_group_rule"))


@pytest.mark.parametrize("name", ALL)
def test_rules_from_ranges_are_few_and_known(name: str) -> None:
    """Beside groups that name each other: the load balancer's clients, runners, and clients of the endpoints."""
    for path, rule in every(stacks(name), "aws_vpc_security_group_ingress_rule"):
        if "cidr_ipv4" in rule or "cidr_ipv6" in rule:
            assert path.split("/")[1] in {"load-balancer-group", "cluster", "network"}, path
            assert rule["ip_protocol"] == "tcp" and rule["from_port"] == rule["to_port"] == 443, path


@pytest.mark.parametrize("name", ALL)
def test_no_subnet_hands_out_public_addresses_and_no_bucket_is_public(name: str) -> None:
    """Beside the load balancer and the NAT gateway nothing has a public address."""
    for path, subnet in every(stacks(name), "aws_subnet"):
        assert subnet.get("map_public_ip_on_launch") is False, path
    buckets = dict(every(stacks(name), "aws_s3_bucket"))
    blocks = [block for _, block in every(stacks(name), "aws_s3_bucket_public_access_block")]
    assert len(blocks) == len(buckets)
    for block in blocks:
        for switch in ("block_public_acls", "block_public_policy", "ignore_public_acls", "restrict_public_buckets"):
            assert block[switch] is True


@pytest.mark.parametrize("name", ALL)
def test_cluster_endpoints_are_as_access_says(name: str) -> None:
    """Private, or public for the named ranges only; never for everyone."""
    access = fleet(name).ownership.access
    for path, cluster in every(stacks(name), "aws_eks_cluster"):
        network = cluster["vpc_config"]
        assert network["endpoint_private_access"] is True, path
        assert network["endpoint_public_access"] is (access.kind == "public")
        if access.kind == "public":
            assert network["public_access_cidrs"] == list(access.allowed_cidrs)
            assert not ANYWHERE & set(network["public_access_cidrs"])


def policies(name: str) -> Iterator[tuple[str, str, str, str]]:
    """Stack, type, address and text of every policy document."""
    for stack, document in stacks(name).items():
        for type_, members in document.get("resource", {}).items():
            for logical_id, body in members.items():
                for argument in ("policy", "assume_role_policy"):
                    if type_ != "aws_ecr_lifecycle_policy" and argument in body:
                        yield stack, type_, f"{type_}.{logical_id}", body[argument]


def listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value or [])


def allowed(text: str) -> list[Statement]:
    return [s for s in json.loads(text)["Statement"] if s["Effect"] == "Allow"]


@pytest.mark.parametrize("name", ALL)
def test_no_role_has_a_wildcard_action(name: str) -> None:
    """Not `*`, not `s3:*`, not `ec2:Describe*`: each action is named. Nor does anything allow by NotAction."""
    seen = 0
    for stack, type_, address, text in policies(name):
        if type_ == "aws_vpc_endpoint":
            continue  # bounds what goes through, and grants nothing; has its own test
        for statement in allowed(text):
            seen += 1
            assert "NotAction" not in statement and "NotResource" not in statement and "NotPrincipal" not in statement
            for action in listed(statement["Action"]):
                if "*" not in action or (type_, statement["Sid"], action) == KEY_ADMINISTRATION:
                    continue
                # KMS documents GenerateDataKey* for services that encrypt: with and without plaintext.
                assert (type_, action) == ("aws_kms_key", "kms:GenerateDataKey*"), f"{stack} {address}: {action}"
                assert "Condition" in statement and "Service" in statement["Principal"]
    assert seen > 20


@pytest.mark.parametrize("name", ALL)
def test_a_wildcard_resource_has_its_reason_beside_it(name: str) -> None:
    """In the policy of a role: `*` only with a recorded reason, and only for what cannot be narrower."""
    for stack, type_, address, text in policies(name):
        if type_ not in {"aws_iam_role_policy", "aws_iam_policy"}:
            continue
        reasons = {s.check_id: s.reason for s in recorded_skips(stacks(name)[stack]) if s.address == address}
        for statement in allowed(text):
            if "*" in listed(statement["Resource"]):
                assert len(reasons.get(WHOLE_RESOURCE, "")) > 20, f"{stack} {address} {statement['Sid']}"
                assert all(
                    action.split(":")[1].startswith(("Describe", "List", "Get"))
                    for action in listed(statement["Action"])
                ), "only what looks, and never what changes"


@pytest.mark.parametrize("name", ALL)
def test_policies_of_resources_name_who(name: str) -> None:
    """A key, topic or bucket lets in named roles of this account, or a service under a condition; never everyone."""
    for stack, type_, address, text in policies(name):
        for statement in allowed(text):
            principal = statement.get("Principal")
            if type_ in {"aws_iam_role_policy", "aws_iam_policy"}:
                assert principal is None
            elif type_ == "aws_vpc_endpoint":
                account = statement.get("Condition", {}).get("StringEquals", {}).get("aws:PrincipalAccount")
                # A pod with a service account's token has no AWS identity yet (endpoint_policies.py).
                assert account or listed(statement["Action"]) == ["sts:AssumeRoleWithWebIdentity"], address
            else:
                assert isinstance(principal, dict), f"{stack} {address}"
                for who in listed(principal.get("AWS")):
                    assert who.startswith(f"arn:aws:iam::{account_of(name)}:"), f"{address}: {who}"
                if "Service" in principal and type_ != "aws_iam_role":
                    assert "Condition" in statement, f"{stack} {address}: any customer's {principal['Service']}"


def account_of(name: str) -> str:
    account = fleet(name).ownership.accounts.aws
    assert account is not None
    return account.account_id


@pytest.mark.parametrize("name", ALL)
def test_every_role_trusts_one_service_and_has_the_boundary(name: str) -> None:
    """Where the environment names a permissions boundary, every role has it; where it names none, none has."""
    account = fleet(name).ownership.accounts.aws
    assert account is not None
    bound = account.permissions_boundary
    expected = f"arn:aws:iam::{account.account_id}:policy/{bound}" if bound else None
    roles = dict(every(stacks(name), "aws_iam_role"))
    assert len(roles) >= 4
    for path, role in roles.items():
        assert role.get("permissions_boundary") == expected, path
        (statement,) = json.loads(role["assume_role_policy"])["Statement"]
        assert list(statement["Principal"]) == ["Service"], path


def test_an_environment_names_a_boundary() -> None:
    """Else the test above would show nothing."""
    boundaries = [account.permissions_boundary for n in ENVIRONMENTS if (account := fleet(n).ownership.accounts.aws)]
    assert "inferfab-boundary" in boundaries


@pytest.mark.parametrize("name", ALL)
def test_managed_policies_are_the_few_that_eks_asks_for(name: str) -> None:
    """No administrator, no power user: EKS's own policies of cluster, nodes, network plugin and disk driver."""
    arns = {body["policy_arn"] for _, body in every(stacks(name), "aws_iam_role_policy_attachment")}
    assert {arn.rpartition("/")[2] for arn in arns} <= {
        "AmazonEKSClusterPolicy",
        "AmazonEKSWorkerNodePolicy",
        "AmazonEC2ContainerRegistryPullOnly",
        "AmazonEKS_CNI_Policy",
        "AmazonEBSCSIDriverPolicy",
    }


def test_certificates_may_be_proven_for_the_cells_own_names_only() -> None:
    """cert-manager writes TXT records of the tiers' challenges and of the cell's, and nothing else in the zone."""
    document = stacks("prod")["prod-use1-a-foundation"]
    found = []
    for _, policy in every({"": document}, "aws_iam_role_policy"):
        found += [s for s in json.loads(policy["policy"])["Statement"] if "route53" in json.dumps(s)]
    (writes,) = [s for s in found if s["Action"] == ["route53:ChangeResourceRecordSets"]]
    assert writes["Condition"] == {
        "ForAllValues:StringEquals": {
            "route53:ChangeResourceRecordSetsNormalizedRecordNames": [
                f"_acme-challenge.{name}.llm.example.com" for name in ("priority", "standard", "batch", "use1-a")
            ],
            "route53:ChangeResourceRecordSetsRecordTypes": ["TXT"],
        }
    }


def test_external_secrets_may_read_the_keys_of_tenants_by_name() -> None:
    """Those of prod, and no pattern that takes in another's."""
    document = stacks("prod")["prod-use1-a-foundation"]
    arns = [
        arn
        for _, policy in every({"": document}, "aws_iam_role_policy")
        for s in json.loads(policy["policy"])["Statement"]
        if "secretsmanager:GetSecretValue" in s["Action"]
        for arn in s["Resource"]
    ]
    assert [arn.split(":secret:")[1] for arn in arns] == [
        f"prod/tenants/{name}-??????" for name in ("assistant", "search", "reports")
    ]
