"""The words of the picture: numbers of a plan as people read them."""

from inferfab.plan.cost import Money
from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.plan.kv_transfer import KvTransferPlan
from inferfab.plan.memory import Parallelism
from inferfab.plan.placement import NodeGroupPlan
from inferfab.plan.pools import PoolPlan
from inferfab.plan.quantities import Bounds
from inferfab.plan.sharing import SharedInstancePlan, SharedPlan

FABRIC = {"efa": "EFA", "roce": "RoCE", "tcp": "TCP"}
_CAPACITY = {
    "on_demand": "on demand", "owned": "owned", "spot": "spot", "reservation": "reserved",
    "capacity_block": "capacity block",
}  # fmt: skip


def scaled(bounds: Bounds, unit: str = "") -> str:
    """``16 GPUs (8–32)``: desired, then from min to max where they differ."""
    number = f"{bounds.desired:,} {unit}".rstrip()
    return number if bounds.min == bounds.max else f"{number} ({bounds.min:,}–{bounds.max:,})"


def plural(count: int, word: str) -> str:
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def percent(share: float) -> str:
    return f"{round(share * 100, 1):g} %"


def usd(money: Money) -> str:
    """Dollars a month; a range where the price is one."""
    low, high = money.usd_per_month.low, money.usd_per_month.high
    if high is None:
        return f"{dollars(low)} or more" if low else _UNKNOWN
    first, last = dollars(low), dollars(high)
    if first == last:
        return first
    # The unit once, if both have it: $1.11–1.12M.
    if first[-1] == last[-1] and first[-1] in "kM":
        first = first[:-1]
    return f"{first}–{last[1:]}"


def monthly(money: Money) -> str:
    """``$1.11M a month``; a price that nobody knows is not known a month either."""
    says = usd(money)
    return says if says == _UNKNOWN else f"{says} a month"


_UNKNOWN = "price unknown"


def dollars(amount: float) -> str:
    if amount >= 999_500:
        return f"${amount / 1e6:.2f}M"
    if amount >= 995:
        return f"${amount / 1e3:.{0 if amount >= 9_950 else 1}f}k"
    if 0 < amount < 10:
        return f"${amount:.2f}" if amount >= 0.005 else f"${amount:.1g}"
    return f"${amount:.0f}"


def gbps(rate: float) -> str:
    if rate >= 9.95:
        return f"{rate:,.0f}"
    return "under 0.1" if 0 < rate < 0.05 else f"{rate:.1f}".removesuffix(".0")


def kv_rate(transfer: KvTransferPlan) -> str:
    """``needed 49 of 800 Gbit/s``, and a word where that is not kept, so that colour is not the only sign."""
    available = gbps(transfer.available_gbps)
    if transfer.needed_gbps is None:
        return f"{available} Gbit/s, no TTFT promise"
    kept = "" if transfer.keeps_budget else ": too slow"
    return f"needed {gbps(transfer.needed_gbps)} of {available} Gbit/s{kept}"


def parallel(split: Parallelism) -> str:
    """``TP4``, ``TP8 PP2``, ``TP1 DP8 EP``: degrees above one, tensor parallelism always."""
    more = [f"{name}{n}" for name, n in (("PP", split.pipeline), ("DP", split.data)) if n > 1]
    return " ".join([f"TP{split.tensor}", *more, *(["EP"] if split.expert else [])])


def capacity(group: NodeGroupPlan) -> str:
    return _CAPACITY.get(group.capacity.kind, group.capacity.kind)


def capacities(groups: tuple[NodeGroupPlan, ...]) -> str:
    """How a pool's nodes are bought; usually one way for all."""
    return ", ".join(dict.fromkeys(capacity(g) for g in groups))


def machines(group: NodeGroupPlan) -> str:
    return f"{scaled(group.nodes)} × {group.instance}"


def standing(shared: SharedPlan, instance: SharedInstancePlan) -> str:
    """``3 × mig-1g.18gb``, or ``8 resident``: a model that may sleep has no GPU of its own."""
    count = shared.packing.instances.get(instance.model, 0)
    return (
        f"{count:,} × {instance.resource.removeprefix('nvidia.com/')}"
        if shared.mode == "mig"
        else (f"{count:,} resident")
    )


def served_models(pool: PoolPlan) -> str:
    return pool.models[0] if len(pool.models) == 1 else plural(len(pool.models), "model")


def pool_groups(cell: CellPlan, pool: PoolPlan) -> tuple[NodeGroupPlan, ...]:
    return tuple(g for g in cell.node_groups if g.pool == pool.name)


def gateways(cell: CellPlan) -> str:
    if cell.racks is not None:
        count = sum(rack.gateways for rack in cell.racks.racks)
        return f"{plural(count, 'gateway')} in {plural(len(cell.racks.racks), 'rack')}, {_reach(cell)}"
    return f"{plural(cell.gateway.replicas, 'gateway')}, {_reach(cell)}"


def _reach(cell: CellPlan) -> str:
    return "public" if cell.gateway.public else "internal"


def tier_shares(plan: FleetPlan, cell: CellPlan) -> dict[str, float]:
    """The cell's share of each tier that it serves."""
    return {route.tier: r.share for route in plan.routing.routes for r in route.cells if r.cell == cell.name}


def by_region(plan: FleetPlan) -> dict[tuple[str, str], tuple[CellPlan, ...]]:
    """Cells by cloud and region, in the order of the file."""
    found: dict[tuple[str, str], tuple[CellPlan, ...]] = {}
    for cell in plan.cells:
        key = (cell.cloud, cell.region)
        found[key] = (*found.get(key, ()), cell)
    return found


def summary(plan: FleetPlan) -> str:
    """One sentence, for those who hear the picture instead of seeing it."""
    names = ", ".join(f"{c.name} in {c.zone} with {percent(c.traffic_share)} of the traffic" for c in plan.cells)
    return (
        f"{plural(len(plan.cells), 'cell')} in {plural(len(by_region(plan)), 'region')},"
        f" {scaled(plan.gpus, 'GPUs')}, {monthly(plan.cost.total.desired)}: {names}."
    )
