"""A role that reaches Terraform's state, and nothing else."""

from typing import Annotated

from pydantic import Field

from inferfab.aws.account import AccountSpec, BucketName, KmsAlias
from inferfab.aws.iam_policy import policy_document, through_alias
from inferfab.aws.optional import optional
from inferfab.terraform import Construct
from inferfab.terraform.aws import iam


class DeployRoleSpec(AccountSpec):
    """What :class:`DeployRole` needs. ``region`` is the state bucket's."""

    name: str
    trusted_arns: Annotated[tuple[str, ...], Field(min_length=1)]
    """Roles and users that may take it on; named one by one."""
    state_bucket: BucketName
    state_key_alias: KmsAlias
    state_prefix: Annotated[str, Field(pattern=r"^[^*?]+/$")]
    """Where the state of its stacks begins, ``inferfab/prod/``: another environment's is out of reach."""
    permissions_boundary_arn: str | None = None
    """Policy that bounds whatever is attached to it. Default: none."""


class DeployRole(Construct):
    """Reads, writes and locks the state under a prefix.

    What the stacks themselves may create is for the account's owners to attach. The policy is what the S3 backend
    needs with its own locking: the state is read and written, the lock beside it also deleted, the bucket listed.
    There is no permission to delete a state.

    Example::

        from inferfab.aws.deploy_role import DeployRole, DeployRoleSpec

        role = DeployRole(
            stack,
            "deploy",
            DeployRoleSpec(
                account_id="111122223333",
                region="us-east-1",
                name="inferfab-deploy",
                trusted_arns=("arn:aws:iam::111122223333:role/ci",),
                state_bucket="inferfab-state-111122223333-prod",
                state_key_alias="alias/inferfab-state-prod",
                state_prefix="inferfab/prod/",
            ),
        )
    """

    def __init__(self, scope: Construct, id: str, spec: DeployRoleSpec) -> None:
        super().__init__(scope, id)
        role = iam.IamRole(
            self,
            "role",
            name=spec.name,
            description="Plans and applies inferfab's stacks",
            assume_role_policy=policy_document(
                [
                    {
                        "Sid": "Deployers",
                        "Effect": "Allow",
                        "Principal": {"AWS": list(spec.trusted_arns)},
                        "Action": ["sts:AssumeRole", "sts:TagSession"],
                    }
                ]
            ),
            permissions_boundary=optional(spec.permissions_boundary_arn),
            tags={"Name": spec.name},
        )
        self.state_policy = _state_policy(spec)
        """The policy, as JSON, for those who have a role already."""
        iam.IamRolePolicy(self, "state", name="terraform-state", role=role.name, policy=self.state_policy)
        self.arn = role.arn
        """ARN of the role."""


def _state_policy(spec: DeployRoleSpec) -> str:
    bucket = f"arn:{spec.partition}:s3:::{spec.state_bucket}"
    state = f"{bucket}/{spec.state_prefix}*.tfstate"
    return policy_document(
        [
            {"Sid": "List", "Effect": "Allow", "Action": "s3:ListBucket", "Resource": bucket},
            {"Sid": "State", "Effect": "Allow", "Action": ["s3:GetObject", "s3:PutObject"], "Resource": state},
            {
                "Sid": "Lock",
                "Effect": "Allow",
                "Action": ["s3:GetObject", "s3:PutObject", "s3:DeleteObject"],
                "Resource": f"{state}.tflock",
            },
            through_alias(
                ["kms:Decrypt", "kms:GenerateDataKey"],
                spec.state_key_alias,
                spec.region,
                spec.account_id,
                spec.partition,
            ),
        ]
    )
