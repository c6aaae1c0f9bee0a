"""Secrets by reference: containers, and who may read them. A value never passes through Terraform."""

from typing import Annotated, Self

from pydantic import Field, PositiveInt, model_validator

from inferfab.aws.account import AccountSpec, KmsAlias
from inferfab.aws.encryption_key import EncryptionKey, EncryptionKeySpec
from inferfab.aws.iam_policy import Statement, policy_document, through_alias
from inferfab.aws.optional import optional
from inferfab.record import Record
from inferfab.terraform import Construct, Lifecycle
from inferfab.terraform.aws import iam, secretsmanager
from inferfab.terraform.skips import skip_check


class SecretReference(Record):
    """One secret in Secrets Manager."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9/_+=.@-]{1,500}$")]
    description: str = ""
    """What it is and who fills it in. Default: nothing."""
    create: bool = False
    """Default: it exists. True makes an empty container, which a person or a pipeline fills once."""


class SecretReferencesSpec(AccountSpec):
    """What :class:`SecretReferences` needs."""

    secrets: Annotated[tuple[SecretReference, ...], Field(min_length=1)]
    key_alias: KmsAlias | None = None
    """Key of the secrets. It is made if any secret is; needed then. Default: existing secrets under AWS's key."""
    reader_role_name: str | None = None
    """Role of External Secrets that gets the read policy. Default: attach ``read_policy`` elsewhere."""
    recovery_window_days: Annotated[PositiveInt, Field(ge=7, le=30)] = 30
    """How long a deleted secret can be brought back. Default: 30 days, the longest."""
    prevent_destroy: bool = True
    """Default: Terraform refuses to destroy containers and key."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        names = [s.name for s in self.secrets]
        twice = sorted({n for n in names if names.count(n) > 1})
        if twice:
            raise ValueError(f"listed more than once: {', '.join(twice)}")
        if self.key_alias is None and any(s.create for s in self.secrets):
            raise ValueError("secrets that are created need a key_alias")
        return self


class SecretReferences(Construct):
    """The secrets that External Secrets copies into a cluster: a Hugging Face token, pull secrets.

    Example::

        from inferfab.aws.secrets import SecretReference, SecretReferences, SecretReferencesSpec

        secrets = SecretReferences(
            stack,
            "secrets",
            SecretReferencesSpec(
                account_id="111122223333",
                region="us-east-1",
                secrets=(SecretReference(name="prod/hugging-face-token", create=True),),
                key_alias="alias/prod-secrets",
                reader_role_name="prod-use1-a-secrets",
            ),
        )
    """

    def __init__(self, scope: Construct, id: str, spec: SecretReferencesSpec) -> None:
        super().__init__(scope, id)
        created = [s for s in spec.secrets if s.create]
        key = self._key(spec) if created else None
        self.arns = {s.name: _unsuffixed(s.name, spec) for s in spec.secrets}
        """ARN by name; of secrets that exist already, a pattern for the six characters that AWS appends."""
        for secret in created:
            container = secretsmanager.SecretsmanagerSecret(
                self,
                secret.name,
                name=secret.name,
                description=optional(secret.description or None),
                kms_key_id=optional(key.arn if key else None),
                recovery_window_in_days=spec.recovery_window_days,
                tags={"Name": secret.name},
                lifecycle=Lifecycle(prevent_destroy=spec.prevent_destroy),
            )
            skip_check(
                container,
                "CKV2_AWS_57",
                "its issuer is another company: no function here can make a new token; people rotate it there",
            )
            self.arns[secret.name] = container.arn
        self.read_policy = policy_document(self._statements(spec))
        """What External Secrets may do, as JSON."""
        if spec.reader_role_name is not None:
            iam.IamRolePolicy(self, "read", name="read-secrets", role=spec.reader_role_name, policy=self.read_policy)

    def _key(self, spec: SecretReferencesSpec) -> EncryptionKey:
        assert spec.key_alias is not None
        return EncryptionKey(
            self,
            "key",
            EncryptionKeySpec(
                **spec.model_dump(include=set(AccountSpec.model_fields)),
                alias=spec.key_alias,
                description="Secrets of the inference fleet",
                prevent_destroy=spec.prevent_destroy,
            ),
        )

    def _statements(self, spec: SecretReferencesSpec) -> list[Statement]:
        read: Statement = {
            "Sid": "Read",
            "Effect": "Allow",
            "Action": ["secretsmanager:GetSecretValue", "secretsmanager:DescribeSecret"],
            "Resource": [self.arns[s.name] for s in spec.secrets],
        }
        if spec.key_alias is None:
            return [read]
        decrypt = through_alias(["kms:Decrypt"], spec.key_alias, spec.region, spec.account_id, spec.partition)
        return [read, decrypt]


def _unsuffixed(name: str, spec: SecretReferencesSpec) -> str:
    return f"arn:{spec.partition}:secretsmanager:{spec.region}:{spec.account_id}:secret:{name}-??????"
