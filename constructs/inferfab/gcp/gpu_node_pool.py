"""A pool of GPU nodes on the RoCE network."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from inferfab.aws.optional import optional
from inferfab.gcp.capacity import Capacity, OnDemand, affinity
from inferfab.record import Record
from inferfab.terraform import Construct, ITerraformDependable, Lifecycle
from inferfab.terraform.google import compute, container

DRANET_LABEL = "cloud.google.com/gke-networking-dra-driver"
_NO_PLUGIN = "gke-no-default-nvidia-gpu-device-plugin"


class NodeTaint(Record):
    """A taint."""

    key: str
    value: str
    effect: Literal["NO_SCHEDULE", "PREFER_NO_SCHEDULE", "NO_EXECUTE"] = "NO_SCHEDULE"


class GpuNodePoolSpec(Record):
    """What :class:`GpuNodePool` needs."""

    name: Annotated[str, Field(pattern=r"^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$")]
    project: str
    region: str
    zone: str
    cluster: str
    """Id of the cluster."""
    machine_type: str
    gpu_type: str
    """As Compute Engine calls it, ``nvidia-h200-141gb``."""
    gpus_per_node: Annotated[int, Field(ge=1, le=16)]
    min_nodes: Annotated[int, Field(ge=0)]
    max_nodes: Annotated[int, Field(ge=1)]
    service_account: str
    kms_key: str | None = None
    """Key of the root disk. Default: Google's own."""
    root_disk_gib: Annotated[int, Field(ge=50)] = 200
    local_ssds: int = 0
    """Local disks of 375 GiB that hold the kubelet's own folder. Default: none."""
    capacity: Capacity = OnDemand()
    nics: Literal["dranet", "networks", "none"] = "none"
    """Who hands RDMA NICs out: GKE's managed DRANET, whose networks GKE makes; networks of ours, by annotation; nobody.
    Google takes one or the other. Default: the pool has none.
    """
    networks: tuple[tuple[str, str], ...] = ()
    """(network, subnet) of each further NIC, in order; with ``networks`` only."""
    claimed_gpus: bool = False
    """Pods take GPUs by claims: neither GKE's device plugin nor its driver installation runs. Default: no."""
    compact: bool = True
    """Nodes close to each other. Default: yes. With a reservation its own placement counts."""
    placement_name: str | None = None
    """Name of the placement policy, one of a kind in the region. Default: the pool's."""
    labels: dict[str, str] = {}
    taints: tuple[NodeTaint, ...] = ()
    max_pods: Annotated[int, Field(ge=8, le=256)] = 110

    @model_validator(mode="after")
    def _consistent(self) -> "GpuNodePoolSpec":
        if bool(self.networks) != (self.nics == "networks"):
            raise ValueError("networks: name those of the further NICs with nics=networks, and with it only")
        if self.min_nodes > self.max_nodes:
            raise ValueError(f"min_nodes {self.min_nodes} is above max_nodes {self.max_nodes}")
        return self


class GpuNodePool(Construct):
    """Nodes of one role. Upgrades take one away at a time and add none: reserved capacity has no spare.

    The drivers' version is not ours to change by a plan: a new one would make the pool anew
    (hashicorp/terraform-provider-google#23248).

    Example::

        from inferfab.gcp.gpu_node_pool import GpuNodePool, GpuNodePoolSpec

        GpuNodePool(
            stack,
            "chat-prefill",
            GpuNodePoolSpec(
                name="chat-prefill",
                project="example-inference",
                region="us-central1",
                zone="us-central1-c",
                cluster="projects/example-inference/locations/us-central1-c/clusters/prod-usc1-c",
                machine_type="a3-ultragpu-8g",
                gpu_type="nvidia-h200-141gb",
                gpus_per_node=8,
                min_nodes=1,
                max_nodes=2,
                service_account="prod-usc1-c-node@example-inference.iam.gserviceaccount.com",
                nics="dranet",
                claimed_gpus=True,
            ),
        )
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        spec: GpuNodePoolSpec,
        *,
        after: tuple[ITerraformDependable, ...] = (),
    ) -> None:
        super().__init__(scope, construct_id)
        placement = self._placement(spec)
        network: container.ContainerNodePoolNetworkConfig = {"enable_private_nodes": True, "pod_range": "pods"}
        if spec.nics == "dranet":
            network["accelerator_network_profile"] = "auto"
        elif spec.nics == "networks":
            network["additional_node_network_configs"] = [
                {"network": name, "subnetwork": subnet} for name, subnet in spec.networks
            ]
        container.ContainerNodePool(
            self,
            "pool",
            name=spec.name,
            project=spec.project,
            cluster=spec.cluster,
            location=spec.zone,
            node_locations=[spec.zone],
            autoscaling={
                "total_min_node_count": spec.min_nodes,
                "total_max_node_count": spec.max_nodes,
                "location_policy": "ANY",
            },
            max_pods_per_node=spec.max_pods,
            management={"auto_repair": True, "auto_upgrade": True},
            upgrade_settings={"strategy": "SURGE", "max_surge": 0, "max_unavailable": 1},
            network_config=network,
            placement_policy=optional(placement),
            node_config=self._nodes(spec),
            lifecycle=Lifecycle(
                # GKE and its autoscaler own them once they are there.
                ignore_changes=[
                    "initial_node_count",
                    "node_config[0].guest_accelerator[0].gpu_driver_installation_config",
                ]
            ),
            depends_on=list(after),
        )

    def _placement(self, spec: GpuNodePoolSpec) -> container.ContainerNodePoolPlacementPolicy | None:
        if not spec.compact or spec.capacity.kind == "reservation":
            return None
        policy = compute.ComputeResourcePolicy(
            self,
            "placement",
            name=spec.placement_name or spec.name,
            project=spec.project,
            region=spec.region,
            group_placement_policy={"collocation": "COLLOCATED"},
        )
        return {"type": "COMPACT", "policy_name": policy.name}

    def _nodes(self, spec: GpuNodePoolSpec) -> container.ContainerNodePoolNodeConfig:
        labels = dict(spec.labels)
        if spec.nics == "dranet":
            labels[DRANET_LABEL] = "true"
        if spec.claimed_gpus:
            labels[_NO_PLUGIN] = "true"
        driver = "INSTALLATION_DISABLED" if spec.claimed_gpus else "LATEST"
        nodes: container.ContainerNodePoolNodeConfig = {
            "machine_type": spec.machine_type,
            "image_type": "COS_CONTAINERD",
            "service_account": spec.service_account,
            "oauth_scopes": ["https://www.googleapis.com/auth/cloud-platform"],
            "disk_size_gb": spec.root_disk_gib,
            "disk_type": "hyperdisk-balanced",
            "labels": labels,
            "taint": [{"key": t.key, "value": t.value, "effect": t.effect} for t in spec.taints],
            "guest_accelerator": [
                {
                    "type": spec.gpu_type,
                    "count": spec.gpus_per_node,
                    "gpu_driver_installation_config": {"gpu_driver_version": driver},
                }
            ],
            "gvnic": {"enabled": True},
            "reservation_affinity": affinity(spec.capacity),
            "spot": spec.capacity.kind == "spot",
            "shielded_instance_config": {"enable_secure_boot": True, "enable_integrity_monitoring": True},
            "workload_metadata_config": {"mode": "GKE_METADATA"},
        }
        if spec.kms_key:
            nodes["boot_disk_kms_key"] = spec.kms_key
        if spec.local_ssds:
            nodes["ephemeral_storage_local_ssd_config"] = {"local_ssd_count": spec.local_ssds}
        return nodes
