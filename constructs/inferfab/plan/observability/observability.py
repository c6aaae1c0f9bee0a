"""Observability of one cell: objectives, prices, what is known beforehand, and who is told."""

from datetime import datetime

from pydantic import NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from inferfab.environment.observability import Observability, Receiver, RemoteWrite
from inferfab.plan.observability.slos import SEVERAL, SloPlan, Unmeasured, plan_slos
from inferfab.plan.placement import NodeGroupPlan
from inferfab.plan.pools import PoolPlan
from inferfab.plan.serving.serving import ServingPlan
from inferfab.plan.tiers import TierPlan
from inferfab.record import Record

TCP_SHARE = 0.5
"""Of KV bytes that must be seen by RDMA counters; both are counted over the same five minutes at different ends."""
SLOW_SHARE = 0.2
"""Of the planned speed, over the time in which transfers run. Below it not even a busy fabric explains it. Both are
of one GPU, as engines time each GPU's transfer by itself.
"""

SLO_DAYS = 30
"""Period of an error budget (Google SRE Workbook, chapter 5: 30 days, as in all of its figures)."""
EFA_EXPORTER_PORT = 9110
TREND_DAYS = 15
"""What the weekly trend of cost needs: two weeks, and the day in which the rules run."""


class BurnWindow(Record):
    """One alert on an error budget: both windows must burn it faster than the factor.

    Source: Google SRE Workbook, chapter 5, table 5-8. Factor = share of budget x 30 days / long window.
    """

    long: str
    short: str
    """A twelfth of the long one: the alert ends soon after the trouble."""
    hours: PositiveFloat
    factor: PositiveFloat
    budget_percent: PositiveFloat
    severity: str


BURN_WINDOWS = (
    BurnWindow(long="1h", short="5m", hours=1, factor=14.4, budget_percent=2, severity="page"),
    BurnWindow(long="6h", short="30m", hours=6, factor=6, budget_percent=5, severity="page"),
    BurnWindow(long="1d", short="2h", hours=24, factor=3, budget_percent=10, severity="ticket"),
    BurnWindow(long="3d", short="6h", hours=72, factor=1, budget_percent=10, severity="ticket"),
)
MOST_BAD = 0.9
"""Above this share of bad requests an alert fires whatever the factor: half of the requests may break a median, so a
factor above 2 would ask for more than all of them.
"""


class PoolPrice(Record):
    """What a pool's nodes cost, idle or not."""

    pool: str
    tier: str
    model: str
    """``several`` where a shared pool serves more than one."""
    gpus_per_node: PositiveInt
    usd_per_node_hour_low: NonNegativeFloat
    usd_per_node_hour_high: NonNegativeFloat | None
    """None: not known, so there is no upper bound."""
    how: str
    reserved_nodes: NonNegativeInt
    """Nodes that are paid for whether they run or not: desired ones of a reservation or a capacity block."""
    ends_at: str | None
    """End of a capacity block, UTC."""

    @property
    def ends_at_seconds(self) -> int | None:
        """Unix time."""
        return int(datetime.fromisoformat(self.ends_at).timestamp()) if self.ends_at else None


class KvMove(Record):
    """How fast KV cache should move in a pool."""

    pool: str
    tier: str
    fabric: str
    bytes_per_second: PositiveFloat
    """Of one read of one GPU, as planned: that is what engines time."""
    parts: PositiveInt = 1
    """Such reads a prompt, side by side."""


class ObservabilityPlan(Record):
    """What a cell measures and who hears of it."""

    slos: tuple[SloPlan, ...]
    unmeasured: tuple[Unmeasured, ...]
    windows: tuple[BurnWindow, ...] = BURN_WINDOWS
    least_requests: PositiveInt
    prices: tuple[PoolPrice, ...]
    kv_moves: tuple[KvMove, ...]
    cost_rise_percent: PositiveFloat
    retention_days: PositiveInt
    storage_gib: PositiveInt
    prometheus_replicas: PositiveInt
    grafana_admin_secret: str | None
    receivers: dict[str, Receiver]
    page: str | None
    ticket: str | None
    dead_mans_switch: str | None
    runbooks: str | None
    remote_write: RemoteWrite | None
    efa_exporter_image: str | None
    promising_tiers: tuple[str, ...] | None = None
    """Tiers that promise latency or availability: what they lack wakes people. None in plans of earlier releases."""
    metrics_of: tuple[str, str]
    """Dynamo and vLLM version whose series are read."""

    def promises(self, tier: str | None) -> bool:
        """Whether a tier promises anything; what stands in front of several tiers counts as such."""
        return tier is None or self.promising_tiers is None or tier in self.promising_tiers


def plan_observability(
    asked: Observability,
    serving: ServingPlan,
    pools: tuple[PoolPlan, ...],
    groups: tuple[NodeGroupPlan, ...],
    tiers: dict[str, TierPlan],
    versions: tuple[str, str],
) -> ObservabilityPlan:
    """:param versions: of Dynamo and vLLM."""
    slos, unmeasured = plan_slos(serving, pools, tiers, versions[1])
    return ObservabilityPlan(
        slos=slos,
        unmeasured=unmeasured,
        least_requests=asked.least_requests,
        prices=tuple(_price(p, [g for g in groups if g.pool == p.name]) for p in pools),
        kv_moves=tuple(
            KvMove(
                pool=p.name,
                tier=p.tier,
                fabric=p.roles[0].fabric.kind,
                bytes_per_second=p.kv_transfer.available_gbps_per_part * 1e9 / 8,
                parts=p.kv_transfer.parts,
            )
            for p in pools
            if p.kv_transfer is not None and p.kv_transfer.available_gbps
        ),
        cost_rise_percent=asked.cost_rise_percent,
        retention_days=asked.retention_days,
        storage_gib=asked.storage_gib,
        prometheus_replicas=asked.prometheus_replicas,
        grafana_admin_secret=asked.grafana.admin_secret if asked.grafana else None,
        receivers=asked.receivers,
        page=asked.route.page,
        ticket=asked.route.ticket,
        dead_mans_switch=asked.route.dead_mans_switch,
        runbooks=asked.runbooks,
        remote_write=asked.remote_write,
        efa_exporter_image=asked.efa_exporter_image,
        promising_tiers=tuple(
            name for name, t in tiers.items() if t.promises or t.availability_target_percent is not None
        ),
        metrics_of=versions,
    )


def _price(pool: PoolPlan, groups: list[NodeGroupPlan]) -> PoolPrice:
    capacity = groups[0].capacity
    paid_idle = capacity.kind in ("reservation", "capacity_block")
    return PoolPrice(
        pool=pool.name,
        tier=pool.tier,
        model=pool.models[0] if len(pool.models) == 1 else SEVERAL,
        gpus_per_node=groups[0].gpus_per_node,
        usd_per_node_hour_low=pool.price.usd.low,
        usd_per_node_hour_high=pool.price.usd.high,
        how=pool.price.how,
        reserved_nodes=sum(g.nodes.desired for g in groups) if paid_idle else 0,
        ends_at=capacity.ends_at if capacity.kind == "capacity_block" else None,
    )
