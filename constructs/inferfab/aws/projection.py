"""From the plan's pieces to the constructs' specs. Nothing is decided here: each field is read from the plan."""

from inferfab.aws.addon import AddonVersions
from inferfab.aws.capacity import Capacity, CapacityBlock, OnDemand, Reservation, Spot
from inferfab.aws.cluster_key import Launcher
from inferfab.aws.existing_network import ExistingNetworkSpec
from inferfab.aws.gpu_node_group import GpuNodeGroupSpec
from inferfab.aws.launch_template import RootVolume
from inferfab.aws.network_spec import CellNetworkSpec
from inferfab.aws.node_interfaces import Interface
from inferfab.aws.node_labels import Taint
from inferfab.environment.capacity import PlannedCapacity
from inferfab.plan.aws_names import AwsCellNames
from inferfab.plan.fleet import CellPlan
from inferfab.plan.placement import FORMER_TAINT, NodeGroupPlan, suffix_of


def names_of(cell: CellPlan) -> AwsCellNames:
    """The cell's AWS names; every AWS cell has them."""
    assert cell.aws is not None, f"{cell.name} is not in AWS"
    return cell.aws


def network_spec(cell: CellPlan, boundary_arn: str | None, flow_log_key_arn: str | None = None) -> CellNetworkSpec:
    """A network of the cell's own."""
    names, network = names_of(cell), cell.network
    (public,) = network.cidrs("public")
    (system,) = network.cidrs("system")
    (inference,) = network.cidrs("inference")
    first, second = network.cidrs("control-plane")
    second_zone = next(s.zone for s in reversed(network.subnets) if s.purpose == "control-plane")
    assert network.egress is not None
    return CellNetworkSpec(
        name=names.prefix,
        region=cell.region,
        zone=cell.zone,
        second_zone=second_zone,
        cidr=network.cidr,
        # Nothing needs an internet gateway where nothing goes out and nobody comes in.
        public_cidr=public if network.egress == "nat" or cell.gateway.public else None,
        system_cidr=system,
        control_plane_cidrs=(first, second),
        inference_cidr=inference,
        egress=network.egress,
        cluster_name=cell.cluster,
        flow_log_group=names.flow_log_group,
        flow_log_key_arn=flow_log_key_arn,
        permissions_boundary_arn=boundary_arn,
    )


def existing_network_spec(cell: CellPlan) -> ExistingNetworkSpec:
    """A network that somebody else owns."""
    network, there = cell.network, cell.network.existing
    assert network.existing_id is not None
    assert there is not None
    return ExistingNetworkSpec(
        name=names_of(cell).prefix,
        vpc_id=network.existing_id,
        cidr=network.cidr,
        system_subnet_ids=there.node_subnet_ids,
        inference_subnet_id=there.inference_subnet_id,
        public_subnet_ids=there.public_subnet_ids,
        region=cell.region,
    )


def launchers(cell: CellPlan) -> tuple[Launcher, ...]:
    """Services that start the cell's nodes. Their service-linked roles must be in the account before its key is."""
    standing = [*cell.node_groups, *(group.former for group in cell.node_groups if group.former)]
    spot = any(group.capacity.kind == "spot" for group in standing)
    return ("autoscaling", "spot") if spot else ("autoscaling",)


def addon_versions(cell: CellPlan) -> AddonVersions:
    """Versions of EKS's add-ons that the file pins."""
    return AddonVersions.model_validate({name.replace("-", "_"): v for name, v in cell.addon_versions.items()})


def capacity_of(planned: PlannedCapacity) -> Capacity:
    """How a node group's capacity is bought."""
    if planned.kind == "reservation":
        return Reservation(id=planned.id)
    if planned.kind == "capacity_block":
        return CapacityBlock(id=planned.id, ends_at=planned.ends_at)
    return Spot() if planned.kind == "spot" else OnDemand()


def node_version(cell: CellPlan) -> str | None:
    """Kubernetes of the nodes: the cluster's where it is ours, so that an upgrade reaches them. Who owns a cluster
    upgrades it at a time of their own; its groups keep what they were made with.
    """
    return None if cell.cluster_exists else cell.kubernetes


def gpu_node_group_spec(
    cell: CellPlan,
    group: NodeGroupPlan,
    *,
    node_role_arn: str,
    kms_key_arn: str | None,
    subnet_id: str,
    security_group_ids: tuple[str, ...],
    tags: dict[str, str],
    former: bool = False,
) -> GpuNodeGroupSpec:
    """The node group of one role of one pool.

    :param former: a newer generation takes the place of the group. It may become empty, takes no new pods, and keeps
        the image that it has.
    """
    block = group.capacity.kind == "capacity_block"
    taints = {**group.taints, FORMER_TAINT: "true:NoSchedule"} if former else group.taints
    return GpuNodeGroupSpec(
        name=group.name,
        cluster_name=cell.cluster,
        node_role_arn=node_role_arn,
        template_name=f"{names_of(cell).prefix}-{group.name}",
        instance_type=group.instance,
        gpus_per_node=group.gpus_per_node,
        subnet_id=subnet_id,
        security_group_ids=security_group_ids,
        interfaces=tuple(
            Interface(card=nic.card, device=nic.device, type="efa-only" if nic.type == "efa-only" else "interface")
            for nic in group.layout
        ),
        architecture=group.arch,
        local_nvme_gb=group.local_nvme_gb,
        root_volume=RootVolume(size_gib=group.root_disk_gib),
        max_pods=group.max_pods,
        hugepages_2mi_mib=group.hugepages_2mi_mib,
        efa_device_plugin=cell.fabric.plugin != "dranet",
        capacity=capacity_of(group.capacity),
        # A block has a first day; before it EC2 starts nothing, so its group begins empty and pods call for nodes.
        min_nodes=0 if block or former else group.nodes.min,
        desired_nodes=0 if block else group.nodes.desired,
        max_nodes=group.nodes.max,
        labels=group.labels,
        scaled_by=names_of(cell).autoscaler_tag or None,
        taints=tuple(_taint(key, text) for key, text in taints.items()),
        kms_key_arn=kms_key_arn,
        kubernetes_version=None if former else node_version(cell),
        release_version=None if former else cell.ami_release,
        tags=tags,
        generation=suffix_of(group.generation),
        scale_to_zero_at=group.drains_at,
        bounds_back_at=group.capacity.ends_at if group.capacity.kind == "capacity_block" else None,
    )


def _taint(key: str, text: str) -> Taint:
    value, _, effect = text.rpartition(":")
    return Taint.model_validate({"key": key, "value": value, "effect": effect})
