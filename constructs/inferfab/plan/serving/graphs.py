"""Graphs of one pool: a whole pool, a graph a role behind a router over tiers, or a graph a model that shares."""

from collections.abc import Sequence

from inferfab.catalog.engines import EnginePair
from inferfab.catalog.instances import instances
from inferfab.environment.gateway import TierGate
from inferfab.environment.pools import Locality
from inferfab.plan.aws_names import fit
from inferfab.plan.draining import DRAIN_SECONDS
from inferfab.plan.images import ImageSource
from inferfab.plan.names import dynamo_namespace, graph_name, priority_class_name
from inferfab.plan.placement import NodeGroupPlan
from inferfab.plan.pools import PoolPlan
from inferfab.plan.racks.racks import RACK_LABEL, RacksPlan
from inferfab.plan.roles import RolePlan
from inferfab.plan.served import ModelPlan
from inferfab.plan.serving.admission import places_of, queue_limit
from inferfab.plan.serving.component import ComponentPlan, GraphPlan, KvTransferPolicy
from inferfab.plan.serving.entries import entry_name
from inferfab.plan.serving.frontends import BACKEND_ENDPOINT, PREFILL_ENDPOINT, frontend, local_router, planner
from inferfab.plan.serving.networks import google_annotations, rail_annotation
from inferfab.plan.serving.planner import PlannerMode, PlannerPlan, plan_planner
from inferfab.plan.serving.router_policy import router_policy
from inferfab.plan.serving.workers import role_worker, shared_worker
from inferfab.plan.tiers import TierPlan
from inferfab.record import Record

LOCALITY_DOMAIN = "locality"
PREFERRED_WEIGHT = 0.5
"""Half of the strongest preference that the router takes: load still moves a request away from a busy neighbour."""
_GCP_LOCALITY = "cloud.google.com/gce-topology-subblock"


class GraphContext(Record):
    """What graphs of a cell have in common."""

    pair: EnginePair
    registry: ImageSource | None
    prometheus_url: str
    groups: tuple[NodeGroupPlan, ...]
    models: dict[str, ModelPlan]
    tiers: dict[str, TierPlan]
    racks: RacksPlan | None = None
    gates: dict[str, TierGate] = {}
    """What the gateway section says of tiers."""
    drain_seconds: int = DRAIN_SECONDS
    """Of the cell's pods."""

    def queue_limit(self, tier: str, workers: Sequence[ComponentPlan]) -> int:
        """Requests that wait for each worker; where kinds differ, by the larger batch: it is what writes answers."""
        places = max((places_of(worker.arguments) for worker in workers), default=1)
        return queue_limit(self.gates.get(tier), self.tiers[tier].rank, places)

    def group(self, name: str) -> NodeGroupPlan:
        return next(g for g in self.groups if g.name == name)

    def annotations(self, role: RolePlan) -> dict[str, str]:
        """Networks of a worker's pods, where no claim brings them."""
        if role.fabric.kind != "roce" or role.claim is not None:
            return {}
        if self.racks is not None:
            return rail_annotation(self.racks)
        return google_annotations(self.group(role.node_group).layout)


def graphs_of_pool(pool: PoolPlan, at: GraphContext, *, routed: bool) -> tuple[GraphPlan, ...]:
    """:param routed: the pool stands behind the router over the tiers of its model."""
    if pool.shared is not None and pool.shared.mode == "sleep":
        return ()
    if pool.shared is not None:
        return tuple(_shared(pool, model, at) for model in pool.models)
    if routed and pool.topology == "disaggregated":
        return tuple(_graph(pool, at, (role.role,), routed=True) for role in pool.roles)
    return (_graph(pool, at, tuple(r.role for r in pool.roles), routed=routed),)


def _graph(pool: PoolPlan, at: GraphContext, names: tuple[str, ...], *, routed: bool) -> GraphPlan:
    model, tier = at.models[pool.models[0]], at.tiers[pool.tier]
    roles = [r for r in pool.roles if r.role in names]
    whole = len(roles) == len(pool.roles)
    route = pool.name if whole else f"{pool.name}-{names[0]}"
    scaled = pool.scaling.replicas_owner != "terraform"
    planned = pool.scaling.replicas_owner == "dynamo-planner" or pool.scaling.advisory_planner
    workers = [
        role_worker(
            at.pair,
            role,
            at.group(role.node_group),
            model,
            scaled=scaled and role.workers.min != role.workers.max,
            behind_router=routed,
            annotations=at.annotations(role),
            drain_seconds=at.drain_seconds,
        )
        for role in roles
    ]
    policy = None if routed else _policy(pool, at)
    components = ["frontend" if not routed else "router", *names, *(["planner"] if planned else [])]
    immutable: dict[str, object] = {
        "components": sorted(components),
        "model": [model.source, model.revision],
        "fabric": sorted({r.fabric.kind for r in roles}),
        "multinode": sorted(w.name for w in workers if w.nodes > 1),
        "kv_transfer_policy": policy.model_dump() if policy else None,
        "scaled": sorted(w.name for w in workers if w.scaled),
    }
    (block,) = {r.engine.block_tokens for r in roles}
    if routed:
        # Old and new workers are told apart by this name alone here, and KV cache does not move between two versions
        # or two layouts of it (vLLM's NIXL connector compares them: enforce_handshake_compat).
        immutable["moves_with"] = [at.pair.dynamo, at.pair.vllm, model.kv_precision, block]
    name = graph_name(route, immutable)
    space = dynamo_namespace(name, pool.namespace)
    if routed:
        endpoint = PREFILL_ENDPOINT if names == ("prefill",) else BACKEND_ENDPOINT
        front = local_router(
            at.pair,
            at.registry,
            dynamo_namespace=space,
            endpoint=endpoint,
            block_tokens=block,
            drain_seconds=at.drain_seconds,
        )
    else:
        front = frontend(
            at.pair,
            at.registry,
            replicas=pool.frontends,
            dynamo_namespace=None,
            kv_aware=True,
            tiers=(tier,),
            drain_seconds=at.drain_seconds,
        )
    if at.racks is not None:
        # One in each rack at least: a gateway prefers those of its own.
        count = max(front.replicas, len(at.racks.racks))
        front = front.model_copy(update={"beside_gpus": True, "replicas": count, "disruption_budget": count > 1})
    parts: list[ComponentPlan] = [front, *workers]
    asked = _planner(pool, at, names, routed=routed) if planned else None
    if asked is not None:
        parts.append(planner(at.pair, at.registry))
    return GraphPlan(
        name=name,
        dynamo_namespace=space,
        route=route,
        entry=None if routed else entry_name(pool.tier, model.name),
        pool=pool.name,
        tier=pool.tier,
        model=model.name,
        role="pool" if whole else names[0],
        priority_class=priority_class_name(tier.name),
        components=tuple(parts),
        router_policy=router_policy(
            tier.name,
            prefix_caching=_tells(workers),
            routers=front.replicas,
            prefill_only=names == ("prefill",),
            queue_limit=None if routed else at.queue_limit(tier.name, workers),
        ),
        planner=asked,
        kv_transfer_policy=policy,
    )


def _tells(workers: list[ComponentPlan]) -> bool:
    """Whether every worker publishes what its cache holds."""
    return all(any(a.flag == "--kv-events-config" for a in w.arguments) for w in workers)


def _planner(pool: PoolPlan, at: GraphContext, names: tuple[str, ...], *, routed: bool) -> PlannerPlan:
    modes: dict[tuple[str, ...], PlannerMode] = {
        ("prefill", "decode"): "disagg", ("prefill",): "prefill", ("decode",): "decode", ("worker",): "agg",
    }  # fmt: skip
    return plan_planner(
        modes[names],
        at.tiers[pool.tier],
        pool.models[0],
        {name: pool.scaling.workers[name] for name in names},
        {r.role: r.parallelism.gpus for r in pool.roles if r.role in names},
        behind_router=routed,
        prometheus_url=at.prometheus_url,
        advisory=pool.scaling.advisory_planner,
    )


def locality_label(group: NodeGroupPlan) -> str | None:
    """Node label of the smallest closeness that the machine reports; None where it reports none."""
    if group.cloud == "racks":
        return RACK_LABEL
    if group.cloud == "gcp":
        return _GCP_LOCALITY
    layers = instances(group.cloud)[group.instance].locality_layers
    return f"topology.k8s.aws/network-node-layer-{layers}" if layers else None


def _policy(pool: PoolPlan, at: GraphContext) -> KvTransferPolicy | None:
    if pool.topology != "disaggregated" or pool.locality == "none":
        return None
    labels = {locality_label(at.group(role.node_group)) for role in pool.roles}
    if len(labels) != 1 or (label := labels.pop()) is None:
        # A worker waits for its label before it starts.
        return None
    enforcement: Locality = pool.locality
    if at.racks is not None:
        # Where it is known which rack holds what, the stronger one is safe exactly where no rack lacks a role: a
        # request whose rack has no decode worker is answered with HTTP 500.
        enforcement = "required" if pool.name in at.racks.complete_pools else "preferred"
    return KvTransferPolicy(
        label_key=label,
        domain=LOCALITY_DOMAIN,
        enforcement=enforcement,
        preferred_weight=PREFERRED_WEIGHT if enforcement == "preferred" else None,
    )


def _shared(pool: PoolPlan, name: str, at: GraphContext) -> GraphPlan:
    """One model of a shared pool: its instances stand where the plan packed them."""
    assert pool.shared is not None
    model, packing = at.models[name], pool.shared.packing
    instance = next(i for i in pool.shared.instances if i.model == name)
    (group,) = (g for g in at.groups if g.pool == pool.name)
    on_gpu = [sum(1 for _ in lane) for lane in packing.gpus] or [1]
    size = group.gpus_per_node
    on_node = max(sum(on_gpu[start : start + size]) for start in range(0, len(on_gpu), size))
    immutable = {
        "components": ["frontend", "worker"],
        "model": [model.source, model.revision],
        "resource": instance.resource,
    }
    route = fit(f"{pool.name}-{name}", 30)
    graph = graph_name(route, immutable)
    worker = shared_worker(
        at.pair,
        instance,
        group,
        model,
        replicas=packing.instances.get(name, 0),
        on_node=on_node,
        drain_seconds=at.drain_seconds,
    )
    return GraphPlan(
        name=graph,
        dynamo_namespace=dynamo_namespace(graph, pool.namespace),
        route=route,
        entry=entry_name(pool.tier, name),
        pool=pool.name,
        tier=pool.tier,
        model=name,
        role="shared",
        priority_class=priority_class_name(pool.tier),
        components=(
            frontend(
                at.pair,
                at.registry,
                replicas=pool.frontends,
                dynamo_namespace=None,
                kv_aware=True,
                tiers=(at.tiers[pool.tier],),
                drain_seconds=at.drain_seconds,
            ),
            worker,
        ),
        router_policy=router_policy(
            pool.tier,
            prefix_caching=False,
            routers=pool.frontends,
            prefill_only=False,
            queue_limit=at.queue_limit(pool.tier, (worker,)),
        ),
    )
