"""The two IAM roles that a cluster cannot be without: the control plane's and the nodes'."""

from typing import Annotated

from pydantic import Field

from inferfab.aws.account import AccountSpec
from inferfab.aws.iam_policy import policy_document
from inferfab.record import Record
from inferfab.terraform import Construct, ITerraformDependable
from inferfab.terraform.aws import iam

RoleName = Annotated[str, Field(pattern=r"^[\w+=,.@-]{1,64}$")]
"""Name of an IAM role, 64 characters at most."""


class ClusterRoleSpec(AccountSpec):
    """What :class:`ClusterRole` needs."""

    name: RoleName
    cluster_name: str
    """The one cluster that may take the role on."""
    permissions_boundary_arn: str | None = None
    """Default: no boundary."""


class ClusterRole(Construct):
    """The role that the EKS control plane works under.

    Example::

        role = ClusterRole(
            stack,
            "cluster-role",
            ClusterRoleSpec(
                account_id="111122223333", region="us-east-1", name="prod-use1-a-cluster", cluster_name="prod-use1-a"
            ),
        )
    """

    def __init__(self, scope: Construct, construct_id: str, spec: ClusterRoleSpec) -> None:
        super().__init__(scope, construct_id)
        cluster_arn = f"arn:{spec.partition}:eks:{spec.region}:{spec.account_id}:cluster/{spec.cluster_name}"
        trust = policy_document(
            [
                {
                    "Sid": "ControlPlane",
                    "Effect": "Allow",
                    "Principal": {"Service": "eks.amazonaws.com"},
                    "Action": "sts:AssumeRole",
                    # EKS serves every account; without these, somebody else's cluster could make it act here.
                    "Condition": {
                        "StringEquals": {"aws:SourceAccount": spec.account_id},
                        "ArnLike": {"aws:SourceArn": cluster_arn},
                    },
                }
            ]
        )
        role = make_role(self, spec.name, "EKS control plane", trust, spec.permissions_boundary_arn)
        self.arn = role.arn
        self.name = role.name
        self.ready = attach_managed(self, role, spec.partition, ["AmazonEKSClusterPolicy"])
        """What must be there before a cluster uses the role, and until it is gone."""


class NodeRoleSpec(Record):
    """What :class:`NodeRole` needs."""

    name: RoleName
    partition: str = "aws"
    session_manager: bool = False
    """Open shells on nodes through Systems Manager. Default: no; nobody logs in to nodes."""
    permissions_boundary_arn: str | None = None
    """Default: no boundary."""


class NodeRole(Construct):
    """The role of the nodes: join the cluster and pull images, no more.

    What pods need, the VPC CNI included, they get through Pod Identity: whatever this role may do, a pod that
    reaches the node's credentials may do as well.

    Example::

        nodes = NodeRole(stack, "node-role", NodeRoleSpec(name="prod-use1-a-node"))
    """

    def __init__(self, scope: Construct, construct_id: str, spec: NodeRoleSpec) -> None:
        super().__init__(scope, construct_id)
        trust = policy_document(
            [
                {
                    "Sid": "Nodes",
                    "Effect": "Allow",
                    "Principal": {"Service": "ec2.amazonaws.com"},
                    "Action": "sts:AssumeRole",
                }
            ]
        )
        role = make_role(self, spec.name, "EKS nodes", trust, spec.permissions_boundary_arn)
        policies = ["AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly"]
        if spec.session_manager:
            policies.append("AmazonSSMManagedInstanceCore")
        self.arn = role.arn
        self.name = role.name
        self.ready = attach_managed(self, role, spec.partition, policies)
        """What must be there before a node starts."""


def make_role(scope: Construct, name: str, description: str, trust: str, boundary_arn: str | None) -> iam.IamRole:
    """A role in the construct ``role`` of the scope."""
    arguments: iam.IamRoleArguments = {
        "name": name,
        "description": description,
        "assume_role_policy": trust,
        "tags": {"Name": name},
    }
    if boundary_arn is not None:
        arguments["permissions_boundary"] = boundary_arn
    return iam.IamRole(scope, "role", **arguments)


def attach_managed(
    scope: Construct, role: iam.IamRole, partition: str, policies: list[str]
) -> tuple[ITerraformDependable, ...]:
    """Attach policies that AWS keeps, by name, with the path where they have one (``service-role/…``)."""
    return tuple(
        iam.IamRolePolicyAttachment(
            scope,
            policy.rsplit("/", maxsplit=1)[-1],
            role=role.name,
            policy_arn=f"arn:{partition}:iam::aws:policy/{policy}",
        )
        for policy in policies
    )
