"""Owned servers as nodes of an EKS cluster: the role that they come with, and the cluster's door for it."""

from pydantic import Field

from inferfab.aws.account import AccountSpec
from inferfab.aws.iam import RoleName, make_role
from inferfab.aws.iam_policy import policy_document
from inferfab.record import Record
from inferfab.terraform import Construct
from inferfab.terraform.aws import eks, iam


class HybridNodesSpec(AccountSpec):
    """What :class:`HybridNodes` needs."""

    name: RoleName
    cluster_name: str
    trust_anchor_arn: str | None = Field(default=None, pattern=r":trust-anchor/")
    """IAM Roles Anywhere trust anchor of the CA that signs the servers' certificates. Default: any of the account."""
    permissions_boundary_arn: str | None = None
    """Default: no boundary."""


class RemoteNetworks(Record):
    """Ranges of hybrid nodes and of their pods, which the cluster must know."""

    node_cidr: str
    pod_cidr: str


class HybridNodes(Construct):
    """Servers show a certificate to IAM Roles Anywhere and get this role: to find the cluster and pull images.

    Example::

        from inferfab.aws.hybrid_nodes import HybridNodes, HybridNodesSpec

        HybridNodes(
            stack,
            "hybrid-nodes",
            HybridNodesSpec(
                account_id="111122223333",
                region="us-east-1",
                name="prod-hybrid-dc1-hybrid-node",
                cluster_name="prod-hybrid-dc1",
            ),
        )
    """

    def __init__(self, scope: Construct, construct_id: str, spec: HybridNodesSpec) -> None:
        super().__init__(scope, construct_id)
        anchors = f"arn:{spec.partition}:rolesanywhere:{spec.region}:{spec.account_id}:trust-anchor/*"
        trust = policy_document(
            [
                {
                    "Sid": "ServersWithACertificate",
                    "Effect": "Allow",
                    "Principal": {"Service": "rolesanywhere.amazonaws.com"},
                    "Action": ["sts:AssumeRole", "sts:SetSourceIdentity", "sts:TagSession"],
                    # The service serves every account; this holds it to ours, or to one CA.
                    "Condition": {"ArnLike": {"aws:SourceArn": spec.trust_anchor_arn or anchors}},
                }
            ]
        )
        role = make_role(self, spec.name, "EKS hybrid nodes", trust, spec.permissions_boundary_arn)
        cluster = f"arn:{spec.partition}:eks:{spec.region}:{spec.account_id}:cluster/{spec.cluster_name}"
        iam.IamRolePolicy(
            self,
            "cluster",
            name="find-the-cluster",
            role=role.name,
            policy=policy_document(
                [{"Sid": "Cluster", "Effect": "Allow", "Action": "eks:DescribeCluster", "Resource": cluster}]
            ),
        )
        iam.IamRolePolicyAttachment(
            self,
            "images",
            role=role.name,
            policy_arn=f"arn:{spec.partition}:iam::aws:policy/AmazonEC2ContainerRegistryPullOnly",
        )
        eks.EksAccessEntry(
            self,
            "entry",
            cluster_name=spec.cluster_name,
            principal_arn=role.arn,
            type="HYBRID_LINUX",
            tags={"Name": spec.name},
        )
        self.arn = role.arn
