"""Add-ons: order, pods' roles, versions. Expectations from the EKS user guide and the add-ons' own settings."""

import json

import pytest
from pydantic import ValidationError

from inferfab.aws.addon import AddonVersions
from inferfab.aws.network_addons import NetworkAddons, NetworkAddonsSpec

from .samples_eks import ACCOUNT, NAME, REGION, whole_cell
from .synth_eks import Document, address, resources, stack_json, statements


@pytest.fixture(scope="module")
def cell() -> Document:
    return stack_json(whole_cell)


def network(**changes: object) -> Document:
    values = {"account_id": ACCOUNT, "region": REGION, "cluster_name": NAME, "kubernetes_version": "1.36",
              "cni_role_name": "cni"} | changes  # fmt: skip
    return stack_json(lambda stack: NetworkAddons(stack, "net", NetworkAddonsSpec.model_validate(values)))


def test_a_cluster_has_these_addons(cell: Document) -> None:
    """All that a cluster needs, as add-ons of EKS; none of them self-managed."""
    assert {body["addon_name"] for body in resources(cell, "aws_eks_addon").values()} == {
        "eks-pod-identity-agent", "vpc-cni", "kube-proxy", "coredns", "aws-ebs-csi-driver", "eks-node-monitoring-agent",
    }  # fmt: skip


def test_nodes_come_after_networking_and_dns_after_nodes(cell: Document) -> None:
    """A node is not ready without a CNI; EKS waits in vain for CoreDNS where no node is."""
    cni = address(cell, "aws_eks_addon", "network-addons/vpc-cni")
    groups = resources(cell, "aws_eks_node_group")
    assert len(groups) == 4
    for group in groups.values():
        assert cni in group["depends_on"]
        assert (
            address(cell, "aws_iam_role_policy_attachment", "node-role/AmazonEKSWorkerNodePolicy")
            in (group["depends_on"])
        )
    addons = resources(cell, "aws_eks_addon")
    system = address(cell, "aws_eks_node_group", "system/group")
    for name in ("coredns", "aws-ebs-csi-driver", "eks-node-monitoring-agent"):
        assert system in addons[f"core-addons/{name}"]["depends_on"]


def test_the_cni_gets_its_rights_through_pod_identity(cell: Document) -> None:
    """After the agent that hands them out, and with a role of its own."""
    cni = resources(cell, "aws_eks_addon")["network-addons/vpc-cni"]
    role = address(cell, "aws_iam_role", "network-addons/cni/role")
    assert cni["pod_identity_association"] == [{"service_account": "aws-node", "role_arn": "${" + role + ".arn}"}]
    assert address(cell, "aws_eks_addon", "network-addons/eks-pod-identity-agent") in cni["depends_on"]
    attached = resources(cell, "aws_iam_role_policy_attachment")["network-addons/cni/AmazonEKS_CNI_Policy"]
    assert attached["policy_arn"] == "arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy"


def test_prefix_delegation_is_a_choice() -> None:
    """The CNI reads texts, not booleans."""
    on = resources(network(), "aws_eks_addon")["net/vpc-cni"]
    off = resources(network(prefix_delegation=False), "aws_eks_addon")["net/vpc-cni"]
    assert json.loads(on["configuration_values"]) == {
        "enableNetworkPolicy": "true",
        "env": {"ENABLE_PREFIX_DELEGATION": "true", "WARM_PREFIX_TARGET": "1"},
    }
    assert json.loads(off["configuration_values"])["env"] == {"ENABLE_PREFIX_DELEGATION": "false"}


def test_a_stated_version_is_followed_and_an_unstated_one_is_eks_default_for_the_cluster() -> None:
    """So an upgrade of the cluster brings its add-ons along; what is pinned stays, whatever AWS names."""
    document = network(versions=AddonVersions(vpc_cni="v1.22.4-eksbuild.1"))
    addons = resources(document, "aws_eks_addon")
    assert addons["net/vpc-cni"]["addon_version"] == "v1.22.4-eksbuild.1"
    asked = document["data"]["aws_eks_addon_version"]
    (key,) = (key for key, one in asked.items() if one["addon_name"] == "kube-proxy")
    assert asked[key]["kubernetes_version"] == "1.36" and "most_recent" not in asked[key]
    assert addons["net/kube-proxy"]["addon_version"] == f"${{data.aws_eks_addon_version.{key}.version}}"
    assert not any(one["addon_name"] == "vpc-cni" for one in asked.values())
    assert not any("lifecycle" in one for one in addons.values())


def test_a_version_that_is_none_is_refused() -> None:
    """`latest` is not a version."""
    with pytest.raises(ValidationError, match="vpc_cni"):
        AddonVersions(vpc_cni="latest")


def test_volumes_are_encrypted_or_not_made(cell: Document) -> None:
    """The driver may use the key through EC2, and is denied volumes without encryption."""
    policy = resources(cell, "aws_iam_role_policy")["core-addons/ebs-csi/policy"]["policy"]
    found = statements(policy)
    assert found["DenyUnencrypted"]["Effect"] == "Deny"
    assert found["DenyUnencrypted"]["Condition"] == {"Bool": {"ec2:Encrypted": "false"}}
    key = "${" + address(cell, "aws_kms_key", "key/key") + ".arn}"
    assert found["UseKey"]["Resource"] == found["GrantToEc2"]["Resource"] == key
    assert found["GrantToEc2"]["Condition"]["Bool"] == {"kms:GrantIsForAWSResource": "true"}


def test_controllers_stay_on_system_nodes(cell: Document) -> None:
    """CoreDNS and the EBS controller; the daemons go everywhere."""
    addons = resources(cell, "aws_eks_addon")
    selector = {"nodeSelector": {"inferfab/pool": "system"}}
    assert json.loads(addons["core-addons/coredns"]["configuration_values"]) == selector
    assert json.loads(addons["core-addons/aws-ebs-csi-driver"]["configuration_values"]) == {"controller": selector}
    assert "configuration_values" not in addons["core-addons/eks-node-monitoring-agent"]
