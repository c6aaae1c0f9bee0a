"""The cluster, its key, its roles and who may enter. Expectations from AWS's EKS, KMS and IAM guides."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from inferfab.aws.access import AccessEntry, ClusterAccessSpec
from inferfab.aws.cluster import EksCluster
from inferfab.aws.cluster_ids import ClusterIds
from inferfab.aws.cluster_key import ClusterKey, ClusterKeySpec
from inferfab.aws.existing_cluster import ExistingCluster, ExistingClusterSpec
from inferfab.aws.pod_identity import PodIdentity, PodIdentitySpec
from inferfab.terraform import TerraformStack

from .samples_eks import ACCOUNT, BOUNDARY, KEY, NAME, REGION, cluster_spec, whole_cell
from .synth_eks import Document, address, only, resources, stack_json, stack_text, statements


@pytest.fixture(scope="module")
def cell() -> Document:
    return stack_json(whole_cell)


def cluster_of(**changes: Any) -> dict[str, Any]:
    return only(stack_json(lambda stack: EksCluster(stack, "cluster", cluster_spec(**changes))), "aws_eks_cluster")


def test_a_cluster_is_private_encrypted_and_closed_to_its_creator() -> None:
    """No public endpoint, access entries only, no creator as admin, secrets under our key."""
    cluster = cluster_of()
    assert cluster["vpc_config"] == {
        "subnet_ids": ["subnet-0aaaaaaaaaaaaaaa1", "subnet-0aaaaaaaaaaaaaaa2"],
        "endpoint_private_access": True,
        "endpoint_public_access": False,
    }
    assert cluster["access_config"] == {
        "authentication_mode": "API",
        "bootstrap_cluster_creator_admin_permissions": False,
    }
    assert cluster["encryption_config"] == {"provider": {"key_arn": KEY}, "resources": ["secrets"]}
    assert cluster["version"] == "1.36"
    assert cluster["bootstrap_self_managed_addons"] is False


def test_a_cluster_does_not_slide_into_extended_support() -> None:
    """EKS's default is EXTENDED, six times the price an hour; ours is STANDARD."""
    assert cluster_of()["upgrade_policy"] == {"support_type": "STANDARD"}
    assert cluster_of(support_type="EXTENDED")["upgrade_policy"] == {"support_type": "EXTENDED"}


def test_all_control_plane_logs_go_to_a_group_made_before(cell: Document) -> None:
    """EKS would make the group by itself: unencrypted and without retention."""
    cluster, group = only(cell, "aws_eks_cluster"), only(cell, "aws_cloudwatch_log_group")
    assert sorted(cluster["enabled_cluster_log_types"]) == [
        "api", "audit", "authenticator", "controllerManager", "scheduler",
    ]  # fmt: skip
    assert group["name"] == "/aws/eks/prod-use1-a/cluster"
    assert group["retention_in_days"] == 365
    assert group["kms_key_id"] == "${" + address(cell, "aws_kms_key", "key/key") + ".arn}"
    assert address(cell, "aws_cloudwatch_log_group", "cluster/logs") in cluster["depends_on"]


def test_the_cluster_waits_for_the_policies_of_its_role(cell: Document) -> None:
    """Without the attachment EKS refuses the role, and on the way down cannot remove its interfaces."""
    attachment = address(cell, "aws_iam_role_policy_attachment", "cluster-role/AmazonEKSClusterPolicy")
    assert attachment in only(cell, "aws_eks_cluster")["depends_on"]


def test_protection_holds_in_terraform_and_in_the_api() -> None:
    """Both by default, neither where the spec says so."""
    kept, free = cluster_of(), cluster_of(protected=False)
    assert (kept["deletion_protection"], kept["lifecycle"]["prevent_destroy"]) == (True, True)
    assert (free["deletion_protection"], free["lifecycle"]["prevent_destroy"]) == (False, False)


def test_a_public_endpoint_names_its_ranges_and_says_why_it_fails_checkov() -> None:
    """CKV_AWS_39 wants no public endpoint: the reason stands beside the resource."""
    cluster = cluster_of(public_access_cidrs=("203.0.113.0/24",))
    assert cluster["vpc_config"]["endpoint_public_access"] is True
    assert cluster["vpc_config"]["public_access_cidrs"] == ["203.0.113.0/24"]
    assert "on request" in cluster["//"]["checkov_skips"]["CKV_AWS_39"]


def test_runners_reach_a_private_endpoint_by_named_range() -> None:
    """On 443 only, through the group that EKS makes; each rule's address comes from its range."""
    spec = cluster_spec(private_access_cidrs=("10.0.0.0/16", "10.9.0.0/24"))
    document = stack_json(lambda stack: EksCluster(stack, "cluster", spec))
    rules = resources(document, "aws_vpc_security_group_ingress_rule")
    assert set(rules) == {"cluster/api-from-10-0-0-0-16", "cluster/api-from-10-9-0-0-24"}
    rule = rules["cluster/api-from-10-0-0-0-16"]
    assert (rule["cidr_ipv4"], rule["ip_protocol"], rule["from_port"], rule["to_port"]) == (
        "10.0.0.0/16",
        "tcp",
        443,
        443,
    )
    group = address(document, "aws_eks_cluster", "cluster/cluster")
    assert rule["security_group_id"] == "${" + group + ".vpc_config[0].cluster_security_group_id}"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"public_access_cidrs": ("0.0.0.0/0",)}, "whole internet"),
        ({"private_access_cidrs": ("0.0.0.0/0",)}, "whole internet"),
        ({"public_access_cidrs": ("203.0.113.7/24",)}, "public_access_cidrs"),
        ({"subnet_ids": ("subnet-1",)}, "two subnets"),
        ({"subnet_ids": ("subnet-1", "subnet-1")}, "two subnets"),
        ({"kubernetes_version": "1.36.1"}, "kubernetes_version"),
        ({"name": "-prod"}, "name"),
        ({"log_retention_days": 42}, "log_retention_days"),
        ({"kms_key": KEY}, "kms_key"),
    ],
)
def test_a_wrong_cluster_is_refused_in_python(changes: dict[str, Any], message: str) -> None:
    """Before any provider is asked, with the field or the reason in the message."""
    with pytest.raises(ValidationError, match=message):
        cluster_spec(**changes)


def test_a_found_cluster_offers_what_a_made_one_does() -> None:
    """Both can be passed wherever ClusterIds are asked for."""

    def build(stack: TerraformStack) -> None:
        made: ClusterIds = EksCluster(stack, "made", cluster_spec())
        found: ClusterIds = ExistingCluster(stack, "found", ExistingClusterSpec(name="shared"))
        for ids in (made, found):
            assert all((ids.name, ids.arn, ids.endpoint, ids.certificate_authority, ids.security_group_id, ids.version))

    assert resources(stack_json(build), "aws_eks_cluster", "data")["found/cluster"]["name"] == "shared"


def test_the_key_rotates_and_is_kept(cell: Document) -> None:
    """Rotation is on, deletion waits as long as KMS lets it, Terraform does not start it."""
    key = only(cell, "aws_kms_key")
    assert key["enable_key_rotation"] is True
    assert key["deletion_window_in_days"] == 30
    assert key["lifecycle"]["prevent_destroy"] is True
    assert only(cell, "aws_kms_alias")["name"] == "alias/prod-use1-a-cluster"


def test_nobody_decrypts_through_an_iam_policy_alone(cell: Document) -> None:
    """Account-wide, only administration, and use through EC2; no statement has kms:* or a public principal."""
    found = statements(only(cell, "aws_kms_key")["policy"])
    assert "kms:Decrypt" not in found["Administration"]["Action"]
    assert found["VolumesThroughEc2"]["Condition"]["StringEquals"] == {
        "kms:CallerAccount": ACCOUNT,
        "kms:ViaService": "ec2.us-east-1.amazonaws.com",
    }
    for statement in found.values():
        assert not any("*" in action for action in statement["Action"])
        assert "*" not in statement["Principal"].values()


def test_auto_scaling_may_start_nodes_with_encrypted_disks(cell: Document) -> None:
    """Two statements, as AWS's Auto Scaling guide has them: use, and grants for AWS resources only."""
    found = statements(only(cell, "aws_kms_key")["policy"])
    roles = [
        "arn:aws:iam::111122223333:role/aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling",
        "arn:aws:iam::111122223333:role/aws-service-role/spot.amazonaws.com/AWSServiceRoleForEC2Spot",
    ]
    assert found["NodeDisks"]["Principal"] == {"AWS": roles}
    assert {"kms:Encrypt", "kms:Decrypt", "kms:ReEncryptFrom", "kms:ReEncryptTo", "kms:GenerateDataKey",
            "kms:GenerateDataKeyWithoutPlaintext", "kms:DescribeKey"} == set(found["NodeDisks"]["Action"])  # fmt: skip
    assert found["NodeDiskGrants"]["Action"] == ["kms:CreateGrant"]
    assert found["NodeDiskGrants"]["Condition"] == {"Bool": {"kms:GrantIsForAWSResource": "true"}}


def test_logs_use_the_key_for_the_named_groups_only(cell: Document) -> None:
    """The service principal of the region, bound by the encryption context."""
    logs = statements(only(cell, "aws_kms_key")["policy"])["Logs"]
    assert logs["Principal"] == {"Service": "logs.us-east-1.amazonaws.com"}
    assert logs["Condition"]["ArnEquals"]["kms:EncryptionContext:aws:logs:arn"] == [
        "arn:aws:logs:us-east-1:111122223333:log-group:/aws/eks/prod-use1-a/cluster",
        "arn:aws:logs:us-east-1:111122223333:log-group:/inferfab/prod-use1-a/flow-logs",
    ]


def test_a_key_without_uses_has_no_statements_for_them() -> None:
    """An existing cluster brings its own key for secrets; then ours says nothing of it."""
    spec = ClusterKeySpec(account_id=ACCOUNT, region=REGION, alias="alias/x", launched_by=())
    document = stack_json(lambda stack: ClusterKey(stack, "key", spec))
    assert set(statements(only(document, "aws_kms_key")["policy"])) == {"Administration", "VolumesThroughEc2"}


def test_every_role_is_inside_the_boundary(cell: Document) -> None:
    """Also those of the add-ons' pods."""
    roles = resources(cell, "aws_iam_role")
    assert set(roles) == {"cluster-role/role", "node-role/role", "network-addons/cni/role", "core-addons/ebs-csi/role"}
    assert {role["permissions_boundary"] for role in roles.values()} == {BOUNDARY}


def test_the_cluster_role_is_for_this_cluster(cell: Document) -> None:
    """EKS's confused-deputy page: account and cluster stand in the trust."""
    trust = statements(resources(cell, "aws_iam_role")["cluster-role/role"]["assume_role_policy"])["ControlPlane"]
    assert trust["Principal"] == {"Service": "eks.amazonaws.com"}
    assert trust["Condition"]["StringEquals"] == {"aws:SourceAccount": ACCOUNT}
    assert trust["Condition"]["ArnLike"] == {"aws:SourceArn": "arn:aws:eks:us-east-1:111122223333:cluster/prod-use1-a"}


def test_nodes_may_join_and_pull_and_no_more(cell: Document) -> None:
    """Not the CNI policy: what it allows, every pod with the node's credentials would be allowed."""
    attached = resources(cell, "aws_iam_role_policy_attachment")
    policies = {body["policy_arn"] for path, body in attached.items() if path.startswith("node-role/")}
    assert policies == {
        "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy",
        "arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryPullOnly",
    }


def test_access_entries_are_cluster_wide_or_by_namespace(cell: Document) -> None:
    """A policy association with a scope for each entry."""
    entries = resources(cell, "aws_eks_access_entry")
    assert {e["principal_arn"].rpartition("/")[2] for e in entries.values()} == {"inferfab-deploy", "chat-team"}
    assert {e["type"] for e in entries.values()} == {"STANDARD"}
    associated = resources(cell, "aws_eks_access_policy_association")
    deploy, team = associated["access/deploy-policy"], associated["access/chat-team-policy"]
    assert deploy["policy_arn"] == "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"
    assert deploy["access_scope"] == {"type": "cluster"}
    assert team["policy_arn"] == "arn:aws:eks::aws:cluster-access-policy/AmazonEKSViewPolicy"
    assert team["access_scope"] == {"type": "namespace", "namespaces": ["serving-priority"]}


@pytest.mark.parametrize("field", ["name", "principal_arn"])
def test_two_entries_of_one_principal_are_refused(field: str) -> None:
    """EKS takes one entry a principal."""
    values = [{"name": "a", "principal_arn": "arn:a"}, {"name": "b", "principal_arn": "arn:b"}]
    values[1][field] = values[0][field]
    with pytest.raises(ValidationError, match="one a principal"):
        ClusterAccessSpec(cluster_name="c", entries=tuple(AccessEntry(**v) for v in values))


def test_a_pod_role_is_for_one_service_account_of_one_cluster() -> None:
    """The session tags that Pod Identity sets stand in the trust; docs: pod-id-role, pod-id-abac."""
    spec = PodIdentitySpec(
        account_id=ACCOUNT,
        region=REGION,
        cluster_name=NAME,
        role_name=f"{NAME}-secrets",
        namespace="external-secrets",
        service_account="external-secrets",
    )
    document = stack_json(lambda stack: PodIdentity(stack, "secrets", spec))
    trust = statements(only(document, "aws_iam_role")["assume_role_policy"])["PodIdentity"]
    assert trust["Principal"] == {"Service": "pods.eks.amazonaws.com"}
    assert trust["Action"] == ["sts:AssumeRole", "sts:TagSession"]
    assert trust["Condition"]["StringEquals"] == {
        "aws:SourceAccount": ACCOUNT,
        "aws:RequestTag/eks-cluster-name": NAME,
        "aws:RequestTag/kubernetes-namespace": "external-secrets",
        "aws:RequestTag/kubernetes-service-account": "external-secrets",
    }
    association = only(document, "aws_eks_pod_identity_association")
    assert (association["namespace"], association["service_account"]) == ("external-secrets", "external-secrets")
    assert not resources(document, "aws_iam_role_policy")


def test_the_same_cell_is_the_same_bytes() -> None:
    """No clock, no counter, no path of this machine."""
    first = stack_text(whole_cell)
    assert first == stack_text(whole_cell)
    assert "/tmp" not in first and "/work" not in first
    json.loads(first)
