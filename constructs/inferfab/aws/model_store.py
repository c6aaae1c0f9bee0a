"""The bucket that holds the weights of pinned models, in one region of an environment."""

import json
from typing import Annotated, Self

from pydantic import Field, PositiveInt, model_validator

from inferfab.aws.account import AccountSpec, BucketName, KmsAlias
from inferfab.aws.encryption_key import EncryptionKey, EncryptionKeySpec
from inferfab.aws.private_bucket import PrivateBucket, PrivateBucketSpec
from inferfab.record import Record
from inferfab.terraform import Construct, Lifecycle
from inferfab.terraform.aws import s3

REGISTRY_KEY = "models/registry.json"
_PATH_PART = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"


class PinnedModel(Record):
    """A model's weights at one revision."""

    name: Annotated[str, Field(pattern=_PATH_PART)]
    revision: Annotated[str, Field(pattern=_PATH_PART)]
    """A commit, never a branch: what is under a prefix never changes."""
    source: str | None = None
    """Where the weights come from, as people name it. Default: not said."""

    @property
    def prefix(self) -> str:
        """Where its files are in the bucket."""
        return f"models/{self.name}/{self.revision}/"


class ModelStoreSpec(AccountSpec):
    """What :class:`ModelStore` needs."""

    bucket: BucketName
    key_alias: KmsAlias
    """Alias of the key that encrypts the weights."""
    models: tuple[PinnedModel, ...] = ()
    """Models of all cells that share the bucket. Default: none yet."""
    create: bool = True
    """Default: this stack owns bucket, key and registry. Cells of a region share them, so exactly one stack creates;
    others say False and get names only, which needs no lookup.
    """
    keep_noncurrent_days: PositiveInt = 30
    """How long overwritten and deleted weights can be brought back, and are paid for. Default: 30 days."""
    access_log_bucket: BucketName | None = None
    """Existing bucket that gets a line for each request. Default: none."""
    prevent_destroy: bool = True
    """Default: Terraform refuses to destroy bucket and key."""

    @model_validator(mode="after")
    def _pinned_once(self) -> Self:
        seen = [(m.name, m.revision) for m in self.models]
        twice = sorted({f"{name} at {revision}" for name, revision in seen if seen.count((name, revision)) > 1})
        if twice:
            raise ValueError(f"listed more than once: {', '.join(twice)}")
        return self


class ModelStore(Construct):
    """Bucket, key, and a registry object that lists the pinned revisions.

    The object ``models/registry.json`` says what belongs in the bucket: an importer fetches what is missing, and
    a reviewer sees in the plan which revisions come and go. Weights go with their key: ``models/<name>/<revision>/``.

    Example::

        from inferfab.aws.model_store import ModelStore, ModelStoreSpec, PinnedModel

        store = ModelStore(
            stack,
            "models",
            ModelStoreSpec(
                account_id="111122223333",
                region="us-east-1",
                bucket="prod-models-111122223333-us-east-1",
                key_alias="alias/prod-models",
                models=(PinnedModel(name="llama-8b", revision="0e9e39f249a16976918f6564b8830bc894c89659"),),
            ),
        )
    """

    def __init__(self, scope: Construct, id: str, spec: ModelStoreSpec) -> None:
        super().__init__(scope, id)
        self.bucket_name = spec.bucket
        """Name of the bucket, also where another stack creates it."""
        self.bucket_arn = f"arn:{spec.partition}:s3:::{spec.bucket}"
        """ARN of the bucket, also where another stack creates it."""
        if spec.create:
            self._create(spec)

    def _create(self, spec: ModelStoreSpec) -> None:
        account = spec.model_dump(include=set(AccountSpec.model_fields))
        key = EncryptionKey(
            self,
            "key",
            EncryptionKeySpec(
                **account,
                alias=spec.key_alias,
                description=f"Model weights in {spec.bucket}",
                prevent_destroy=spec.prevent_destroy,
            ),
        )
        bucket = PrivateBucket(
            self,
            "bucket",
            PrivateBucketSpec(
                **account,
                name=spec.bucket,
                key_arn=key.arn,
                why_one_region="another region has a store of its own, and pinned weights can be fetched again",
                keep_noncurrent_days=spec.keep_noncurrent_days,
                access_log_bucket=spec.access_log_bucket,
                prevent_destroy=spec.prevent_destroy,
            ),
        )
        s3.S3Object(
            self,
            "registry",
            bucket=bucket.bucket.bucket,
            key=REGISTRY_KEY,
            content=registry(spec.models),
            content_type="application/json",
            kms_key_id=key.arn,
            # With versions: a change keeps what was there.
            depends_on=[bucket.versioning],
            lifecycle=Lifecycle(prevent_destroy=spec.prevent_destroy),
        )


def registry(models: tuple[PinnedModel, ...]) -> str:
    """The registry's text: sorted, so that the order in which models are named changes nothing."""
    rows = [
        {"name": m.name, "prefix": m.prefix, "revision": m.revision} | ({"source": m.source} if m.source else {})
        for m in sorted(models, key=lambda m: (m.name, m.revision))
    ]
    return json.dumps({"version": 1, "models": rows}, indent=1) + "\n"
