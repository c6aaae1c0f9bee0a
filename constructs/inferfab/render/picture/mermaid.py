"""The picture as Mermaid text, for pages (GitHub, wikis) that draw diagrams themselves."""

from dataclasses import dataclass

from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.plan.pools import PoolPlan
from inferfab.plan.quantities import Bounds
from inferfab.plan.tiers import TierPlan
from inferfab.render.picture.colours import tier_colours
from inferfab.render.picture.labels import (
    FABRIC,
    by_region,
    capacities,
    gateways,
    kv_rate,
    machines,
    monthly,
    parallel,
    percent,
    plural,
    pool_groups,
    scaled,
    served_models,
    standing,
    tier_shares,
)
from inferfab.render.picture.text import clean
from inferfab.render.templates import render

MOST_POOLS = 40
"""Beyond so many, a node stands for all pools of a tier in a cell: Mermaid refuses texts over 50,000
characters and diagrams over 500 edges, and GitHub lets nobody raise that."""
_SAFE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 .,()/-–·×≤")


@dataclass(frozen=True)
class Node:
    """One box. Ids are counted, never taken from names: Mermaid reads some words (`end`) as its own."""

    id: str
    label: str
    """Quoted already."""


@dataclass(frozen=True)
class Group:
    """A box around others."""

    id: str
    label: str
    nodes: tuple[Node, ...] = ()
    groups: tuple["Group", ...] = ()
    edges: tuple["Edge", ...] = ()
    tier: int | None = None


@dataclass(frozen=True)
class Edge:
    start: str
    end: str
    label: str
    broken: bool = False


def render_mermaid(plan: FleetPlan) -> str:
    """A flowchart: users, tiers, regions with cells, pools with their roles."""
    rank = {tier.name: n for n, tier in enumerate(plan.tiers)}
    few = len(plan.pools) <= MOST_POOLS
    regions: list[Group] = []
    routes: list[Edge] = []
    count = 0
    for n, ((cloud, name), cells) in enumerate(by_region(plan).items()):
        inside = []
        for cell in cells:
            inside.append(_cell(cell, f"c{count}", rank, few))
            if few:
                routes += [
                    Edge(f"t{rank[t]}", f"c{count}g", _quoted(percent(s))) for t, s in tier_shares(plan, cell).items()
                ]
            count += 1
        regions.append(Group(f"r{n}", _quoted(f"{name}, {cloud}"), groups=tuple(inside)))
        if not few:
            routes += _region_routes(plan, cells, f"r{n}", rank)
    near = tuple(dict.fromkeys(trip.users_near for trip in plan.routing.round_trips))
    pools = [(f"c{c}p{p}", rank[pool.tier]) for c, cell in enumerate(plan.cells) for p, pool in enumerate(cell.pools)]
    if not few:
        pools = [(node.id, int(node.id.rpartition("t")[2])) for r in regions for c in r.groups for node in c.nodes]
    edges = [e for r in regions for c in r.groups for p in c.groups for e in p.edges]
    entries = [(f"{c.id}g", pool.id) for r in regions for c in r.groups for pool in c.groups]
    return render(
        "picture/fleet.mmd.j2",
        title=_quoted(_title(plan)), users=_quoted("Users near", *near), regions=regions, routes=routes,
        entries=entries,
        tiers=[Node(f"t{rank[t.name]}", _tier(plan, t)) for t in plan.tiers],
        colours=list(tier_colours(plan).values()), coloured=pools,
        broken=[n for n, edge in enumerate(edges) if edge.broken],
    )  # fmt: skip


def _quoted(*lines: str) -> str:
    """Lines as one quoted label.

    Every character that Mermaid, Markdown or HTML could read as syntax, and every one that is not ASCII, is
    written as its number (`#34;`), which Mermaid turns back when it draws.
    """
    written = ("".join(c if c in _SAFE else f"#{ord(c)};" for c in clean(line)) for line in lines)
    return '"' + "<br/>".join(written) + '"'


def _title(plan: FleetPlan) -> str:
    return (
        f"{plan.ownership.name}, owner {plan.ownership.owner}, Dynamo {plan.engine.dynamo} + vLLM"
        f" {plan.engine.vllm}, {scaled(plan.gpus, 'GPUs')}, {monthly(plan.cost.total.desired)}"
    )


def _tier(plan: FleetPlan, tier: TierPlan) -> str:
    route = next((r for r in plan.routing.routes if r.tier == tier.name), None)
    host = (route.hostname or "no hostname") if route else "no pool serves it"
    promises = [str(p) for p in tier.promises] or ["no latency promise"]
    policy = f"{plan.routing.policy} policy" if plan.routing.domain else "no names in DNS"
    return _quoted(f"tier {tier.name}", host, policy, *promises)


def _cell(cell: CellPlan, id_: str, rank: dict[str, int], few: bool) -> Group:
    share = f"{percent(cell.traffic_share)} of traffic"
    label = _quoted(" · ".join((cell.name, cell.zone, FABRIC[cell.fabric.kind], share, cell.cluster)))
    if not few:
        return Group(id_, label, nodes=_by_tier(cell, id_, rank))
    pools = tuple(_pool(cell, pool, f"{id_}p{n}", rank[pool.tier]) for n, pool in enumerate(cell.pools))
    gateway = Node(f"{id_}g", _quoted(gateways(cell)))
    return Group(id_, label, nodes=(gateway, *_racks(cell, id_)), groups=pools)


def _racks(cell: CellPlan, id_: str) -> tuple[Node, ...]:
    """One node for all leaves and one a rack."""
    racks = cell.racks
    if racks is None:
        return ()
    leaves = [
        f"{leaf.name} {leaf.server_gbps / 1000:g} Tbit/s down, {leaf.uplink_gbps / 1000:g} up" for leaf in racks.leaves
    ]
    nic = f"{len(racks.rails)} × {racks.nic_gbps:g}G"
    made = [Node(f"{id_}l", _quoted("leaves", *leaves))]
    for n, rack in enumerate(racks.racks):
        lines = (f"{len(rack.servers)} × {racks.machine}, {nic}", plural(rack.gateways, "gateway"), *rack.roles)
        made.append(Node(f"{id_}k{n}", _quoted(f"rack {rack.name}", *lines)))
    return tuple(made)


def _pool(cell: CellPlan, pool: PoolPlan, id_: str, tier: int) -> Group:
    groups = pool_groups(cell, pool)
    label = _quoted(f"{pool.name} · {pool.tier} · {served_models(pool)} · {pool.topology} · {capacities(groups)}")
    if pool.shared:
        lines = [f"{i.model} {standing(pool.shared, i)}" for i in pool.shared.instances]
        if pool.shared.mode == "sleep":
            lines.insert(0, f"{pool.shared.packing.total} resident, {pool.shared.awake_at_once} awake")
        lines += [f"{model} {n} more without a place" for model, n in pool.shared.packing.unserved.items() if n]
        node = Node(
            f"{id_}r0",
            _quoted(f"{pool.shared.mode}, {scaled(groups[0].gpus, 'GPUs')}", machines(groups[0]), *lines),
        )
        return Group(id_, label, nodes=(node,), tier=tier)
    nodes = []
    for n, role in enumerate(pool.roles):
        group = next(g for g in groups if g.name == role.node_group)
        workers = f"{scaled(role.workers, 'workers')} × {parallel(role.parallelism)}"
        nodes.append(Node(f"{id_}r{n}", _quoted(role.role, workers, scaled(group.gpus, "GPUs"), machines(group))))
    edges: tuple[Edge, ...] = ()
    if pool.kv_transfer:
        edges = (
            Edge(
                nodes[0].id,
                nodes[1].id,
                _quoted(kv_rate(pool.kv_transfer)),
                not pool.kv_transfer.keeps_budget,
            ),
        )
    return Group(id_, label, tuple(nodes), edges=edges, tier=tier)


def _by_tier(cell: CellPlan, id_: str, rank: dict[str, int]) -> tuple[Node, ...]:
    """One node a tier: how many pools, how many GPUs, and how many KV links are too slow."""
    nodes = []
    for tier, n in rank.items():
        pools = [p for p in cell.pools if p.tier == tier]
        if not pools:
            continue
        gpus = Bounds.total(g.gpus for p in pools for g in pool_groups(cell, p))
        slow = sum(1 for p in pools if p.kv_transfer and not p.kv_transfer.keeps_budget)
        lines = [f"tier {tier}", plural(len(pools), "pool"), scaled(gpus, "GPUs")]
        nodes.append(
            Node(f"{id_}t{n}", _quoted(*lines, *([f"{plural(slow, 'KV transfer')} too slow"] if slow else [])))
        )
    return tuple(nodes)


def _region_routes(plan: FleetPlan, cells: tuple[CellPlan, ...], id_: str, rank: dict[str, int]) -> list[Edge]:
    """One edge from each tier that the region serves, with the sum of its cells' shares."""
    shares: dict[str, float] = {}
    for cell in cells:
        for tier, share in tier_shares(plan, cell).items():
            shares[tier] = shares.get(tier, 0.0) + share
    return [Edge(f"t{rank[t]}", id_, _quoted(percent(s))) for t, s in shares.items()]
