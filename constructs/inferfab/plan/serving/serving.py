"""Everything that serves in one cell."""

from collections.abc import Sequence

from inferfab.catalog.engines import EnginePair
from inferfab.environment.gateway import TierGate
from inferfab.plan.draining import DRAIN_SECONDS
from inferfab.plan.images import ImageSource
from inferfab.plan.names import dynamo_namespace, graph_name, priority_class_name
from inferfab.plan.placement import NodeGroupPlan
from inferfab.plan.pools import PoolPlan
from inferfab.plan.prometheus import prometheus_url
from inferfab.plan.racks.racks import RacksPlan
from inferfab.plan.served import ModelPlan
from inferfab.plan.serving.claims import ClaimPlan
from inferfab.plan.serving.component import GraphPlan
from inferfab.plan.serving.entries import EntryPlan, plan_entries
from inferfab.plan.serving.frontends import frontend, global_router
from inferfab.plan.serving.global_router import plan_global_router
from inferfab.plan.serving.graphs import GraphContext, graphs_of_pool
from inferfab.plan.serving.lanes import LanePlan, plan_lanes
from inferfab.plan.serving.model_cache import ModelCachePlan, plan_model_cache
from inferfab.plan.tiers import TierPlan
from inferfab.record import Record


class NoRouter(Record):
    """A model of several tiers that no router joins: each tier answers under its own frontends."""

    model: str
    why: str


class ServingPlan(Record):
    """What the serving release of a cell installs."""

    graphs: tuple[GraphPlan, ...]
    lanes: tuple[LanePlan, ...]
    """GPUs on which models take turns."""
    claims: tuple[ClaimPlan, ...]
    entries: tuple[EntryPlan, ...]
    cache: ModelCachePlan
    without_router: tuple[NoRouter, ...]

    def pods_of_tier(self, tier: str) -> tuple[str, ...]:
        """Beginnings of the names of pods that serve a tier."""
        graphs = [g.pods_regex for g in self.graphs if g.tier == tier]
        return (*graphs, *(lane.name for lane in self.lanes if lane.tier == tier))

    def of_pool(self, pool: str) -> tuple[GraphPlan, ...]:
        """Graphs that hold a pool's workers."""
        return tuple(g for g in self.graphs if g.pool == pool)


def plan_serving(
    pair: EnginePair,
    registry: ImageSource | None,
    tiers: dict[str, TierPlan],
    models: dict[str, ModelPlan],
    pools: tuple[PoolPlan, ...],
    groups: tuple[NodeGroupPlan, ...],
    *,
    cloud: str,
    bucket: str | None,
    egress: bool,
    racks: RacksPlan | None = None,
    gates: dict[str, TierGate] | None = None,
    drain_seconds: int = DRAIN_SECONDS,
) -> ServingPlan:
    """Graphs, routers over tiers, Services, and the models on the nodes."""
    at = GraphContext(
        pair=pair,
        registry=registry,
        prometheus_url=prometheus_url(),
        groups=groups,
        models=models,
        tiers=tiers,
        racks=racks,
        gates=gates or {},
        drain_seconds=drain_seconds,
    )
    joined, without = _joined(pools, tiers, models)
    graphs: list[GraphPlan] = []
    for pool in pools:
        graphs += graphs_of_pool(pool, at, routed=pool.models[0] in joined and pool.shared is None)
    graphs += [_over_tiers(models[model], parts, graphs, at) for model, parts in joined.items()]
    lanes = tuple(
        lane for pool in pools if _sleeps(pool) for lane in plan_lanes(pool, _of(groups, pool), models, registry)
    )
    by_group = {g.name: _models_of(g, pools, models) for g in groups}
    return ServingPlan(
        graphs=tuple(graphs),
        claims=tuple(role.claim for pool in pools for role in pool.roles if role.claim is not None),
        entries=plan_entries(tuple(graphs), lanes),
        lanes=lanes,
        cache=plan_model_cache(
            pair,
            registry,
            groups,
            by_group,
            {g.name: _image(g, pools) for g in groups},
            tuple(models[name] for name in joined),
            cloud=cloud,
            bucket=bucket,
            egress=egress,
        ),
        without_router=without,
    )


def _image(group: NodeGroupPlan, pools: Sequence[PoolPlan]) -> str:
    """Of the engines on the group's nodes, whether or not any is there at first."""
    pool = next(p for p in pools if p.name == group.pool)
    if pool.shared is not None:
        return pool.shared.instances[0].engine.image
    return next(r.engine.image for r in pool.roles if r.node_group == group.name)


def _sleeps(pool: PoolPlan) -> bool:
    return pool.shared is not None and pool.shared.mode == "sleep"


def _of(groups: Sequence[NodeGroupPlan], pool: PoolPlan) -> NodeGroupPlan:
    return next(g for g in groups if g.pool == pool.name)


def _models_of(group: NodeGroupPlan, pools: Sequence[PoolPlan], models: dict[str, ModelPlan]) -> tuple[ModelPlan, ...]:
    pool = next(p for p in pools if p.name == group.pool)
    return tuple(models[name] for name in pool.models)


def _joined(
    pools: Sequence[PoolPlan], tiers: dict[str, TierPlan], models: dict[str, ModelPlan]
) -> tuple[dict[str, tuple[PoolPlan, ...]], tuple[NoRouter, ...]]:
    """Models that a router over tiers joins, with their pools from the best tier down; and those that none can."""
    selling: dict[str, list[PoolPlan]] = {}
    for pool in pools:
        for name in pool.models:
            selling.setdefault(name, []).append(pool)
    joined, without = {}, []
    for name, parts in selling.items():
        if len({p.tier for p in parts}) < 2:
            continue
        why = _unjoinable(parts, models[name])
        if why:
            without.append(NoRouter(model=name, why=why))
        else:
            joined[name] = tuple(sorted(parts, key=lambda p: tiers[p.tier].rank))
    return joined, tuple(without)


def _unjoinable(parts: Sequence[PoolPlan], model: ModelPlan) -> str:
    """Why Dynamo's global router cannot stand over these pools; empty if it can (pool_selection.py, modes)."""
    if any(p.shared for p in parts):
        return "a shared pool sells it, whose workers are not its own"
    if len({p.topology for p in parts}) > 1:
        return "one tier is aggregated and another disaggregated, and the router knows one of the two at a time"
    if len({p.tier for p in parts}) < len(parts):
        return "two pools of one tier sell it, and targets tell tiers apart, not pools"
    if model.adapters:
        return "it has LoRA adapters, which the router does not register"
    return ""


def _over_tiers(
    model: ModelPlan, pools: tuple[PoolPlan, ...], graphs: Sequence[GraphPlan], at: GraphContext
) -> GraphPlan:
    """Frontend and router over the tiers of one model."""
    spaces = {(g.pool, g.role): g.dynamo_namespace for g in graphs}
    disaggregated = pools[0].topology == "disaggregated"
    plan = plan_global_router(
        model.name,
        tuple((at.tiers[p.tier], p.name) for p in pools),
        prefill_namespaces=tuple(spaces[p.name, "prefill"] for p in pools) if disaggregated else (),
        decode_namespaces=tuple(spaces[p.name, "decode" if disaggregated else "pool"] for p in pools),
        context_tokens=model.context_tokens,
    )
    route = f"{model.name}-tiers"
    # Where it leads is part of its name: new pools get a new router, while the old one still leads to the old.
    name = graph_name(route, {"components": ["frontend", "global-router"], "leads_to": plan.model_dump()})
    space = dynamo_namespace(name)
    return GraphPlan(
        name=name,
        dynamo_namespace=space,
        route=route,
        entry=route,
        pool=None,
        tier=None,
        model=model.name,
        role="tiers",
        # Of the best tier: its requests come this way.
        priority_class=priority_class_name(pools[0].tier),
        components=(
            frontend(
                at.pair,
                at.registry,
                replicas=max(p.frontends for p in pools),
                dynamo_namespace=space,
                kv_aware=False,
                tiers=[at.tiers[p.tier] for p in pools],
                drain_seconds=at.drain_seconds,
            ),
            global_router(
                at.pair,
                at.registry,
                dynamo_namespace=space,
                model=model.name,
                folder=model.folder,
                ttft_ms=plan.default.ttft_ms,
                itl_ms=plan.default.itl_ms,
                drain_seconds=at.drain_seconds,
            ),
        ),
        global_router=plan,
    )
