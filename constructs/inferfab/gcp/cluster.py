"""A GKE control plane: Dataplane V2, multi-networking, Workload Identity."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from inferfab.record import Record
from inferfab.terraform import Construct, ITerraformDependable, Lifecycle
from inferfab.terraform.google import container
from inferfab.terraform.skips import skip_check


class GkeClusterSpec(Record):
    """What :class:`GkeCluster` needs."""

    name: Annotated[str, Field(pattern=r"^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$")]
    project: str
    zone: str
    """A cell stands in one zone, and so does its control plane."""
    kubernetes_version: Annotated[str, Field(pattern=r"^1\.\d{2}$")]
    """Minor version, ``1.36``; the channel chooses the patch."""
    network: str
    subnet: str
    """With secondary ranges ``pods`` and ``services``."""
    kms_key: str
    """Key for Kubernetes secrets."""
    control_plane_cidr: str | None = None
    """Default: none, nodes reach the control plane by its DNS name and private endpoint of their own subnet."""
    authorized_cidrs: tuple[str, ...] = ()
    """Ranges that reach the endpoint. Default: only the cell's own network."""
    public_endpoint: bool = False
    """Default: the endpoint has no public address."""
    channel: Literal["RAPID", "REGULAR", "STABLE", "EXTENDED"] = "REGULAR"
    """Default: REGULAR."""
    labels: dict[str, str] = {}
    protected: bool = True
    """Default: neither Terraform nor the API deletes the cluster."""

    @model_validator(mode="after")
    def _not_open(self) -> "GkeClusterSpec":
        if any(cidr.endswith("/0") for cidr in self.authorized_cidrs):
            raise ValueError("a range of /0 opens the endpoint to the whole internet; name your ranges")
        return self


class GkeCluster(Construct):
    """A cluster without a node pool of its own: pools are resources beside it.

    Example::

        from inferfab.gcp.cluster import GkeCluster, GkeClusterSpec

        GkeCluster(
            stack,
            "cluster",
            GkeClusterSpec(
                name="prod-usc1-c",
                project="example-inference",
                zone="us-central1-c",
                kubernetes_version="1.36",
                network="projects/example-inference/global/networks/prod-usc1-c",
                subnet="projects/example-inference/regions/us-central1/subnetworks/prod-usc1-c-system",
                kms_key="projects/example-inference/locations/us-central1/keyRings/prod-usc1-c/cryptoKeys/cluster",
            ),
        )
    """

    def __init__(
        self, scope: Construct, construct_id: str, spec: GkeClusterSpec, *, after: tuple[ITerraformDependable, ...] = ()
    ) -> None:
        super().__init__(scope, construct_id)
        cluster = container.ContainerCluster(
            self,
            "cluster",
            name=spec.name,
            project=spec.project,
            location=spec.zone,
            network=spec.network,
            subnetwork=spec.subnet,
            min_master_version=spec.kubernetes_version,
            release_channel={"channel": spec.channel},
            # GKE insists on a first pool, and takes it away again at once.
            initial_node_count=1,
            remove_default_node_pool=True,
            datapath_provider="ADVANCED_DATAPATH",
            enable_multi_networking=True,
            networking_mode="VPC_NATIVE",
            ip_allocation_policy={"cluster_secondary_range_name": "pods", "services_secondary_range_name": "services"},
            private_cluster_config={
                "enable_private_nodes": True,
                "enable_private_endpoint": not spec.public_endpoint,
                **({"master_ipv4_cidr_block": spec.control_plane_cidr} if spec.control_plane_cidr else {}),
            },
            master_authorized_networks_config={
                "gcp_public_cidrs_access_enabled": False,
                "cidr_blocks": [{"cidr_block": cidr} for cidr in spec.authorized_cidrs],
            },
            master_auth={"client_certificate_config": {"issue_client_certificate": False}},
            database_encryption={"state": "ENCRYPTED", "key_name": spec.kms_key},
            workload_identity_config={"workload_pool": f"{spec.project}.svc.id.goog"},
            binary_authorization={"evaluation_mode": "PROJECT_SINGLETON_POLICY_ENFORCE"},
            enable_intranode_visibility=True,
            enable_shielded_nodes=True,
            enable_legacy_abac=False,
            logging_config={"enable_components": ["SYSTEM_COMPONENTS", "APISERVER", "WORKLOADS"]},
            monitoring_config={"enable_components": ["SYSTEM_COMPONENTS"]},
            addons_config={
                "gcs_fuse_csi_driver_config": {"enabled": True},
                # The gateway's own load balancer is a Service; nothing uses GKE's Ingress.
                "http_load_balancing": {"disabled": True},
            },
            resource_labels=spec.labels,
            deletion_protection=spec.protected,
            lifecycle=Lifecycle(
                prevent_destroy=spec.protected,
                # The channel raises the version; going back is refused. Windows and exclusions are set by hand
                # (docs/upgrades.md), and an apply must not take them away.
                ignore_changes=["min_master_version", "maintenance_policy"],
            ),
            depends_on=list(after),
        )
        skip_check(cluster, "CKV_GCP_12", "Dataplane V2 enforces network policies by itself")
        skip_check(cluster, "CKV_GCP_65", "groups for RBAC belong to an organisation's directory, which is not ours")
        skip_check(cluster, "CKV_GCP_69", "there is no node pool inside the cluster; each pool has the metadata server")
        self.name = cluster.name
        self.id = cluster.id
        self.ready = (cluster,)
