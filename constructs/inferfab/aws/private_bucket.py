"""An S3 bucket for ourselves: versioned, encrypted with a key of ours, over TLS only."""

from typing import Annotated

from pydantic import Field, PositiveInt

from inferfab.aws.account import AccountSpec, BucketName
from inferfab.aws.iam_policy import deny_without_tls, policy_document
from inferfab.aws.optional import optional
from inferfab.terraform import Construct, Lifecycle
from inferfab.terraform.aws import s3
from inferfab.terraform.skips import skip_check


class PrivateBucketSpec(AccountSpec):
    """What :class:`PrivateBucket` needs."""

    name: BucketName
    key_arn: str
    """KMS key that encrypts every object."""
    why_one_region: Annotated[str, Field(min_length=1)]
    """Why a copy in another region is not needed; stands beside the bucket for whoever reviews it."""
    keep_noncurrent_days: PositiveInt = 90
    """How long overwritten and deleted versions can be brought back. Default: 90 days."""
    keep_noncurrent_versions: PositiveInt | None = None
    """So many of the newest of them are kept however old. Default: none."""
    access_log_bucket: BucketName | None = None
    """Existing bucket that gets a line for each request. Default: none; CloudTrail data events are the better
    record, and the account's owners decide on them.
    """
    prevent_destroy: bool = True
    """Default: Terraform refuses to destroy the bucket."""


class PrivateBucket(Construct):
    """A bucket that only this account reaches, only over TLS; owns what is written, and blocks the public.

    Example::

        from inferfab.aws.private_bucket import PrivateBucket, PrivateBucketSpec

        bucket = PrivateBucket(
            stack,
            "bucket",
            PrivateBucketSpec(
                account_id="111122223333",
                region="us-east-1",
                name="prod-models-111122223333-us-east-1",
                key_arn="arn:aws:kms:us-east-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab",
                why_one_region="each region fetches the weights for itself",
            ),
        )
    """

    def __init__(self, scope: Construct, id: str, spec: PrivateBucketSpec) -> None:
        super().__init__(scope, id)
        self.bucket = s3.S3Bucket(
            self,
            "bucket",
            bucket=spec.name,
            tags={"Name": spec.name},
            lifecycle=Lifecycle(prevent_destroy=spec.prevent_destroy),
        )
        name = self.bucket.bucket
        s3.S3BucketOwnershipControls(self, "ownership", bucket=name, rule={"object_ownership": "BucketOwnerEnforced"})
        s3.S3BucketPublicAccessBlock(
            self,
            "public",
            bucket=name,
            block_public_acls=True,
            block_public_policy=True,
            ignore_public_acls=True,
            restrict_public_buckets=True,
        )
        self.versioning = s3.S3BucketVersioning(
            self, "versioning", bucket=name, versioning_configuration={"status": "Enabled"}
        )
        s3.S3BucketServerSideEncryptionConfiguration(
            self,
            "encryption",
            bucket=name,
            rule=[
                {
                    "apply_server_side_encryption_by_default": {
                        "sse_algorithm": "aws:kms",
                        "kms_master_key_id": spec.key_arn,
                    },
                    # One request to KMS for many objects instead of one each.
                    "bucket_key_enabled": True,
                }
            ],
        )
        s3.S3BucketPolicy(
            self,
            "policy",
            bucket=name,
            policy=policy_document([deny_without_tls("s3:*", [self.bucket.arn, f"{self.bucket.arn}/*"])]),
        )
        self._expire(spec)
        if spec.access_log_bucket is not None:
            s3.S3BucketLogging(
                self, "log", bucket=name, target_bucket=spec.access_log_bucket, target_prefix=f"{spec.name}/"
            )
        else:
            skip_check(
                self.bucket,
                "CKV_AWS_18",
                "requests are in CloudTrail data events, which the account's owners switch on; a log bucket here "
                "would need another for its own log",
            )
        skip_check(self.bucket, "CKV2_AWS_62", "nothing reacts to objects, so there is nobody to notify")
        skip_check(self.bucket, "CKV_AWS_144", spec.why_one_region)

    def _expire(self, spec: PrivateBucketSpec) -> None:
        s3.S3BucketLifecycleConfiguration(
            self,
            "lifecycle",
            bucket=self.bucket.bucket,
            # S3 refuses rules on noncurrent versions while there are no versions.
            depends_on=[self.versioning],
            rule=[
                {
                    "id": "uploads",
                    "status": "Enabled",
                    "filter": [{"prefix": ""}],
                    "abort_incomplete_multipart_upload": [{"days_after_initiation": 7}],
                },
                {
                    "id": "noncurrent",
                    "status": "Enabled",
                    "filter": [{"prefix": ""}],
                    "noncurrent_version_expiration": [
                        {
                            "noncurrent_days": spec.keep_noncurrent_days,
                            "newer_noncurrent_versions": optional(spec.keep_noncurrent_versions),
                        }
                    ],
                },
            ],
        )
