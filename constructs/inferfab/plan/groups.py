"""The node groups that hold the workers of a pool."""

from inferfab.plan.fabric import node_layout
from inferfab.plan.names import node_group_name
from inferfab.plan.place import Place
from inferfab.plan.placement import NodeGroupPlan, Role, nodes_for, workers_on_node
from inferfab.plan.quantities import Bounds
from inferfab.plan.roles import RolePlan
from inferfab.plan.root_disk import root_disk_gib
from inferfab.plan.served import ModelPlan
from inferfab.plan.transport import EFA_HUGEPAGES_MIB

MOST_PODS = 110
"""Kubernetes itself is tested to so many pods a node; a GPU node needs a few dozen."""

SYSTEM_LABELS = {"inferfab/pool": "system"}
HYBRID_LABELS = {"eks.amazonaws.com/compute-type": "hybrid"}
"""Of servers that joined EKS from outside; EKS sets it."""
"""Of nodes without GPUs, where everything else of the cell stands."""

MIG_LAYOUT = "nvidia.com/mig.config"
"""Label by which the GPU operator's MIG manager learns a node's layout."""


def group_of_role(pool: str, role: RolePlan, place: Place, model: ModelPlan) -> NodeGroupPlan:
    """The node group of one role: prefill and decode never share a host."""
    gpus_on_node, gpus_per_worker = place.machine.gpu_count, role.parallelism.gpus
    per_node, per_worker = workers_on_node(gpus_on_node, gpus_per_worker)
    nodes = role.workers.map(lambda n: nodes_for(n, gpus_on_node, gpus_per_worker))
    former = group_of_role(pool, role, place.former, model) if place.former else None
    return node_group(
        pool,
        role.role,
        place,
        nodes,
        workers_per_node=per_node,
        nodes_per_worker=per_worker,
        idle=nodes.desired * gpus_on_node - role.workers.desired * gpus_per_worker,
        model_bytes=model.weights_bytes + model.draft_weights_bytes,
        former=former,
    )


def node_group(
    pool: str,
    role: Role,
    place: Place,
    nodes: Bounds,
    *,
    workers_per_node: int,
    nodes_per_worker: int,
    idle: int,
    model_bytes: int,
    cut: bool = False,
    former: NodeGroupPlan | None = None,
) -> NodeGroupPlan:
    """
    :param model_bytes: of the models that its nodes hold.
    :param cut: its GPUs are cut by MIG, in the layout that has the group's name.
    :param former: the group of an older generation that stands beside it.
    """
    machine, where = place.machine, place.context
    max_pods = machine.max_pods_with_rdma if place.fabric == "efa" else machine.max_pods
    if where.lodger:
        # How many addresses a node has is decided by the VPC CNI's settings, which are the cluster owner's.
        max_pods = None
    name = node_group_name(pool, role, lodger=where.lodger)
    labels = {"inferfab/cell": where.cell_name, "inferfab/pool": pool, "inferfab/role": role}
    if cut:
        labels[MIG_LAYOUT] = name
    return NodeGroupPlan(
        name=name,
        cell=where.cell_name,
        pool=pool,
        role=role,
        cloud=where.cell.machines,
        region=where.cell.region,
        zone=where.cell.zone,
        instance=machine.name,
        gpu=machine.gpu,
        gpus_per_node=machine.gpu_count,
        nodes=nodes,
        workers_per_node=workers_per_node,
        nodes_per_worker=nodes_per_worker,
        idle_gpus=idle,
        capacity=place.capacity,
        generation=place.generation,
        former=former,
        labels=labels,
        taints={"nvidia.com/gpu": "true:NoSchedule", "inferfab/pool": f"{pool}:NoSchedule"},
        arch=machine.arch,
        local_nvme_gb=machine.local_nvme_gb,
        root_disk_gib=root_disk_gib(machine.local_nvme_gb, model_bytes),
        layout=node_layout(place.fabric, machine),
        max_pods=min(MOST_PODS, max_pods) if max_pods else None,
        hugepages_2mi_mib=EFA_HUGEPAGES_MIB * max(1, workers_per_node) if place.fabric == "efa" else 0,
    )
