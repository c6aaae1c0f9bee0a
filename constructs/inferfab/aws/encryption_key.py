"""A KMS key of our own, rotated every year, with an alias."""

import re
from collections.abc import Sequence

from pydantic import PositiveInt

from inferfab.aws.account import AccountSpec, KmsAlias
from inferfab.aws.iam_policy import Statement, policy_document
from inferfab.record import Record
from inferfab.terraform import Construct, Lifecycle
from inferfab.terraform.aws import kms


class ServiceUse(Record):
    """An AWS service that may use the key on behalf of this account, and of nobody else."""

    service: str
    """Its principal, ``cloudwatch.amazonaws.com``."""
    source_arn: str
    """Pattern of the ARNs on whose behalf it acts."""
    actions: tuple[str, ...] = ("kms:Decrypt", "kms:GenerateDataKey*")
    """Default: what writes and reads encrypted data. The asterisk takes in ``GenerateDataKeyWithoutPlaintext``,
    which services pick by themselves.
    """


class EncryptionKeySpec(AccountSpec):
    """What :class:`EncryptionKey` needs."""

    alias: KmsAlias
    description: str
    used_by: tuple[ServiceUse, ...] = ()
    """Services beside this account's own roles. Default: none."""
    deletion_window_days: PositiveInt = 30
    """How long a deleted key can be brought back. Default: 30 days, the longest."""
    prevent_destroy: bool = True
    """Default: Terraform refuses to destroy the key; what it encrypted could never be read again."""


class EncryptionKey(Construct):
    """A symmetric KMS key, its policy and its alias.

    Roles of the account may use it as far as their own policies say; AWS services only as ``used_by`` says.

    Example::

        from inferfab.aws.encryption_key import EncryptionKey, EncryptionKeySpec

        key = EncryptionKey(
            stack,
            "key",
            EncryptionKeySpec(
                account_id="111122223333", region="us-east-1", alias="alias/prod-state", description="Terraform state"
            ),
        )
    """

    def __init__(self, scope: Construct, id: str, spec: EncryptionKeySpec) -> None:
        super().__init__(scope, id)
        self.key = kms.KmsKey(
            self,
            "key",
            description=spec.description,
            enable_key_rotation=True,
            deletion_window_in_days=spec.deletion_window_days,
            policy=policy_document(_statements(spec)),
            tags={"Name": spec.alias.removeprefix("alias/")},
            lifecycle=Lifecycle(prevent_destroy=spec.prevent_destroy),
        )
        kms.KmsAlias(self, "alias", name=spec.alias, target_key_id=self.key.key_id)
        self.arn = self.key.arn
        """ARN of the key."""


def _statements(spec: EncryptionKeySpec) -> Sequence[Statement]:
    account: Statement = {
        # The statement that AWS gives every key: without it, nobody could administer the key, and IAM policies
        # of the account would not count. In a key policy, "*" as a resource means this key.
        "Sid": "Account",
        "Effect": "Allow",
        "Principal": {"AWS": f"arn:{spec.partition}:iam::{spec.account_id}:root"},
        "Action": "kms:*",
        "Resource": "*",
    }
    return [account, *(_service(use, spec.account_id) for use in spec.used_by)]


def _service(use: ServiceUse, account_id: str) -> Statement:
    return {
        "Sid": "".join(part.capitalize() for part in re.split(r"\W", use.service.removesuffix(".amazonaws.com"))),
        "Effect": "Allow",
        "Principal": {"Service": use.service},
        "Action": list(use.actions),
        "Resource": "*",
        "Condition": {
            "StringEquals": {"aws:SourceAccount": account_id},
            "ArnLike": {"aws:SourceArn": use.source_arn},
        },
    }
