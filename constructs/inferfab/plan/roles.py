"""The workers of one role: memory, speed, NICs and command line of each."""

from inferfab.catalog.gpus import gpus
from inferfab.catalog.instances import instances
from inferfab.environment.cells import Cell
from inferfab.environment.pools import Replicas, Workers
from inferfab.environment.tiers import Workload
from inferfab.plan.batch import BatchPlan, plan_batch
from inferfab.plan.engine import EnginePlan, batched_tokens, parallelism, plan_engine
from inferfab.plan.fabric import RoleFabricPlan, plan_role_fabric
from inferfab.plan.marking import plan_marking
from inferfab.plan.memory import MemoryPlan, Parallelism, plan_memory
from inferfab.plan.names import node_group_name
from inferfab.plan.performance import PerformancePlan, plan_performance
from inferfab.plan.place import Place
from inferfab.plan.placement import Role, workers_on_node
from inferfab.plan.quantities import GIB, Bounds
from inferfab.plan.racks.cables import oversubscription, rail_device, rail_resource
from inferfab.plan.separation import shared_part
from inferfab.plan.served import ModelPlan
from inferfab.plan.serving.claims import ClaimPlan
from inferfab.plan.tiers import TierPlan
from inferfab.plan.transport import Transport, efa_transport, roce_transport, tcp_transport
from inferfab.record import Record


class RolePlan(Record):
    """The workers of one role of a pool."""

    role: Role
    node_group: str
    parallelism: Parallelism
    workers: Bounds
    memory: MemoryPlan
    batch: BatchPlan
    performance: PerformancePlan
    fabric: RoleFabricPlan
    engine: EnginePlan
    claim: ClaimPlan | None
    """Where GPUs and NICs come by a claim; then no extended resource brings them."""


def replica_bounds(asked: Replicas) -> Bounds:
    low, desired, high = asked.bounds
    return Bounds(min=low, desired=desired, max=high)


def _transport(interfaces: int, place: Place, *, claimed: bool) -> Transport:
    """Of one pod: a worker that spans nodes has one on each, with that node's interfaces."""
    if place.fabric == "efa":
        return efa_transport(interfaces, dranet=claimed, image_suffix=place.context.pair.efa_tag_suffix)
    if place.fabric == "roce":
        return _roce_transport(place.context.cell)
    return tcp_transport()


def _roce_transport(cell: Cell) -> Transport:
    """Google marks by itself and hands its NICs out by claim or annotation; on racks pods ask for the rails."""
    racks = cell.racks
    if racks is None:
        return roce_transport(traffic_class=None, nic_resources={})
    nics = instances("racks")[racks.machine].rdma_nic_count
    return roce_transport(
        traffic_class=plan_marking(cell).pods_traffic_class,
        nic_resources={rail_resource(racks.attach, rail): 1 for rail in range(nics)},
        # A virtual function has a device of its own, whose name nobody knows before.
        devices=tuple(rail_device(racks, rail) for rail in range(nics)) if racks.attach == "macvlan" else (),
    )


def _claim(name: str, gpus: int, interfaces: int, place: Place) -> ClaimPlan | None:
    """GKE hands RDMA NICs out by DRANET, which can give a pod some of a node's; its older way, networks by annotation,
    gives all pods of a group the same ones. On AWS where the cell asks for it.
    """
    asked = place.context.cell.fabric
    by_annotation = asked is not None and asked.kind == "roce" and asked.attach == "networks"
    if place.fabric == "roce" and place.context.cell.cloud == "gcp" and not by_annotation:
        return ClaimPlan(name=name, gpus=gpus, nic_class="mrdma.google.com", nics=interfaces)
    if place.fabric == "efa" and asked is not None and asked.kind == "efa" and asked.plugin == "dranet":
        return ClaimPlan(name=name, gpus=gpus, nic_class="efa.networking.k8s.aws", nics=interfaces)
    return None


def plan_role(
    pool: str,
    role: Role,
    workers: Workers,
    place: Place,
    tier: TierPlan,
    model: ModelPlan,
    *,
    block_tokens: int,
    workload: Workload,
) -> RolePlan:
    """Decide one role of a pool at a place."""
    machine = place.machine
    parallel = parallelism(workers)
    _, nodes = workers_on_node(machine.gpu_count, parallel.gpus)
    stated = round(workers.overhead_gib * GIB) if workers.overhead_gib is not None else None
    memory = plan_memory(
        model,
        gpus()[machine.gpu],
        parallel,
        gpu_memory_utilization=workers.gpu_memory_utilization,
        batched_tokens=batched_tokens(role, workers),
        sequences=workers.max_sequences or 256,
        stated_overhead_bytes=stated,
    )
    racks = place.context.cell.racks
    fabric = plan_role_fabric(
        place.fabric,
        machine,
        parallel.gpus,
        parallel.data,
        oversubscription=oversubscription(racks) if racks else 1.0,
        shared_part=shared_part(racks) if racks else 1.0,
    )
    interfaces = fabric.rdma_interfaces_per_worker // nodes
    claim = _claim(f"{pool}-{role}-devices", -(-parallel.gpus // nodes), interfaces, place)
    batch = plan_batch(
        workers,
        model,
        gpus()[machine.gpu],
        parallel,
        memory,
        mean_sequence_tokens=workload.prompt_tokens + workload.output_tokens / 2,
        itl_at_most_ms=tier.strictest_ms("itl") if role != "prefill" else None,
    )
    return RolePlan(
        role=role,
        node_group=node_group_name(pool, role, lodger=place.context.lodger),
        parallelism=parallel,
        workers=replica_bounds(workers.replicas),
        memory=memory,
        batch=batch,
        performance=plan_performance(
            model,
            gpus()[machine.gpu],
            parallel,
            memory,
            prompt_tokens=workload.prompt_tokens,
            output_tokens=workload.output_tokens,
            max_sequences=batch.max_sequences,
            reads_prompts=role != "decode",
            writes_answers=role != "prefill",
        ),
        fabric=fabric,
        engine=plan_engine(
            place.context.pair,
            model,
            role,
            workers,
            memory,
            _transport(interfaces, place, claimed=claim is not None),
            block_tokens=block_tokens,
            max_sequences=batch.max_sequences,
            image_registry=place.context.image_registry,
            nodes=nodes,
        ),
        claim=claim,
    )
