"""Who fetches models to the nodes: a service account that may read the store and is taken by one Kubernetes account."""

from typing import Annotated

from pydantic import Field

from inferfab.record import Record
from inferfab.terraform import Construct, ITerraformDependable
from inferfab.terraform.google import iam, storage


class ModelReaderSpec(Record):
    """What :class:`ModelReader` needs."""

    account_id: Annotated[str, Field(pattern=r"^[a-z][-a-z0-9]{4,28}[a-z0-9]$")]
    project: str
    buckets: tuple[str, ...]
    """Of the region's store, and of other sources."""
    namespace: str
    service_account: str
    """Kubernetes account that takes its place by Workload Identity."""


class ModelReader(Construct):
    """No key, no secret: GKE vouches for the pod.

    Example::

        from inferfab.gcp.model_reader import ModelReader, ModelReaderSpec

        ModelReader(
            stack,
            "model-reader",
            ModelReaderSpec(
                account_id="prod-usc1-c-models",
                project="example-inference",
                buckets=("prod-models-example-inference-us-central1",),
                namespace="serving",
                service_account="model-cache",
            ),
        )
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        spec: ModelReaderSpec,
        *,
        after: tuple[ITerraformDependable, ...] = (),
    ) -> None:
        """:param after: the cluster: the project has no identity pool before its first one is there."""
        super().__init__(scope, construct_id)
        account = iam.ServiceAccount(
            self, "account", account_id=spec.account_id, project=spec.project, display_name="Reads models"
        )
        for n, bucket in enumerate(spec.buckets):
            storage.StorageBucketIamMember(
                self,
                f"reads-{n}",
                bucket=bucket,
                role="roles/storage.objectViewer",
                member=f"serviceAccount:{account.email}",
            )
        iam.ServiceAccountIamMember(
            self,
            "identity",
            service_account_id=account.name,
            role="roles/iam.workloadIdentityUser",
            member=f"serviceAccount:{spec.project}.svc.id.goog[{spec.namespace}/{spec.service_account}]",
            depends_on=list(after),
        )
        self.email = account.email
