"""The key of a cell: Kubernetes secrets and node disks."""

from inferfab.record import Record
from inferfab.terraform import Construct, Lifecycle
from inferfab.terraform.google import iam, kms


class ClusterKeySpec(Record):
    """What :class:`ClusterKey` needs."""

    project: str
    region: str
    key_ring: str
    key: str
    rotation_days: int = 90
    """Default: 90 days. Earlier versions stay, so nothing has to be encrypted anew."""


class ClusterKey(Construct):
    """A key that GKE (secrets) and Compute Engine (disks) may use. Keys of Google are never deleted, so nor is this.

    Example::

        from inferfab.gcp.cluster_key import ClusterKey, ClusterKeySpec

        ClusterKey(
            stack,
            "key",
            ClusterKeySpec(
                project="example-inference",
                region="us-central1",
                key_ring="prod-usc1-c-keys",
                key="prod-usc1-c-cluster",
            ),
        )
    """

    def __init__(self, scope: Construct, construct_id: str, spec: ClusterKeySpec) -> None:
        super().__init__(scope, construct_id)
        ring = kms.KmsKeyRing(self, "ring", name=spec.key_ring, project=spec.project, location=spec.region)
        key = kms.KmsCryptoKey(
            self,
            "key",
            name=spec.key,
            key_ring=ring.id,
            purpose="ENCRYPT_DECRYPT",
            rotation_period=f"{spec.rotation_days * 86400}s",
            lifecycle=Lifecycle(prevent_destroy=True),
        )
        project = iam.DataProject(self, "project", project_id=spec.project)
        agents = {"gke": "container-engine-robot", "compute": "compute-system", "storage": "gs-project-accounts"}
        self.ready = tuple(
            kms.KmsCryptoKeyIamMember(
                self,
                name,
                crypto_key_id=key.id,
                role="roles/cloudkms.cryptoKeyEncrypterDecrypter",
                member=f"serviceAccount:service-{project.number}@{agent}.iam.gserviceaccount.com",
            )
            for name, agent in agents.items()
        )
        self.id = key.id
