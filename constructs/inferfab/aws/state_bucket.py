"""Where Terraform keeps its state."""

from pydantic import PositiveInt

from inferfab.aws.account import AccountSpec, BucketName, KmsAlias
from inferfab.aws.encryption_key import EncryptionKey, EncryptionKeySpec
from inferfab.aws.private_bucket import PrivateBucket, PrivateBucketSpec
from inferfab.terraform import Construct


class StateBucketSpec(AccountSpec):
    """What :class:`StateBucket` needs."""

    bucket: BucketName
    key_alias: KmsAlias
    """Alias of the key that it makes: backends name it as their ``kms_key_id``."""
    keep_noncurrent_days: PositiveInt = 365
    """How long an overwritten state can be brought back. Default: a year."""
    keep_noncurrent_versions: PositiveInt = 50
    """So many of the newest are kept however old: a stack that nobody touches keeps its history. Default: 50."""
    access_log_bucket: BucketName | None = None
    """Existing bucket that gets a line for each request. Default: none."""
    prevent_destroy: bool = True
    """Default: Terraform refuses to destroy bucket and key."""


class StateBucket(Construct):
    """Bucket and key for the state of all stacks of an environment; ``inferfab bootstrap`` deploys it first.

    Locking is S3's own (``use_lockfile``): a lock is the object ``<key>.tflock`` beside the state, so there is no
    table. It needs Put, Get and Delete on that object; see :class:`inferfab.aws.deploy_role.DeployRole`.

    Example::

        from inferfab.aws.state_bucket import StateBucket, StateBucketSpec

        state = StateBucket(
            stack,
            "state",
            StateBucketSpec(
                account_id="111122223333",
                region="us-east-1",
                bucket="inferfab-state-111122223333-prod",
                key_alias="alias/inferfab-state-prod",
            ),
        )
    """

    def __init__(self, scope: Construct, id: str, spec: StateBucketSpec) -> None:
        super().__init__(scope, id)
        account = spec.model_dump(include=set(AccountSpec.model_fields))
        self.key = EncryptionKey(
            self,
            "key",
            EncryptionKeySpec(
                **account,
                alias=spec.key_alias,
                description=f"Terraform state in {spec.bucket}",
                prevent_destroy=spec.prevent_destroy,
            ),
        )
        self.bucket = PrivateBucket(
            self,
            "bucket",
            PrivateBucketSpec(
                **account,
                name=spec.bucket,
                key_arn=self.key.arn,
                why_one_region="without its region a stack has nothing to manage, and a copy could only be stale; "
                "overwritten states are kept as versions",
                keep_noncurrent_days=spec.keep_noncurrent_days,
                keep_noncurrent_versions=spec.keep_noncurrent_versions,
                access_log_bucket=spec.access_log_bucket,
                prevent_destroy=spec.prevent_destroy,
            ),
        )
        self.bucket_name = self.bucket.bucket.bucket
        """Name of the bucket."""
        self.key_arn = self.key.arn
        """ARN of the key."""
