"""An IAM role that one Kubernetes service account takes on, through EKS Pod Identity."""

from typing import Annotated

from pydantic import Field

from inferfab.aws.account import AccountSpec
from inferfab.aws.iam import RoleName, attach_managed, make_role
from inferfab.aws.iam_policy import Statement, pod_identity_trust, policy_document
from inferfab.terraform import Construct
from inferfab.terraform.aws import eks, iam

KubernetesName = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")]


class PodIdentitySpec(AccountSpec):
    """What :class:`PodIdentity` needs."""

    cluster_name: str
    role_name: RoleName
    namespace: KubernetesName
    service_account: KubernetesName
    description: str = ""
    """Default: says which service account it is."""
    managed_policies: tuple[str, ...] = ()
    """Policies that AWS keeps, by name. Default: none."""
    associate: bool = True
    """Default: bind role and service account. An add-on does that by itself: False there."""
    permissions_boundary_arn: str | None = None
    """Default: no boundary."""


class PodIdentity(Construct):
    """A role, its policies, and its association with a service account of one cluster.

    The trust names cluster, namespace and service account, so that an association made by somebody else in the
    account does not give the role to other pods.

    Example::

        PodIdentity(
            stack,
            "autoscaler",
            PodIdentitySpec(
                account_id="111122223333",
                region="us-east-1",
                cluster_name="prod-use1-a",
                role_name="prod-use1-a-autoscaler",
                namespace="kube-system",
                service_account="cluster-autoscaler",
            ),
            statements=[
                {
                    "Sid": "Scale",
                    "Effect": "Allow",
                    "Action": ["autoscaling:SetDesiredCapacity", "autoscaling:TerminateInstanceInAutoScalingGroup"],
                    "Resource": "arn:aws:autoscaling:us-east-1:111122223333:autoScalingGroup:*:autoScalingGroupName/*",
                    "Condition": {
                        "StringEquals": {"aws:ResourceTag/k8s.io/cluster-autoscaler/prod-use1-a": "owned"}
                    },
                }
            ],
        )
    """

    def __init__(
        self, scope: Construct, construct_id: str, spec: PodIdentitySpec, *, statements: list[Statement] | None = None
    ) -> None:
        """:param statements: what the role may do beside its managed policies. Default: nothing."""
        super().__init__(scope, construct_id)
        role = make_role(
            self,
            spec.role_name,
            spec.description or f"{spec.namespace}/{spec.service_account}",
            policy_document(
                [pod_identity_trust(spec.account_id, spec.cluster_name, spec.namespace, spec.service_account)]
            ),
            spec.permissions_boundary_arn,
        )
        self.ready = attach_managed(self, role, spec.partition, list(spec.managed_policies))
        """Policies that a pod needs from its first call on."""
        self.policy: iam.IamRolePolicy | None = None
        """The inline policy; None without statements."""
        if statements:
            self.policy = policy = iam.IamRolePolicy(
                self, "policy", name=spec.role_name, role=role.name, policy=policy_document(statements)
            )
            self.ready = (*self.ready, policy)
        if spec.associate:
            eks.EksPodIdentityAssociation(
                self,
                "association",
                cluster_name=spec.cluster_name,
                namespace=spec.namespace,
                service_account=spec.service_account,
                role_arn=role.arn,
                tags={"Name": spec.role_name},
                depends_on=list(self.ready),
            )
        self.role_arn = role.arn
        self.role_name = role.name
