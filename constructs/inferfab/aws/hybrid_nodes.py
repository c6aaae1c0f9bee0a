"""Owned servers as nodes of an EKS cluster: the role that they come with, and the cluster's door for it."""

from pydantic import Field

from inferfab.aws.account import AccountSpec
from inferfab.aws.iam import RoleName, make_role
from inferfab.aws.iam_policy import policy_document
from inferfab.aws.rules import let_in
from inferfab.aws.values import Ports, Range, SecurityGroupId, range_id
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


class RemoteRule(Record):
    """A way from remote ranges into the cluster's security group."""

    name: str
    ports: Ports
    why: str


class RemoteAccessSpec(Record):
    """What :class:`RemoteAccess` needs."""

    security_group_id: SecurityGroupId
    """The cluster's group, of the control plane's interfaces and the system nodes."""
    sources: tuple[Range, ...]
    rules: tuple[RemoteRule, ...]


class RemoteAccess(Construct):
    """What hybrid nodes and their pods reach of the cluster in AWS: port by port, and nothing else. What goes to them
    needs no rule: EKS lets everything out of the cluster's group.

    Example::

        from inferfab.aws.hybrid_nodes import RemoteAccess, RemoteAccessSpec, RemoteRule
        from inferfab.aws.values import Ports

        RemoteAccess(
            stack,
            "racks",
            RemoteAccessSpec(
                security_group_id="sg-0a1b2c3d4e5f60718",
                sources=("10.80.0.0/24", "10.81.0.0/16"),
                rules=(RemoteRule(name="dns", ports=Ports(first=53, protocol="udp"), why="Cluster DNS"),),
            ),
        )
    """

    def __init__(self, scope: Construct, construct_id: str, spec: RemoteAccessSpec) -> None:
        super().__init__(scope, construct_id)
        for source in spec.sources:
            for rule in spec.rules:
                where = f"{rule.name}-{rule.ports.protocol}-{range_id(source)}"
                let_in(self, where, spec.security_group_id, rule.ports, {"cidr_ipv4": source}, f"{rule.why}: racks")


class HybridNodes(Construct):
    """Servers show a certificate to IAM Roles Anywhere and get this role: to find the cluster, pull images, and fetch
    the credentials of their pods (Pod Identity).

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
                [
                    {"Sid": "Cluster", "Effect": "Allow", "Action": "eks:DescribeCluster", "Resource": cluster},
                    {
                        "Sid": "PodsRoles",
                        "Effect": "Allow",
                        "Action": "eks-auth:AssumeRoleForPodIdentity",
                        "Resource": cluster,
                    },
                ]
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
