"""Who owns an environment, in which accounts it lives, how its state is kept and its clusters are reached."""

from typing import Annotated, Literal

from pydantic import Field

from inferfab.environment.base import Cidr, Input, Items, matching

GoogleName = Annotated[
    str,
    matching(
        r"^[a-z][-a-z0-9]{4,28}[a-z0-9]$",
        "write 6 to 30 lower-case letters, digits and dashes, starting with a letter and not ending in a dash",
    ),
]
"""Id of a Google Cloud project or service account."""


class ModelBucket(Input):
    """A bucket with models that somebody else owns; we read it, and change nothing of it."""

    bucket: Annotated[
        str,
        matching(
            r"^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$",
            "write 3 to 63 lower-case letters, digits and dashes, starting and ending with a letter or digit",
        ),
    ]
    """Name of the bucket, in the region under which it stands."""
    kms_key_arn: (
        Annotated[
            str,
            matching(
                r"^arn:aws:kms:[a-z0-9-]+:[0-9]{12}:key/[0-9a-f-]{36}$",
                "write the ARN of the key itself, not of an alias, like "
                "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab",
            ),
        ]
        | None
    ) = None
    """Key that encrypts its objects. Default: S3's own (SSE-S3), which needs no right. In another account the key's
    policy must let the cells' readers decrypt, as the bucket's must let them read.
    """


class AwsAccount(Input):
    """The AWS account of this environment."""

    account_id: Annotated[str, matching(r"^[0-9]{12}$", 'write twelve digits in quotes, like "111122223333"')]
    """Twelve digits, quoted (an unquoted number loses leading zeros)."""
    deploy_role: Annotated[
        str,
        matching(
            r"^[A-Za-z0-9_+=,.@-]{1,64}$",
            "write the name of an IAM role without path: at most 64 letters, digits and + = , . @ _ -",
        ),
    ] = "inferfab-deploy"
    """Name of the IAM role that plans and applies."""
    permissions_boundary: str | None = None
    """Name of an IAM policy that bounds every role we create. Default: no boundary."""
    admin_roles: Items[
        Annotated[
            str,
            matching(
                r"^[A-Za-z0-9_+=,.@/-]{1,128}$",
                "write the name of an IAM role, not its ARN: at most 128 letters, digits and + = , . @ _ / -",
            ),
        ]
    ] = ()
    """IAM roles (names) whose people administer the clusters. Default: the deploy role only."""
    dns_role: (
        Annotated[
            str,
            matching(
                r"^arn:aws:iam::[0-9]{12}:role/[A-Za-z0-9_+=,.@/-]{1,512}$",
                "write the ARN of an IAM role, like arn:aws:iam::123456789012:role/inferfab-dns",
            ),
        ]
        | None
    ) = None
    """Role of another account that owns the hosted zone; records are written under it. Default: the zone is in this
    account.
    """
    model_buckets: Annotated[dict[str, ModelBucket], Field(max_length=40)] = {}
    """By region: a bucket that is there already and holds the models. Default: we make one in each region."""


class GcpAccount(Input):
    """The Google Cloud project of this environment."""

    project: GoogleName
    """Project id."""
    deploy_service_account: GoogleName = "inferfab-deploy"
    """Name of the service account that plans and applies."""


class Accounts(Input):
    """One account a cloud. A cloud that has a cell needs one."""

    aws: AwsAccount | None = None
    gcp: GcpAccount | None = None


class State(Input):
    """Where Terraform keeps its state: an S3 bucket with native locking."""

    bucket: Annotated[
        str,
        matching(
            r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$",
            "write 3 to 63 lower-case letters, digits, dots and dashes, starting and ending with a letter or digit",
        ),
    ]
    """Name of the bucket."""
    region: str
    """AWS region of the bucket."""
    key_prefix: Annotated[
        str, matching(r"^[A-Za-z0-9_./-]+$", "write letters, digits, dots, dashes, underscores and slashes")
    ] = "inferfab"
    """Each stack's state is ``<key_prefix>/<environment>/<stack>.tfstate``."""


class PrivateAccess(Input):
    """Cluster endpoints without public address: the runner stands in the network, or peers with it."""

    kind: Literal["private"] = "private"
    runner_cidrs: Items[Cidr] = ()
    """Ranges from which runners reach the endpoints. Default: only from inside the cell's own network."""


class PublicAccess(Input):
    """Cluster endpoints with a public address that only the named ranges reach."""

    kind: Literal["public"]
    allowed_cidrs: Annotated[Items[Cidr], Field(min_length=1)]
    """Ranges that may connect. ``0.0.0.0/0`` is refused."""


Access = Annotated[PrivateAccess | PublicAccess, Field(discriminator="kind")]
