"""Where models are kept in a region: a bucket that cells read and nobody reads from outside."""

from typing import Annotated

from pydantic import Field

from inferfab.record import Record
from inferfab.terraform import Construct, Lifecycle
from inferfab.terraform.google import storage
from inferfab.terraform.skips import skip_check


class ModelStoreSpec(Record):
    """What :class:`ModelStore` needs."""

    project: str
    region: str
    bucket: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$")]
    labels: dict[str, str] = {}
    prevent_destroy: bool = True


class ModelStore(Construct):
    """Versioned, private, in the region of its cells.

    Example::

        from inferfab.gcp.model_store import ModelStore, ModelStoreSpec

        ModelStore(
            stack,
            "models",
            ModelStoreSpec(
                project="example-inference", region="us-central1", bucket="prod-models-example-inference-us-central1"
            ),
        )
    """

    def __init__(self, scope: Construct, construct_id: str, spec: ModelStoreSpec) -> None:
        super().__init__(scope, construct_id)
        bucket = storage.StorageBucket(
            self,
            "bucket",
            name=spec.bucket,
            project=spec.project,
            location=spec.region.upper(),
            storage_class="STANDARD",
            uniform_bucket_level_access=True,
            public_access_prevention="enforced",
            versioning={"enabled": True},
            # Old versions of weights are large; a pinned revision never has two.
            lifecycle_rule=[
                {"action": {"type": "Delete"}, "condition": {"num_newer_versions": 1, "days_since_noncurrent_time": 30}}
            ],
            labels=spec.labels,
            force_destroy=False,
            lifecycle=Lifecycle(prevent_destroy=spec.prevent_destroy),
        )
        skip_check(bucket, "CKV_GCP_62", "data access is in Cloud Audit Logs; a log bucket would need one of its own")
        self.name = bucket.name
