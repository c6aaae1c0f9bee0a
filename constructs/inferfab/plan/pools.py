"""One pool in one cell: every section decided, in order, from machine to money."""

from pydantic import PositiveInt

from inferfab.environment.autoscaling import scaling_of
from inferfab.environment.pools import (
    AggregatedPool,
    DisaggregatedPool,
    Locality,
    Pool,
    PoolInCell,
    Replicas,
    SharedPool,
    Workers,
)
from inferfab.environment.tiers import Workload
from inferfab.plan.cost import CostPlan, HourlyPrice, Money, TokenCost, hourly_price
from inferfab.plan.engine import default_block_tokens
from inferfab.plan.groups import group_of_role, node_group
from inferfab.plan.kv_transfer import KvTransferPlan, TransferEnd, plan_kv_transfer
from inferfab.plan.names import SERVING_NAMESPACE
from inferfab.plan.place import Place, PoolContext, place_pool
from inferfab.plan.placement import NodeGroupPlan, Role
from inferfab.plan.quantities import Range
from inferfab.plan.roles import RolePlan, plan_role, replica_bounds
from inferfab.plan.scaling import ScalingPlan, plan_scaling
from inferfab.plan.served import ModelPlan
from inferfab.plan.sharing import SharedPlan, plan_shared
from inferfab.plan.tiers import TierPlan
from inferfab.plan.token_cost import pool_token_cost
from inferfab.plan.traffic import TrafficPlan, plan_traffic
from inferfab.record import Record


class PoolPlan(Record):
    """One pool in one cell."""

    cell: str
    name: str
    tier: str
    topology: str
    models: tuple[str, ...]
    namespace: str
    frontends: PositiveInt
    locality: Locality
    """Whether a request's decode stays near its prefill; ``none`` for pools of one role."""
    workload: Workload
    traffic: TrafficPlan | None = None
    """What simulation and sizing replay; None: its part of the tier's."""
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


def plan_pool(
    name: str, pool: Pool, here: PoolInCell | None, where: PoolContext, tier: TierPlan, models: dict[str, ModelPlan]
) -> PlacedPool:
    """Decide one pool in one cell. References were checked before: machine, models and tier exist."""
    asked = roles_of(pool, here)
    place = place_pool(pool, here, [workers for _, workers in asked], where)
    price = hourly_price(
        where.cell.cloud,
        where.cell.region,
        place.machine.name,
        place.capacity,
        where.overlay,
        owned_usd=where.cell.racks.usd_per_server_hour if where.cell.racks else None,
    )
    if isinstance(pool, SharedPool):
        return _plan_shared_pool(name, pool, here, place, tier, models, price)
    model, workload = models[pool.model], pool.workload or tier.workload
    block = pool.block_tokens or default_block_tokens(where.pair, model.shape)
    roles = tuple(
        plan_role(name, role, workers, place, tier, model, block_tokens=block, workload=workload)
        for role, workers in asked
    )
    groups = tuple(group_of_role(name, role, place, model) for role in roles)
    rates = [r.performance.requests_per_second.times(r.workers.desired) for r in roles]
    served = Range(low=min(r.low for r in rates), high=min(r.high or 0.0 for r in rates))
    cost = cost_of(price, groups)
    return PlacedPool(
        pool=PoolPlan(
            cell=where.cell_name,
            name=name,
            tier=tier.name,
            topology=pool.topology,
            models=(pool.model,),
            namespace=SERVING_NAMESPACE,
            frontends=pool.frontends,
            locality=pool.locality if isinstance(pool, DisaggregatedPool) else "none",
            workload=workload,
            traffic=plan_traffic(pool.traffic),
            roles=roles,
            shared=None,
            kv_transfer=_transfer(pool, roles, model, workload, tier),
            scaling=plan_scaling(
                {r.role: r.workers for r in roles},
                {r.role: r.parallelism.gpus for r in roles},
                groups,
                scaling_of(pool.scaling, where.autoscaling),
            ),
            requests_per_second=served,
            price=price,
            cost=cost,
            token_cost=pool_token_cost(
                cost.desired.usd_per_hour, served, workload, model, place.machine.gpu, pool.topology
            ),
        ),
        node_groups=groups,
    )


def roles_of(pool: Pool, here: PoolInCell | None) -> list[tuple[Role, Workers]]:
    """Roles of a pool with the cell's own replica bounds laid over; none for a shared pool."""

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


def _transfer(
    pool: Pool, roles: tuple[RolePlan, ...], model: ModelPlan, workload: Workload, tier: TierPlan
) -> KvTransferPlan | None:
    if not isinstance(pool, DisaggregatedPool):
        return None
    prefill, decode = (TransferEnd(fabric=r.fabric, parallel=r.parallelism) for r in roles)
    return plan_kv_transfer(
        model,
        prefill,
        decode,
        prompt_tokens=workload.prompt_tokens,
        ttft_promise_ms=tier.strictest_ms("ttft"),
        share_of_ttft=pool.kv_transfer_share_of_ttft,
    )


def cost_of(price: HourlyPrice, groups: tuple[NodeGroupPlan, ...]) -> CostPlan:
    """Nodes times price, at the desired and the largest size."""
    return CostPlan(
        desired=Money.hourly(price.usd.times(sum(g.nodes.desired for g in groups))),
        maximum=Money.hourly(price.usd.times(sum(g.nodes.max for g in groups))),
    )


def _plan_shared_pool(
    name: str,
    pool: SharedPool,
    here: PoolInCell | None,
    place: Place,
    tier: TierPlan,
    models: dict[str, ModelPlan],
    price: HourlyPrice,
) -> PlacedPool:
    nodes = replica_bounds((here and here.nodes) or pool.nodes)
    where, machine = place.context, place.machine
    shared = plan_shared(pool, machine, nodes, [models[m.model] for m in pool.models], where.pair, where.image_registry)
    used = sum(1 for slices in shared.packing.gpus if slices)
    idle = nodes.desired * machine.gpu_count - used
    cut = shared.mig_layout is not None
    size = sum(models[m.model].weights_bytes + models[m.model].draft_weights_bytes for m in pool.models)

    def group_at(spot: Place) -> NodeGroupPlan:
        return node_group(
            name, "shared", spot, nodes, workers_per_node=0, nodes_per_worker=1, idle=idle, cut=cut, model_bytes=size,
            former=group_at(spot.former) if spot.former else None,
        )  # fmt: skip

    group = group_at(place)
    return PlacedPool(
        pool=PoolPlan(
            cell=where.cell_name,
            name=name,
            tier=tier.name,
            topology="shared",
            models=tuple(m.model for m in pool.models),
            namespace=SERVING_NAMESPACE,
            frontends=pool.frontends,
            locality="none",
            workload=pool.workload or tier.workload,
            traffic=plan_traffic(pool.traffic),
            roles=(),
            shared=shared,
            kv_transfer=None,
            scaling=plan_scaling({"shared": nodes}, {"shared": machine.gpu_count}, (group,)),
            requests_per_second=Range(low=0.0, high=None),
            price=price,
            cost=cost_of(price, (group,)),
            token_cost=None,
        ),
        node_groups=(group,),
    )
