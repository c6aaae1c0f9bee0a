"""The KMS key of a cell: Kubernetes secrets, node disks, volumes and logs."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field

from inferfab.aws.account import AccountSpec, KmsAlias
from inferfab.aws.iam_policy import Statement, policy_document
from inferfab.terraform import Construct, Lifecycle
from inferfab.terraform.aws import kms

_ADMINISTER = (
    "kms:CancelKeyDeletion", "kms:CreateAlias", "kms:CreateGrant", "kms:DeleteAlias", "kms:DescribeKey",
    "kms:DisableKey", "kms:DisableKeyRotation", "kms:EnableKey", "kms:EnableKeyRotation", "kms:GetKeyPolicy",
    "kms:GetKeyRotationStatus", "kms:ListGrants", "kms:ListKeyPolicies", "kms:ListKeyRotations",
    "kms:ListResourceTags", "kms:PutKeyPolicy", "kms:RevokeGrant", "kms:RotateKeyOnDemand",
    "kms:ScheduleKeyDeletion", "kms:TagResource", "kms:UntagResource", "kms:UpdateAlias",
    "kms:UpdateKeyDescription",
)  # fmt: skip
_USE = (
    "kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey", "kms:GenerateDataKeyWithoutPlaintext",
    "kms:ReEncryptFrom", "kms:ReEncryptTo",
)  # fmt: skip
"""What the AWS guides write as ``Encrypt``, ``Decrypt``, ``ReEncrypt*``, ``GenerateDataKey*``, ``DescribeKey``, without
the key pairs that the last asterisk would take in."""
Launcher = Literal["autoscaling", "spot"]
SERVICE_LINKED_ROLES: Mapping[Launcher, str] = {
    "autoscaling": "autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling",
    "spot": "spot.amazonaws.com/AWSServiceRoleForEC2Spot",
}


class ClusterKeySpec(AccountSpec):
    """What :class:`ClusterKey` needs."""

    alias: KmsAlias
    cluster_role_arn: str | None = None
    """Role of the control plane that encrypts secrets with the key. Default: none, as for an existing cluster."""
    log_group_names: tuple[str, ...] = ()
    """CloudWatch log groups that may be encrypted with the key. Default: none."""
    launched_by: tuple[Launcher, ...] = ("autoscaling",)
    """Service-linked roles that start nodes with disks under this key. Default: Auto Scaling, which every managed
    node group goes through; name ``spot`` too where one buys spot capacity. KMS refuses a policy that names a role
    which does not exist: in an account that never used the service, run
    ``aws iam create-service-linked-role --aws-service-name autoscaling.amazonaws.com`` once.
    """
    deletion_window_days: Annotated[int, Field(ge=7, le=30)] = 30
    """How long a deleted key can be brought back. Default: 30 days, the longest."""
    protected: bool = True
    """Default: Terraform refuses to destroy the key; what it encrypted could never be read again."""


class ClusterKey(Construct):
    """A symmetric key with yearly rotation, its alias, and a policy with one statement a use.

    Unlike AWS's default policy it does not hand decryption to whatever IAM policy says so: roles of the account may
    administer the key, and use it only through EC2 (EBS volumes) or as the statements say.

    Example::

        key = ClusterKey(
            stack,
            "key",
            ClusterKeySpec(
                account_id="111122223333",
                region="us-east-1",
                alias="alias/prod-use1-a-cluster",
                log_group_names=("/aws/eks/prod-use1-a/cluster",),
            ),
        )
    """

    def __init__(self, scope: Construct, construct_id: str, spec: ClusterKeySpec) -> None:
        super().__init__(scope, construct_id)
        key = kms.KmsKey(
            self,
            "key",
            description=f"Kubernetes secrets, disks and logs ({spec.alias.removeprefix('alias/')})",
            enable_key_rotation=True,
            deletion_window_in_days=spec.deletion_window_days,
            policy=policy_document(_statements(spec)),
            tags={"Name": spec.alias.removeprefix("alias/")},
            lifecycle=Lifecycle(prevent_destroy=spec.protected),
        )
        kms.KmsAlias(self, "alias", name=spec.alias, target_key_id=key.key_id)
        self.arn = key.arn
        """ARN of the key."""


def _statements(spec: ClusterKeySpec) -> list[Statement]:
    """In a key policy the resource "*" is this key."""
    account = f"arn:{spec.partition}:iam::{spec.account_id}:root"
    statements: list[Statement] = [
        _allow("Administration", {"AWS": account}, _ADMINISTER),
        # As in the policy of AWS's own aws/ebs key; the EBS CSI driver's role comes in this way.
        {
            **_allow("VolumesThroughEc2", {"AWS": account}, (*_USE, "kms:CreateGrant")),
            "Condition": {
                "StringEquals": {
                    "kms:CallerAccount": spec.account_id,
                    "kms:ViaService": f"ec2.{spec.region}.amazonaws.com",
                }
            },
        },
    ]
    launchers = [
        f"arn:{spec.partition}:iam::{spec.account_id}:role/aws-service-role/{SERVICE_LINKED_ROLES[name]}"
        for name in spec.launched_by
    ]
    if launchers:
        # docs.aws.amazon.com/autoscaling/ec2/userguide/key-policy-requirements-EBS-encryption
        statements += [
            _allow("NodeDisks", {"AWS": launchers}, _USE),
            {
                **_allow("NodeDiskGrants", {"AWS": launchers}, ("kms:CreateGrant",)),
                "Condition": {"Bool": {"kms:GrantIsForAWSResource": "true"}},
            },
        ]
    if spec.cluster_role_arn is not None:
        secrets = ("kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:ListGrants")
        statements.append(_allow("KubernetesSecrets", {"AWS": spec.cluster_role_arn}, secrets))
    if spec.log_group_names:
        groups = [
            f"arn:{spec.partition}:logs:{spec.region}:{spec.account_id}:log-group:{name}"
            for name in spec.log_group_names
        ]
        # docs.aws.amazon.com/AmazonCloudWatch/latest/logs/encrypt-log-data-kms
        statements.append(
            {
                **_allow("Logs", {"Service": f"logs.{spec.region}.amazonaws.com"}, _USE),
                "Condition": {"ArnEquals": {"kms:EncryptionContext:aws:logs:arn": groups}},
            }
        )
    return statements


def _allow(sid: str, principal: Mapping[str, str | Sequence[str]], actions: tuple[str, ...]) -> Statement:
    return {"Sid": sid, "Effect": "Allow", "Principal": principal, "Action": list(actions), "Resource": "*"}
