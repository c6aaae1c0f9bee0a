"""A cell's cluster with everything in it, wired as a stack would, and GPU node groups of catalog machines."""

from typing import Any

from inferfab.aws.access import AccessEntry, ClusterAccess, ClusterAccessSpec
from inferfab.aws.capacity import CapacityBlock, Reservation, Spot
from inferfab.aws.cluster import EksCluster, EksClusterSpec
from inferfab.aws.cluster_key import ClusterKey, ClusterKeySpec
from inferfab.aws.core_addons import CoreAddons, CoreAddonsSpec
from inferfab.aws.gpu_node_group import GpuNodeGroup, GpuNodeGroupSpec
from inferfab.aws.iam import ClusterRole, ClusterRoleSpec, NodeRole, NodeRoleSpec
from inferfab.aws.network_addons import NetworkAddons, NetworkAddonsSpec
from inferfab.aws.node_interfaces import Interface
from inferfab.aws.node_labels import Taint
from inferfab.aws.system_node_group import SystemNodeGroup, SystemNodeGroupSpec
from inferfab.catalog.instances import EfaNics, instances
from inferfab.terraform import TerraformStack

ACCOUNT, REGION, NAME = "111122223333", "us-east-1", "prod-use1-a"
BOUNDARY = f"arn:aws:iam::{ACCOUNT}:policy/inferfab-boundary"
KEY = f"arn:aws:kms:{REGION}:{ACCOUNT}:key/1234abcd-12ab-34cd-56ef-1234567890ab"
GROUPS = ("sg-0aaaaaaaaaaaaaaa1", "sg-0aaaaaaaaaaaaaaa2")
SUBNET = "subnet-0aaaaaaaaaaaaaaa9"
RESERVED = Reservation(id="cr-0a1b2c3d4e5f60001")
BLOCK = CapacityBlock(id="cr-0a1b2c3d4e5f60002", ends_at="2027-01-31T11:30:00Z")


def layout_of(machine: str) -> tuple[Interface, ...]:
    nics = instances("aws")[machine].nics
    assert isinstance(nics, EfaNics) and nics.layout is not None
    return tuple(Interface(card=card, device=device, type=type_) for card, device, type_ in nics.layout)


def gpu_group(machine: str, **changes: Any) -> GpuNodeGroupSpec:
    """A group of a catalog machine, with its whole layout."""
    known = instances("aws")[machine]
    values: dict[str, Any] = {
        "name": "chat-prefill",
        "cluster_name": NAME,
        "node_role_arn": f"arn:aws:iam::{ACCOUNT}:role/{NAME}-node",
        "template_name": f"{NAME}-chat-prefill",
        "instance_type": machine,
        "gpus_per_node": known.gpu_count,
        "subnet_id": SUBNET,
        "security_group_ids": GROUPS,
        "interfaces": layout_of(machine),
        "local_nvme_gb": known.local_nvme_gb,
        "min_nodes": 0,
        "desired_nodes": 0,
        "max_nodes": 4,
        "labels": {"inferfab/pool": "chat", "inferfab/role": "prefill"},
        "taints": (Taint(key="nvidia.com/gpu", value="true"), Taint(key="inferfab/pool", value="chat")),
        "kms_key_arn": KEY,
    }
    return GpuNodeGroupSpec(**(values | changes))


def cluster_spec(**changes: Any) -> EksClusterSpec:
    values: dict[str, Any] = {
        "name": NAME,
        "kubernetes_version": "1.36",
        "role_arn": f"arn:aws:iam::{ACCOUNT}:role/{NAME}-cluster",
        "kms_key_arn": KEY,
        "subnet_ids": ("subnet-0aaaaaaaaaaaaaaa1", "subnet-0aaaaaaaaaaaaaaa2"),
    }
    return EksClusterSpec(**(values | changes))


def whole_cell(stack: TerraformStack) -> None:
    """Cluster, access, add-ons, system nodes, and one GPU node group a way of buying."""
    where: dict[str, Any] = {"account_id": ACCOUNT, "region": REGION}
    role = ClusterRole(
        stack,
        "cluster-role",
        ClusterRoleSpec(**where, name=f"{NAME}-cluster", cluster_name=NAME, permissions_boundary_arn=BOUNDARY),
    )
    nodes = NodeRole(stack, "node-role", NodeRoleSpec(name=f"{NAME}-node", permissions_boundary_arn=BOUNDARY))
    key = ClusterKey(
        stack,
        "key",
        ClusterKeySpec(
            **where,
            alias=f"alias/{NAME}-cluster",
            cluster_role_arn=role.arn,
            log_group_names=(f"/aws/eks/{NAME}/cluster", f"/inferfab/{NAME}/flow-logs"),
            launched_by=("autoscaling", "spot"),
        ),
    )
    cluster = EksCluster(
        stack,
        "cluster",
        cluster_spec(role_arn=role.arn, kms_key_arn=key.arn, private_access_cidrs=("10.0.0.0/16",)),
        after=role.ready,
    )
    ClusterAccess(
        stack,
        "access",
        ClusterAccessSpec(
            cluster_name=cluster.name,
            entries=(
                AccessEntry(
                    name="deploy", principal_arn=f"arn:aws:iam::{ACCOUNT}:role/inferfab-deploy", may="cluster-admin"
                ),
                AccessEntry(
                    name="chat-team",
                    principal_arn=f"arn:aws:iam::{ACCOUNT}:role/chat-team",
                    namespaces=("serving-priority",),
                ),
            ),
        ),
    )
    network = NetworkAddons(
        stack,
        "network-addons",
        NetworkAddonsSpec(
            **where,
            cluster_name=cluster.name,
            kubernetes_version="1.36",
            cni_role_name=f"{NAME}-cni",
            permissions_boundary_arn=BOUNDARY,
        ),
    )
    before_nodes = (*nodes.ready, *network.ready)
    system = SystemNodeGroup(
        stack,
        "system",
        SystemNodeGroupSpec(
            name="system",
            cluster_name=cluster.name,
            node_role_arn=nodes.arn,
            template_name=f"{NAME}-system",
            instance_type="m7i.2xlarge",
            subnet_ids=("subnet-0aaaaaaaaaaaaaaa3",),
            min_nodes=2,
            desired_nodes=3,
            max_nodes=6,
            kms_key_arn=key.arn,
            labels={"inferfab/pool": "system"},
        ),
        after=before_nodes,
    )
    CoreAddons(
        stack,
        "core-addons",
        CoreAddonsSpec(
            **where,
            cluster_name=cluster.name,
            kubernetes_version="1.36",
            ebs_csi_role_name=f"{NAME}-ebs-csi",
            kms_key_arn=key.arn,
            node_selector={"inferfab/pool": "system"},
            permissions_boundary_arn=BOUNDARY,
        ),
        after=system.ready,
    )
    wired = {"cluster_name": cluster.name, "node_role_arn": nodes.arn, "kms_key_arn": key.arn}
    for name, machine, capacity in (
        ("reserved", "p5en.48xlarge", RESERVED),
        ("block", "p6-b300.48xlarge", BLOCK),
        ("spot", "g6e.12xlarge", Spot()),
    ):
        spec = gpu_group(machine, name=name, template_name=f"{NAME}-{name}", capacity=capacity, **wired)
        GpuNodeGroup(stack, name, spec, after=before_nodes)
