"""The role with which pods of one cell read model weights."""

from typing import Annotated

from pydantic import Field

from inferfab.aws.account import AccountSpec, BucketName, KmsAlias
from inferfab.aws.iam_policy import Statement, pod_identity_trust, policy_document, through_alias
from inferfab.aws.model_store import REGISTRY_KEY
from inferfab.aws.optional import optional
from inferfab.record import Record
from inferfab.terraform import Construct
from inferfab.terraform.aws import eks, iam


class ServiceAccount(Record):
    """Whose pods take the role on."""

    namespace: str
    name: str


class ModelReaderSpec(AccountSpec):
    """What :class:`ModelReader` needs. ``region`` is the bucket's."""

    name: str
    bucket: BucketName
    key_alias: KmsAlias | None
    """Alias of the key that encrypts the weights; it may be created by another stack, later. None: the bucket is
    somebody else's.
    """
    key_arn: Annotated[str, Field(pattern=r"^arn:aws[a-z-]*:kms:")] | None = None
    """Key of somebody else's bucket. Default: none, as with S3's own encryption."""
    prefixes: tuple[Annotated[str, Field(pattern=r"^[^*?]+/$")], ...]
    """What may be read, ``models/<name>/<revision>/`` each: the models that this cell serves."""
    other_sources: tuple[Annotated[str, Field(pattern=r"^s3://[a-z0-9.-]{3,63}/[^*?]+/$")], ...] = ()
    """Further S3 folders that may be read. Keys that encrypt them, and the buckets' own policies, are their owners'.
    Default: none.
    """
    cluster: str
    """EKS cluster with the Pod Identity agent."""
    service_accounts: Annotated[tuple[ServiceAccount, ...], Field(min_length=1)]
    """Whose pods in that cluster get the role."""
    permissions_boundary_arn: str | None = None
    """Policy that bounds the role. Default: none."""


class ModelReader(Construct):
    """Reads the weights of the models that it is told, and the registry; lists nothing else, writes nothing.

    Example::

        from inferfab.aws.model_reader import ModelReader, ModelReaderSpec, ServiceAccount

        reader = ModelReader(
            stack,
            "model-reader",
            ModelReaderSpec(
                account_id="111122223333",
                region="us-east-1",
                name="prod-use1-a-models",
                bucket="prod-models-111122223333-us-east-1",
                key_alias="alias/prod-models",
                prefixes=("models/llama-8b/0e9e39f249a16976918f6564b8830bc894c89659/",),
                cluster="prod-use1-a",
                service_accounts=(ServiceAccount(namespace="serving-batch", name="models"),),
            ),
        )
    """

    def __init__(self, scope: Construct, id: str, spec: ModelReaderSpec) -> None:
        super().__init__(scope, id)
        accounts = spec.service_accounts
        trust = pod_identity_trust(
            spec.account_id,
            spec.cluster or "",
            sorted({a.namespace for a in accounts}),
            sorted({a.name for a in accounts}),
        )
        role = iam.IamRole(
            self,
            "role",
            name=spec.name,
            description="Reads model weights",
            assume_role_policy=policy_document([trust]),
            permissions_boundary=optional(spec.permissions_boundary_arn),
            tags={"Name": spec.name},
        )
        iam.IamRolePolicy(self, "read", name="read-models", role=role.name, policy=_policy(spec))
        self.arn = role.arn
        """ARN of the role."""
        for account in spec.service_accounts:
            eks.EksPodIdentityAssociation(
                self,
                f"{account.namespace}-{account.name}",
                cluster_name=spec.cluster,
                namespace=account.namespace,
                service_account=account.name,
                role_arn=role.arn,
                tags={"Name": f"{spec.cluster}-{account.namespace}-{account.name}"},
            )


def _policy(spec: ModelReaderSpec) -> str:
    bucket = f"arn:{spec.partition}:s3:::{spec.bucket}"
    return policy_document(
        [
            {
                "Sid": "List",
                "Effect": "Allow",
                "Action": "s3:ListBucket",
                "Resource": bucket,
                # Some clients list a folder without its slash.
                "Condition": {"StringLike": {"s3:prefix": [q for p in spec.prefixes for q in (p[:-1], f"{p}*")]}},
            },
            {
                "Sid": "Read",
                "Effect": "Allow",
                "Action": "s3:GetObject",
                "Resource": [f"{bucket}/{REGISTRY_KEY}", *(f"{bucket}/{p}*" for p in spec.prefixes)],
            },
            *_keys(spec),
            *_elsewhere(spec),
        ]
    )


def _keys(spec: ModelReaderSpec) -> list[Statement]:
    if spec.key_alias is not None:
        return [through_alias(["kms:Decrypt"], spec.key_alias, spec.region, spec.account_id, spec.partition)]
    if spec.key_arn is not None:
        through_s3 = {"kms:ViaService": f"s3.{spec.region}.amazonaws.com"}
        return [
            {
                "Sid": "UseKey",
                "Effect": "Allow",
                "Action": ["kms:Decrypt"],
                "Resource": spec.key_arn,
                "Condition": {"StringEquals": through_s3},
            }
        ]
    return []


def _elsewhere(spec: ModelReaderSpec) -> list[Statement]:
    """One pair of statements a bucket."""
    folders: dict[str, list[str]] = {}
    for uri in spec.other_sources:
        bucket, _, prefix = uri.removeprefix("s3://").partition("/")
        folders.setdefault(bucket, []).append(prefix)
    statements: list[Statement] = []
    for number, (bucket, prefixes) in enumerate(folders.items()):
        arn = f"arn:{spec.partition}:s3:::{bucket}"
        statements.append(
            {
                "Sid": f"ListOther{number}",
                "Effect": "Allow",
                "Action": "s3:ListBucket",
                "Resource": arn,
                "Condition": {"StringLike": {"s3:prefix": [q for p in prefixes for q in (p[:-1], f"{p}*")]}},
            }
        )
        statements.append(
            {
                "Sid": f"ReadOther{number}",
                "Effect": "Allow",
                "Action": "s3:GetObject",
                "Resource": [f"{arn}/{p}*" for p in prefixes],
            }
        )
    return statements
