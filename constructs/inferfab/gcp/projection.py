"""From the plan's pieces to the constructs' specs. Nothing is decided here: each field is read from the plan."""

from inferfab.catalog.gke import accelerator, local_ssds
from inferfab.gcp.capacity import Capacity, OnDemand, Reservation, Spot
from inferfab.gcp.gpu_node_pool import GpuNodePoolSpec, NodeTaint
from inferfab.gcp.network import CellNetworkSpec
from inferfab.gcp.rdma_network import RdmaNetworkSpec
from inferfab.plan.fleet import CellPlan
from inferfab.plan.gcp_names import GcpCellNames
from inferfab.plan.placement import NodeGroupPlan

_EFFECTS = {"NoSchedule": "NO_SCHEDULE", "PreferNoSchedule": "PREFER_NO_SCHEDULE", "NoExecute": "NO_EXECUTE"}


def names_of(cell: CellPlan) -> GcpCellNames:
    """The cell's names in Google Cloud; every cell there has them."""
    assert cell.gcp is not None, f"{cell.name} is not in Google Cloud"
    return cell.gcp


def labels(tags: dict[str, str], environment: str, cell: str | None = None) -> dict[str, str]:
    """Labels of Google Cloud: lower-case letters, digits, dashes and underscores only."""
    stated = {**tags, "inferfab-environment": environment, **({"inferfab-cell": cell} if cell else {})}
    return {_label(key): _label(value) for key, value in stated.items()}


def _label(text: str) -> str:
    return "".join(c if c.isalnum() or c in "-_" else "-" for c in text.lower())[:63]


def network_spec(cell: CellPlan, project: str) -> CellNetworkSpec:
    network = cell.network
    (system,) = network.cidrs("system")
    (inference,) = network.cidrs("inference")
    assert network.pod_cidr is not None and network.service_cidr is not None
    return CellNetworkSpec(
        name=names_of(cell).network,
        project=project,
        region=cell.region,
        system_cidr=system,
        inference_cidr=inference,
        pod_cidr=network.pod_cidr,
        service_cidr=network.service_cidr,
        # With DRANET GKE makes those of the accelerators' machines by itself.
        gvnic_cidrs=network.cidrs("gvnic") if by_networks(cell) else (),
        nat=network.egress == "nat",
        gateway_ports=(cell.gateway.port, cell.gateway.health_port),
    )


def rdma_network_spec(cell: CellPlan, project: str) -> RdmaNetworkSpec:
    return RdmaNetworkSpec(
        name=names_of(cell).rdma_network,
        project=project,
        region=cell.region,
        zone=cell.zone,
        cidrs=cell.network.cidrs("rdma"),
    )


def by_networks(cell: CellPlan) -> bool:
    """Pods reach RDMA NICs by networks of ours, not by claims."""
    return cell.fabric.kind == "roce" and not cell.serving.claims


def capacity_of(group: NodeGroupPlan) -> Capacity:
    planned = group.capacity
    if planned.kind == "reservation":
        return Reservation(name=planned.id, block=planned.block)
    return Spot() if planned.kind == "spot" else OnDemand()


def gpu_node_pool_spec(
    cell: CellPlan,
    group: NodeGroupPlan,
    *,
    project: str,
    cluster: str,
    service_account: str,
    kms_key: str,
    networks: tuple[tuple[str, str], ...],
) -> GpuNodePoolSpec:
    """:param networks: further NICs of a node, gVNIC ones first."""
    rdma = any(nic.type == "mrdma" for nic in group.layout)
    # Of this group: one without claims keeps GKE's own device plugin and driver.
    claimed = any(r.claim is not None and r.node_group == group.name for p in cell.pools for r in p.roles)
    return GpuNodePoolSpec(
        name=group.name,
        project=project,
        region=cell.region,
        zone=cell.zone,
        cluster=cluster,
        machine_type=group.instance,
        gpu_type=accelerator(group.instance, group.gpu),
        gpus_per_node=group.gpus_per_node,
        min_nodes=group.nodes.min,
        max_nodes=max(1, group.nodes.max),
        service_account=service_account,
        kms_key=kms_key,
        root_disk_gib=group.root_disk_gib,
        local_ssds=local_ssds(group.local_nvme_gb),
        capacity=capacity_of(group),
        nics="dranet" if claimed and rdma else "networks" if rdma else "none",
        networks=networks if rdma and not claimed else (),
        claimed_gpus=claimed,
        placement_name=f"{names_of(cell).placement_prefix}-{group.name}"[:63],
        labels=group.labels,
        taints=tuple(_taint(key, text) for key, text in group.taints.items()),
        max_pods=group.max_pods or 110,
    )


def _taint(key: str, text: str) -> NodeTaint:
    value, _, effect = text.rpartition(":")
    return NodeTaint.model_validate({"key": key, "value": value, "effect": _EFFECTS[effect]})
