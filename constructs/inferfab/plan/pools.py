"""One pool in one cell: every section decided, in order, from machine to money."""

from inferfab.catalog.engines import EnginePair
from inferfab.catalog.gpus import gpus
from inferfab.catalog.instances import InstanceType
from inferfab.catalog.throughput import throughput
from inferfab.environment.capacity import Capacity
from inferfab.environment.cells import Cell
from inferfab.environment.money import PriceOverlay
from inferfab.environment.pools import (
    AggregatedPool,
    DisaggregatedPool,
    Pool,
    PoolInCell,
    Replicas,
    SharedPool,
    Workers,
)
from inferfab.environment.tiers import Workload
from inferfab.plan.cost import CostPlan, HourlyPrice, Money, TokenCost, hourly_price, token_cost
from inferfab.plan.engine import (
    EnginePlan,
    batched_tokens,
    default_block_tokens,
    max_sequences,
    parallelism,
    plan_engine,
)
from inferfab.plan.fabric import RoleFabricPlan, fabric_kind, plan_role_fabric
from inferfab.plan.kv_transfer import KvTransferPlan, plan_kv_transfer
from inferfab.plan.memory import MemoryPlan, Parallelism, plan_memory
from inferfab.plan.names import graph_name, namespace, node_group_name
from inferfab.plan.performance import PerformancePlan, plan_performance
from inferfab.plan.placement import NodeGroupPlan, Role, choose_instance, nodes_for, workers_on_node
from inferfab.plan.quantities import GIB, Bounds, Range
from inferfab.plan.scaling import ScalingPlan, plan_scaling
from inferfab.plan.served import ModelPlan
from inferfab.plan.sharing import SharedPlan, plan_shared
from inferfab.plan.tiers import TierPlan
from inferfab.plan.transport import (
    EFA_HUGEPAGES_MIB,
    FabricKind,
    Transport,
    efa_transport,
    roce_transport,
    tcp_transport,
)
from inferfab.record import Record


class RolePlan(Record):
    """The workers of one role of a pool."""

    role: Role
    node_group: str
    parallelism: Parallelism
    workers: Bounds
    memory: MemoryPlan
    performance: PerformancePlan
    fabric: RoleFabricPlan
    engine: EnginePlan


class PoolPlan(Record):
    """One pool in one cell."""

    cell: str
    name: str
    tier: str
    topology: str
    models: tuple[str, ...]
    namespace: str
    graph: str
    """Name of its DynamoGraphDeployment; ends in a digest of what admission makes immutable."""
    workload: Workload
    roles: tuple[RolePlan, ...]
    """Empty for a shared pool."""
    shared: SharedPlan | None
    kv_transfer: KvTransferPlan | None
    scaling: ScalingPlan
    requests_per_second: Range
    """What the desired workers serve when fully busy; multiply by the utilization for the planned load."""
    price: HourlyPrice
    cost: CostPlan
    token_cost: TokenCost | None

    def role(self, role: Role) -> RolePlan:
        return next(r for r in self.roles if r.role == role)


class PlacedPool(Record):
    """A pool with its node groups."""

    pool: PoolPlan
    node_groups: tuple[NodeGroupPlan, ...]


class PoolContext(Record):
    """Where a pool is placed and what it may read."""

    environment: str
    cell_name: str
    cell: Cell
    pair: EnginePair
    image_registry: str | None
    overlay: tuple[PriceOverlay, ...]


def plan_pool(
    name: str, pool: Pool, here: PoolInCell | None, where: PoolContext, tier: TierPlan, models: dict[str, ModelPlan]
) -> PlacedPool:
    """Decide one pool in one cell. References were checked before: machine, models and tier exist."""
    capacity: Capacity = (here and here.capacity) or pool.capacity
    workload = pool.workload or tier.workload
    asked = _roles(pool, here)
    biggest = max((w.tensor_parallel * w.pipeline_parallel * w.data_parallel for _, w in asked), default=1)
    machine = choose_instance(
        where.cell.cloud,
        where.cell.region,
        instance=pool.instance,
        gpu=pool.gpu,
        gpus_per_worker=biggest,
        needs_rdma=pool.topology == "disaggregated" and pool.fabric != "tcp",
    )
    if machine is None:
        raise KeyError(pool.instance or pool.gpu)
    kind = fabric_kind(where.cell, pool.fabric, machine)
    price = hourly_price(where.cell.cloud, where.cell.region, machine.name, capacity, where.overlay)
    if isinstance(pool, SharedPool):
        return _shared(name, pool, here, where, tier, models, machine, kind, capacity, workload, price)
    model = models[pool.model]
    block = pool.block_tokens or default_block_tokens(where.pair, model.shape)
    roles = tuple(
        _plan_role(name, role, workers, where, tier, model, machine, kind, block, workload) for role, workers in asked
    )
    groups = tuple(_node_group(name, r, where, machine, kind, capacity) for r in roles)
    immutable = {
        "components": sorted(["frontend", *(r.role for r in roles)]), "model": [model.source, model.revision],
        "kv_transfer": kind, "multinode": [r.role for r in roles if groups[roles.index(r)].nodes_per_worker > 1],
    }  # fmt: skip
    transfer = None
    if isinstance(pool, DisaggregatedPool):
        transfer = plan_kv_transfer(
            model,
            roles[0].fabric,
            roles[1].fabric,
            prompt_tokens=workload.prompt_tokens,
            ttft_promise_ms=tier.strictest_ms("ttft"),
            share_of_ttft=pool.kv_transfer_share_of_ttft,
        )
    rates = [r.performance.requests_per_second.times(r.workers.desired) for r in roles]
    served = Range(low=min(r.low for r in rates), high=min((r.high or 0.0) for r in rates))
    cost = _cost(price, groups)
    return PlacedPool(
        pool=PoolPlan(
            cell=where.cell_name,
            name=name,
            tier=tier.name,
            topology=pool.topology,
            models=(pool.model,),
            namespace=namespace(tier.name),
            graph=graph_name(name, immutable),
            workload=workload,
            roles=roles,
            shared=None,
            kv_transfer=transfer,
            scaling=plan_scaling(
                {r.role: r.workers for r in roles}, {r.role: r.parallelism.gpus for r in roles}, groups
            ),
            requests_per_second=served,
            price=price,
            cost=cost,
            token_cost=_token_cost(cost, served, workload, model, machine, pool.topology),
        ),
        node_groups=groups,
    )


def _bounds(asked: Replicas) -> Bounds:
    low, desired, high = asked.bounds
    return Bounds(min=low, desired=desired, max=high)


def _roles(pool: Pool, here: PoolInCell | None) -> list[tuple[Role, Workers]]:
    """Roles of a pool with the cell's own replica bounds laid over."""

    def laid(workers: Workers, replicas: Replicas | None) -> Workers:
        return workers.model_copy(update={"replicas": replicas}) if replicas else workers

    if isinstance(pool, DisaggregatedPool):
        return [
            ("prefill", laid(pool.prefill, here.prefill_replicas if here else None)),
            ("decode", laid(pool.decode, here.decode_replicas if here else None)),
        ]
    if isinstance(pool, AggregatedPool):
        return [("worker", laid(pool.worker, here.worker_replicas if here else None))]
    return []


def _transport(kind: FabricKind, fabric: RoleFabricPlan, where: PoolContext, nodes: int) -> Transport:
    """Of one pod: a worker that spans nodes has one on each, with that node's interfaces."""
    interfaces = fabric.rdma_interfaces_per_worker // nodes
    if kind == "efa":
        dranet = (
            where.cell.fabric is not None and where.cell.fabric.kind == "efa" and where.cell.fabric.plugin == "dranet"
        )
        return efa_transport(interfaces, dranet=dranet, image_suffix=where.pair.efa_tag_suffix)
    if kind == "roce":
        # Google marks by itself and hands NICs to pods as networks, not as an extended resource.
        return roce_transport(interfaces, traffic_class=None, nic_resource=None)
    return tcp_transport()


def _plan_role(
    pool: str,
    role: Role,
    workers: Workers,
    where: PoolContext,
    tier: TierPlan,
    model: ModelPlan,
    machine: InstanceType,
    kind: FabricKind,
    block_tokens: int,
    workload: Workload,
) -> RolePlan:
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
    fabric = plan_role_fabric(kind, machine, parallel.gpus)
    mean_tokens = workload.prompt_tokens + workload.output_tokens / 2
    return RolePlan(
        role=role,
        node_group=node_group_name(pool, role),
        parallelism=parallel,
        workers=_bounds(workers.replicas),
        memory=memory,
        performance=plan_performance(
            model,
            gpus()[machine.gpu],
            parallel,
            memory,
            prompt_tokens=workload.prompt_tokens,
            output_tokens=workload.output_tokens,
            max_sequences=max_sequences(workers, model, memory, mean_tokens),
            itl_at_most_ms=tier.strictest_ms("itl"),
            reads_prompts=role != "decode",
            writes_answers=role != "prefill",
        ),
        fabric=fabric,
        engine=plan_engine(
            where.pair,
            model,
            role,
            workers,
            memory,
            _transport(kind, fabric, where, nodes),
            block_tokens=block_tokens,
            mean_sequence_tokens=mean_tokens,
            image_registry=where.image_registry,
            nodes=nodes,
        ),
    )


def _node_group(
    pool: str, role: RolePlan, where: PoolContext, machine: InstanceType, kind: FabricKind, capacity: Capacity
) -> NodeGroupPlan:
    gpus_per_worker = role.parallelism.gpus
    per_node, per_worker = workers_on_node(machine.gpu_count, gpus_per_worker)
    nodes = role.workers.map(lambda n: nodes_for(n, machine.gpu_count, gpus_per_worker))
    return _group(
        pool,
        role.role,
        where,
        machine,
        kind,
        capacity,
        nodes,
        workers_per_node=per_node,
        nodes_per_worker=per_worker,
        idle=nodes.desired * machine.gpu_count - role.workers.desired * gpus_per_worker,
    )


def _group(
    pool: str,
    role: Role,
    where: PoolContext,
    machine: InstanceType,
    kind: FabricKind,
    capacity: Capacity,
    nodes: Bounds,
    *,
    workers_per_node: int,
    nodes_per_worker: int,
    idle: int,
) -> NodeGroupPlan:
    max_pods = machine.max_pods_with_rdma if kind == "efa" else machine.max_pods
    return NodeGroupPlan(
        name=node_group_name(pool, role),
        cell=where.cell_name,
        pool=pool,
        role=role,
        cloud=where.cell.cloud,
        region=where.cell.region,
        zone=where.cell.zone,
        instance=machine.name,
        gpu=machine.gpu,
        gpus_per_node=machine.gpu_count,
        nodes=nodes,
        workers_per_node=workers_per_node,
        nodes_per_worker=nodes_per_worker,
        idle_gpus=idle,
        capacity=capacity,
        labels={"inferfab/cell": where.cell_name, "inferfab/pool": pool, "inferfab/role": role},
        taints={"nvidia.com/gpu": "true:NoSchedule", "inferfab/pool": f"{pool}:NoSchedule"},
        # Kubernetes itself is tested to 110 pods a node; a GPU node needs a few dozen.
        max_pods=min(110, max_pods) if max_pods else None,
        hugepages_2mi_mib=EFA_HUGEPAGES_MIB * max(1, workers_per_node) if kind == "efa" else 0,
    )


def _cost(price: HourlyPrice, groups: tuple[NodeGroupPlan, ...]) -> CostPlan:
    return CostPlan(
        desired=Money.hourly(price.usd.times(sum(g.nodes.desired for g in groups))),
        maximum=Money.hourly(price.usd.times(sum(g.nodes.max for g in groups))),
    )


def _token_cost(
    cost: CostPlan, served: Range, workload: Workload, model: ModelPlan, machine: InstanceType, topology: str
) -> TokenCost | None:
    facts = throughput()
    band = next((b for b in facts.cost_bands if b.model == model.catalog and b.gpu == machine.gpu), None)
    near = min(
        (m for m in facts.measurements if m.model == model.catalog and m.gpu == machine.gpu),
        key=lambda m: (
            m.topology != topology,
            m.quantization != model.quantization,
            abs(m.prompt_tokens - workload.prompt_tokens) + abs(m.output_tokens - workload.output_tokens),
            m.trust,
        ),
        default=None,
    )
    measured = near and (
        f"{near.output_tokens_per_second_per_gpu:,.0f} output tokens/s a GPU at {near.prompt_tokens:,} in / "
        f"{near.output_tokens:,} out, {near.quantization}, {near.topology}, {near.engine} ({near.load}; trust "
        f"{near.trust})"
    )
    return token_cost(
        cost.desired.usd_per_hour,
        served,
        prompt_tokens=workload.prompt_tokens,
        output_tokens=workload.output_tokens,
        utilization=workload.utilization,
        band=Range(low=band.usd_per_million_tokens_low, high=band.usd_per_million_tokens_high) if band else None,
        measured=measured or None,
    )


def _shared(
    name: str,
    pool: SharedPool,
    here: PoolInCell | None,
    where: PoolContext,
    tier: TierPlan,
    models: dict[str, ModelPlan],
    machine: InstanceType,
    kind: FabricKind,
    capacity: Capacity,
    workload: Workload,
    price: HourlyPrice,
) -> PlacedPool:
    nodes = _bounds((here and here.nodes) or pool.nodes)
    shared = plan_shared(
        pool, machine, nodes.desired, [models[m.model] for m in pool.models], where.pair, where.image_registry
    )
    used = sum(1 for slices in shared.packing.gpus if slices)
    group = _group(
        name,
        "shared",
        where,
        machine,
        "tcp",
        capacity,
        nodes,
        workers_per_node=0,
        nodes_per_worker=1,
        idle=nodes.desired * machine.gpu_count - used,
    )
    immutable = {"models": sorted(m.model for m in pool.models), "sharing": pool.sharing}
    return PlacedPool(
        pool=PoolPlan(
            cell=where.cell_name,
            name=name,
            tier=tier.name,
            topology="shared",
            models=tuple(m.model for m in pool.models),
            namespace=namespace(tier.name),
            graph=graph_name(name, immutable),
            workload=workload,
            roles=(),
            shared=shared,
            kv_transfer=None,
            scaling=plan_scaling({"shared": nodes}, {"shared": machine.gpu_count}, (group,)),
            requests_per_second=Range(low=0.0, high=None),
            price=price,
            cost=_cost(price, (group,)),
            token_cost=None,
        ),
        node_groups=(group,),
    )
