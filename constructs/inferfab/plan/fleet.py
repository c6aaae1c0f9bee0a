"""The FleetPlan: what will exist. Decided once, here; stacks, templates, checks, simulation and review read it."""

import json

from pydantic import PositiveInt, ValidationError

from inferfab.catalog.engines import EnginePair, engine_pairs
from inferfab.catalog.instances import Cloud, RoceNics, instances
from inferfab.environment.autoscaling import scaling_of
from inferfab.environment.environment import Environment, KeptApart
from inferfab.environment.money import Budget
from inferfab.environment.ownership import Access, Accounts
from inferfab.environment.rule_changes import ChangedTo
from inferfab.plan.autoscaling.autoscaling import AutoscalingPlan, plan_autoscaling
from inferfab.plan.availability import AvailabilityPlan, CellCapacity, RoleNodes
from inferfab.plan.aws_names import AwsCellNames, AwsGlobalNames, aws_cell_names, aws_global_names
from inferfab.plan.cost import CostPlan, Money
from inferfab.plan.defaults import DefaultUsed, defaults_used
from inferfab.plan.draining import DRAIN_SECONDS, drain_seconds
from inferfab.plan.fabric import CellFabricPlan, plan_cell_fabric
from inferfab.plan.gateway.gateway import GatewayPlan, plan_gateway
from inferfab.plan.gateway.tiers import timeout_seconds
from inferfab.plan.gcp_names import GcpCellNames, GcpGlobalNames, gcp_cell_names, gcp_global_names
from inferfab.plan.images import ImageSource, plan_images
from inferfab.plan.locality import LocalityPlan, plan_locality
from inferfab.plan.names import SERVING_NAMESPACE, cluster_name
from inferfab.plan.network import NetworkPlan, plan_network
from inferfab.plan.observability.observability import ObservabilityPlan, plan_observability
from inferfab.plan.observed import Observed, with_observed
from inferfab.plan.place import PoolContext
from inferfab.plan.placement import NodeGroupPlan
from inferfab.plan.pools import PlacedPool, PoolPlan, plan_pool
from inferfab.plan.quantities import Bounds
from inferfab.plan.racks.racks import RacksPlan, plan_racks
from inferfab.plan.references import unsound
from inferfab.plan.rollout.plan import RolloutPlan, plan_rollout
from inferfab.plan.routing import RoutingPlan, plan_routing, traffic_shares
from inferfab.plan.served import ModelPlan, plan_model
from inferfab.plan.serving.serving import ServingPlan, plan_serving
from inferfab.plan.state import StatePlan, plan_state
from inferfab.plan.tier_availability import operations_of, tier_availability
from inferfab.plan.tiers import TierPlan, plan_tiers
from inferfab.plan.transport import FabricKind
from inferfab.record import Record

PLAN_VERSION = 1
_DEFAULT_SYSTEM_INSTANCE: dict[Cloud, str] = {"aws": "m7i.2xlarge", "gcp": "n2-standard-8"}


class Ownership(Record):
    """Whose the environment is, and where it lives."""

    name: str
    owner: str
    tags: dict[str, str]
    accounts: Accounts
    state: StatePlan | None
    """None without an AWS account: state lives in S3."""
    access: Access
    protected: bool
    aws: AwsGlobalNames
    gcp: GcpGlobalNames | None = None
    """None without a Google Cloud project."""
    alert_emails: tuple[str, ...]
    """Who is asked to subscribe to alarms and budget."""
    kept_apart: KeptApart
    """Ranges of storage and training, which GPU nodes do not reach but for the storage ports."""


class CellPlan(Record):
    """One cell."""

    name: str
    cloud: Cloud
    region: str
    zone: str
    traffic_share: float
    aws: AwsCellNames | None
    """Names of the cell's AWS resources; None on another cloud."""
    gcp: GcpCellNames | None = None
    """Names of the cell's Google Cloud resources; None on another cloud."""
    cluster: str
    cluster_exists: bool
    kubernetes: str
    ami_release: str | None
    addon_versions: dict[str, str] = {}
    """Pins of EKS's add-ons by name; the others are EKS's defaults for ``kubernetes``."""
    network: NetworkPlan
    fabric: CellFabricPlan
    racks: RacksPlan | None = None
    """Owned racks that the cell's pools stand on."""
    locality: LocalityPlan | None = None
    """None in plans of earlier releases."""
    gateway: GatewayPlan
    drain_seconds: PositiveInt = DRAIN_SECONDS
    """That what serves and what stands before it have to end answers in flight."""
    system_instance: str
    system_nodes: PositiveInt
    node_groups: tuple[NodeGroupPlan, ...]
    pools: tuple[PoolPlan, ...]
    serving: ServingPlan
    """What its cluster runs to serve."""
    images: ImageSource = ImageSource()
    """Where its images and charts come from."""
    autoscaling: AutoscalingPlan | None = None
    """How its pools follow demand; None in plans of earlier releases."""
    observability: ObservabilityPlan | None = None
    """None in plans of earlier releases."""
    cost: CostPlan

    def node_group(self, name: str) -> NodeGroupPlan:
        return next(g for g in self.node_groups if g.name == name)


class RegionPlan(Record):
    """What the AWS cells of one region share: model store and alerts."""

    region: str
    models: tuple[str, ...]
    """Models that a pool of the region serves, in the order of the file."""
    model_bucket: str
    model_bucket_made: bool = True
    """False: the bucket is somebody else's."""
    models_key: str
    alerts_topic_arn: str


class FleetCost(Record):
    """GPU node cost of the whole."""

    total: CostPlan
    by_tier: dict[str, CostPlan]
    unpriced_gpus: Bounds
    """GPUs whose price is not known at all; they enter every sum with nothing below and no bound above."""
    budget: Budget | None
    not_included: tuple[str, ...]


class AcceptedRisk(Record):
    """A rule that counts for less in this environment, and who reads the plan learns why."""

    rule: str
    severity: ChangedTo
    pool: str | None
    """None: in the whole environment."""
    reason: str


class FleetPlan(Record):
    """Everything that will exist."""

    plan_version: int = PLAN_VERSION
    ownership: Ownership
    engine: EnginePair
    models: tuple[ModelPlan, ...]
    tiers: tuple[TierPlan, ...]
    cells: tuple[CellPlan, ...]
    routing: RoutingPlan
    availability: tuple[AvailabilityPlan, ...]
    cost: FleetCost
    defaults: tuple[DefaultUsed, ...]
    """What the file left open and how it was filled in."""
    observed: Observed | None = None
    rollout: RolloutPlan | None = None
    """How changes reach the cells; None: by hand."""
    checks: tuple[AcceptedRisk, ...] = ()
    """Rules that the environment lowers or switches off, each with its reason."""

    @property
    def pools(self) -> tuple[PoolPlan, ...]:
        """Pools of all cells, in order."""
        return tuple(p for c in self.cells for p in c.pools)

    @property
    def node_groups(self) -> tuple[NodeGroupPlan, ...]:
        return tuple(g for c in self.cells for g in c.node_groups)

    @property
    def aws_regions(self) -> tuple[RegionPlan, ...]:
        """Regions with a cell on AWS, sorted, so that the order of cells decides nothing."""
        cells = [(cell, cell.aws) for cell in self.cells if cell.aws is not None]
        # Names are the same for each cell of a region.
        names = {cell.region: aws for cell, aws in cells}
        served = {r: {m for c, _ in cells if c.region == r for p in c.pools for m in p.models} for r in names}
        return tuple(
            RegionPlan(
                region=region,
                models=tuple(model.name for model in self.models if model.name in served[region]),
                model_bucket=names[region].model_bucket,
                model_bucket_made=names[region].model_bucket_made,
                models_key=names[region].models_key,
                alerts_topic_arn=names[region].alerts_topic_arn,
            )
            for region in sorted(names)
        )

    @property
    def secrets(self) -> tuple[str, ...]:
        """Names in the secret store that clusters read: tokens of models, keys of tenants."""
        tokens = [model.token_secret for model in self.models if model.token_secret]
        keys = [tenant.api_key for cell in self.cells for tenant in cell.gateway.tenants if tenant.api_key]
        return tuple(dict.fromkeys((*tokens, *keys)))

    def tokens_of(self, cell: CellPlan) -> tuple[str, ...]:
        """Names in the secret store of the hub's tokens that a cell's cluster reads: of caches, and of adapters."""
        served = {name for pool in cell.pools for name in pool.models}
        adapters = [m.token_secret for m in self.models if m.name in served and m.adapters and m.token_secret]
        return tuple(dict.fromkeys((*cell.serving.cache.token_secrets, *adapters)))

    def secrets_of(self, cell: CellPlan) -> tuple[str, ...]:
        """Names in the secret store that a cell's cluster reads: tokens, then keys of the tenants of its tiers."""
        keys = [tenant.api_key for tenant in cell.gateway.tenants if tenant.api_key and tenant.tiers]
        return tuple(dict.fromkeys((*self.tokens_of(cell), *keys)))

    def secret_namespaces(self, cell: CellPlan) -> tuple[str, ...]:
        """Namespaces of a cell that such secrets are brought into: the gateways' for keys, that which serves for
        tokens."""
        needs = {
            cell.gateway.namespace: any(tenant.api_key for one in self.cells for tenant in one.gateway.tenants),
            SERVING_NAMESPACE: any(model.token_secret for model in self.models),
        }
        return tuple(namespace for namespace, needed in needs.items() if needed)

    @property
    def gpus(self) -> Bounds:
        return Bounds.total(g.gpus for g in self.node_groups)

    def to_json(self) -> str:
        """Indented JSON that :func:`read_plan` reads back to an equal plan."""
        return self.model_dump_json(indent=1)


class Unplannable(Exception):
    """An environment that was not checked refers to something that is not there."""


class UnreadablePlan(Exception):
    """A file is not a FleetPlan that this release can read; the message says why and what to do."""


def read_plan(text: str | bytes) -> FleetPlan:
    """Read a plan that :meth:`FleetPlan.to_json` wrote.

    :raises UnreadablePlan: if it is not JSON, not a plan, broken, inconsistent, or of a newer version.
    """
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadablePlan(f"not JSON: {error}") from error
    version = raw.get("plan_version") if isinstance(raw, dict) else None
    if not isinstance(version, int) or isinstance(version, bool):
        raise UnreadablePlan(
            "not a FleetPlan: there is no `plan_version`; `inferfab plan ENV --format json` writes one"
        )
    if version > PLAN_VERSION:
        raise UnreadablePlan(
            f"plan_version {version} is newer than {PLAN_VERSION}; use the inferfab that wrote it, or a newer one"
        )
    if version < 1:
        raise UnreadablePlan(f"plan_version {version} never existed")
    try:
        fleet = FleetPlan.model_validate_json(json.dumps(raw))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UnreadablePlan(f"broken at {where}: {first['msg']} ({error.error_count()} problem(s) in all)") from error
    broken = list(unsound(fleet))
    if broken:
        raise UnreadablePlan(f"inconsistent: {broken[0]} ({len(broken)} problem(s) in all); plan it again")
    return fleet


def plan(environment: Environment, observed: Observed | None = None) -> FleetPlan:
    """Decide the fleet.

    :param observed: what `preflight` saw in the account. Default: nothing; it changes no decision.
    :raises Unplannable: if the environment refers to something that is not there. :func:`inferfab.check` says so
        beforehand, with place and fix.
    :raises TypeError: for anything but an environment.
    """
    if not isinstance(environment, Environment):
        raise TypeError(
            f"plan takes an Environment, not {type(environment).__name__}: plan(load(path).environment), or "
            "check(path).plan; both are None where the file has errors, and check(path).findings says which"
        )
    try:
        fleet = _plan(environment)
        return fleet if observed is None else with_observed(fleet, observed)
    except KeyError as error:
        raise Unplannable(f"the environment refers to {error}, which is not there; run inferfab.check first") from error


def _plan(environment: Environment) -> FleetPlan:
    pair = engine_pairs()[environment.engine.dynamo]
    models = {name: plan_model(name, asked) for name, asked in environment.models.items()}
    tiers = {t.name: t for t in plan_tiers(environment)}
    shares = traffic_shares(environment)
    placed: dict[str, list[PlacedPool]] = {}
    cells = []
    for name, cell in environment.cells.items():
        where = PoolContext(
            environment=environment.name,
            cell_name=name,
            cell=cell,
            pair=pair,
            image_registry=plan_images(environment),
            overlay=environment.prices.overlay,
            autoscaling=environment.autoscaling,
        )
        placed[name] = [
            plan_pool(pool, environment.pools[pool], here, where, tiers[environment.pools[pool].tier], models)
            for pool, here in cell.pools.items()
        ]
        cells.append(_cell(environment, name, shares[name], placed[name], pair, tiers, models))
    serving = {
        tier: tuple(name for name, pools in placed.items() if any(p.pool.tier == tier for p in pools)) for tier in tiers
    }
    pools = [p.pool for in_cell in placed.values() for p in in_cell]
    return FleetPlan(
        ownership=Ownership(
            name=environment.name,
            owner=environment.owner,
            tags=environment.tags,
            accounts=environment.accounts,
            state=plan_state(environment),
            access=environment.access,
            protected=environment.protected,
            aws=aws_global_names(environment.name),
            gcp=gcp_global_names(
                environment.name, environment.accounts.gcp.project, environment.accounts.gcp.deploy_service_account
            )
            if environment.accounts.gcp
            else None,
            alert_emails=tuple(dict.fromkeys(environment.alerts.emails)),
            kept_apart=environment.kept_apart,
        ),
        engine=pair,
        models=tuple(models.values()),
        tiers=tuple(tiers.values()),
        cells=tuple(cells),
        routing=plan_routing(environment, {t.name: t.spill for t in tiers.values() if serving[t.name]}, serving),
        availability=_availability(environment, tiers, placed, cells),
        cost=FleetCost(
            total=_sum([p.cost for p in pools]),
            by_tier={t: _sum([p.cost for p in pools if p.tier == t]) for t in tiers},
            unpriced_gpus=Bounds.total(
                g.gpus for each in placed.values() for p in each if p.pool.price.unknown for g in p.node_groups
            ),
            budget=environment.budget,
            not_included=(
                "system nodes, control planes, load balancers, NAT, storage, traffic between zones and regions, "
                "support",
                "reservations are counted at their nodes here; reserved but unplanned instances are billed too",
            ),
        ),
        defaults=defaults_used(environment),
        rollout=plan_rollout(environment, pools),
        checks=tuple(
            AcceptedRisk(rule=c.rule, severity=c.severity, pool=c.pool, reason=c.reason) for c in environment.checks
        ),
    )


def _sum(parts: list[CostPlan]) -> CostPlan:
    return CostPlan(desired=Money.total(p.desired for p in parts), maximum=Money.total(p.maximum for p in parts))


_BEST_FIRST: tuple[FabricKind, ...] = ("roce", "efa", "tcp")


def _cell(
    environment: Environment,
    name: str,
    share: float,
    placed: list[PlacedPool],
    pair: EnginePair,
    tiers: dict[str, TierPlan],
    models: dict[str, ModelPlan],
) -> CellPlan:
    cell = environment.cells[name]
    account = environment.accounts.aws if cell.cloud == "aws" else None
    kinds = {r.fabric.kind for p in placed for r in p.pool.roles} or {"tcp"}
    # On racks the fabric is there whether or not anything moves on it.
    on_rails = cell.racks is not None and (cell.fabric is None or cell.fabric.kind == "roce")
    kind: FabricKind = "roce" if on_rails else next(k for k in _BEST_FIRST if k in kinds)
    machines = [instances(cell.machines)[g.instance] for p in placed for g in p.node_groups]
    nics = max((m.rdma_nic_count for m in machines), default=0)
    gvnics = max((m.nics.gvnic_count for m in machines if isinstance(m.nics, RoceNics)), default=1)
    names = (
        aws_cell_names(
            environment.name,
            name,
            cell.region,
            account.account_id,
            cluster_exists=cell.cluster.existing is not None,
            stated=account.model_buckets.get(cell.region),
        )
        if account
        else None
    )
    google = (
        gcp_cell_names(environment.name, name, cell.region, environment.accounts.gcp.project)
        if cell.cloud == "gcp" and environment.accounts.gcp
        else None
    )
    network = plan_network(cell, nics if kind == "roce" else 0, gvnics)
    pools, groups = tuple(p.pool for p in placed), tuple(g for p in placed for g in p.node_groups)
    fabric = plan_cell_fabric(cell, kind)
    racks = plan_racks(cell.racks, network, fabric.marking, groups) if cell.racks and fabric.marking else None
    complete = racks.complete_pools if racks else ()
    locality = plan_locality(
        cell,
        pools,
        complete=all(p.name in complete for p in pools if p.kv_transfer),
        gateways=cell.gateways.replicas,
    )
    gates = environment.gateway.tiers
    timeouts = {t: timeout_seconds(tiers[t], gates.get(t), pools, models) for t in {p.tier for p in pools}}
    drain = drain_seconds(timeouts.values())
    serving = plan_serving(
        pair,
        plan_images(environment),
        tiers,
        models,
        pools,
        groups,
        cloud=cell.cloud,
        bucket=names.model_bucket if names else google.model_bucket if google else None,
        egress=network.egress != "none",
        racks=racks,
        gates=gates,
        drain_seconds=drain,
    )
    return CellPlan(
        name=name,
        cloud=cell.cloud,
        region=cell.region,
        zone=cell.zone,
        traffic_share=share,
        aws=names,
        gcp=google,
        cluster=cell.cluster.existing or cluster_name(environment.name, name),
        cluster_exists=cell.cluster.existing is not None,
        kubernetes=cell.cluster.kubernetes,
        ami_release=cell.cluster.ami_release,
        addon_versions=dict(cell.cluster.addons),
        network=network,
        fabric=fabric,
        racks=racks,
        locality=locality,
        gateway=plan_gateway(
            environment,
            name,
            tiers,
            models,
            pools,
            serving,
            locality=locality,
            racks=racks,
            address_name=google.address if google else None,
        ),
        system_instance=cell.system_nodes.instance or _DEFAULT_SYSTEM_INSTANCE[cell.cloud],
        system_nodes=cell.system_nodes.count,
        node_groups=groups,
        pools=pools,
        serving=serving,
        images=plan_images(environment),
        autoscaling=plan_autoscaling(
            {p.name: scaling_of(environment.pools[p.name].scaling, environment.autoscaling) for p in pools},
            tiers,
            models,
            pools,
            groups,
            serving,
            drain_seconds=drain,
        ),
        drain_seconds=drain,
        observability=plan_observability(
            environment.observability, serving, pools, groups, tiers, (pair.dynamo, pair.vllm)
        ),
        cost=_sum([p.pool.cost for p in placed]),
    )


def _availability(
    environment: Environment,
    tiers: dict[str, TierPlan],
    placed: dict[str, list[PlacedPool]],
    cells_planned: list[CellPlan],
) -> tuple[AvailabilityPlan, ...]:
    """One figure for each model of each tier, over all cells that serve it."""
    serving = {c.name: c.serving for c in cells_planned}
    parts: dict[tuple[str, str], dict[str, list[PlacedPool]]] = {}
    for cell, pools in placed.items():
        for each in pools:
            for model in each.pool.models:
                parts.setdefault((each.pool.tier, model), {}).setdefault(cell, []).append(each)
    found = []
    for (tier, model), by_cell in sorted(parts.items(), key=lambda item: (tiers[item[0][0]].rank, item[0][1])):
        weight = {c: sum(sum(g.gpus.desired for g in p.node_groups) for p in pools) for c, pools in by_cell.items()}
        whole = sum(weight.values())
        cells = tuple(
            CellCapacity(
                cell=c,
                region=f"{environment.cells[c].cloud}:{environment.cells[c].region}",
                share=weight[c] / whole if whole else 0.0,
                roles=tuple(_role_nodes(p, g) for p in pools for g in p.node_groups),
            )
            for c, pools in by_cell.items()
        )
        utilization = max(p.pool.workload.utilization for pools in by_cell.values() for p in pools)
        found.append(
            tier_availability(
                tier,
                model,
                cells,
                utilization=utilization,
                target_percent=tiers[tier].availability_target_percent,
                spill=tiers[tier].spill,
                operations=operations_of(environment, model, {c: serving[c] for c in by_cell}),
            )
        )
    return tuple(found)


def _role_nodes(placed: PlacedPool, group: NodeGroupPlan) -> RoleNodes:
    replicas = next((r.workers.desired for r in placed.pool.roles if r.role == group.role), group.nodes.desired)
    return RoleNodes(
        replicas=replicas,
        nodes=group.nodes.desired,
        gpus_per_node=group.gpus_per_node,
        nodes_per_worker=group.nodes_per_worker,
    )
