"""Nodes without GPUs: gateway, operators, routers, metrics."""

from typing import Annotated

from pydantic import Field

from inferfab.record import Record
from inferfab.terraform import Construct, ITerraformDependable
from inferfab.terraform.google import container


class SystemNodePoolSpec(Record):
    """What :class:`SystemNodePool` needs."""

    name: str = "system"
    project: str
    zone: str
    cluster: str
    """Id of the cluster."""
    machine_type: str
    nodes: Annotated[int, Field(ge=1)]
    max_nodes: Annotated[int, Field(ge=1)]
    service_account: str
    kms_key: str | None = None
    labels: dict[str, str] = {}


class SystemNodePool(Construct):
    """Surge upgrades: here a further node is always to be had.

    Example::

        from inferfab.gcp.system_node_pool import SystemNodePool, SystemNodePoolSpec

        SystemNodePool(
            stack,
            "system",
            SystemNodePoolSpec(
                project="example-inference",
                zone="us-central1-c",
                cluster="projects/example-inference/locations/us-central1-c/clusters/prod-usc1-c",
                machine_type="n2-standard-8",
                nodes=3,
                max_nodes=6,
                service_account="prod-usc1-c-node@example-inference.iam.gserviceaccount.com",
            ),
        )
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        spec: SystemNodePoolSpec,
        *,
        after: tuple[ITerraformDependable, ...] = (),
    ) -> None:
        super().__init__(scope, construct_id)
        nodes: container.ContainerNodePoolNodeConfig = {
            "machine_type": spec.machine_type,
            "image_type": "COS_CONTAINERD",
            "service_account": spec.service_account,
            "oauth_scopes": ["https://www.googleapis.com/auth/cloud-platform"],
            "disk_size_gb": 100,
            "disk_type": "pd-balanced",
            "labels": spec.labels,
            "gvnic": {"enabled": True},
            "shielded_instance_config": {"enable_secure_boot": True, "enable_integrity_monitoring": True},
            "workload_metadata_config": {"mode": "GKE_METADATA"},
        }
        if spec.kms_key:
            nodes["boot_disk_kms_key"] = spec.kms_key
        container.ContainerNodePool(
            self,
            "pool",
            name=spec.name,
            project=spec.project,
            cluster=spec.cluster,
            location=spec.zone,
            autoscaling={"total_min_node_count": spec.nodes, "total_max_node_count": spec.max_nodes},
            management={"auto_repair": True, "auto_upgrade": True},
            upgrade_settings={"strategy": "SURGE", "max_surge": 1, "max_unavailable": 0},
            network_config={"enable_private_nodes": True},
            node_config=nodes,
            depends_on=list(after),
        )
