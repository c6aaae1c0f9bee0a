"""A FleetPlan as tables: what will exist, what it costs, what is promised, what was left open."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from inferfab.findings import dotted
from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.plan.kv_transfer import KvTransferPlan
from inferfab.plan.pools import PoolPlan
from inferfab.plan.roles import RolePlan
from inferfab.plan.sharing import SharedPlan
from inferfab.render.text.autoscaling_tables import autoscaling_table
from inferfab.render.text.fabric_tables import fabric_tables
from inferfab.render.text.gateway_tables import gateway_tables
from inferfab.render.text.numbers import bounds, figure, gibibytes, gigabytes, percent, range_, share, usd_range
from inferfab.render.text.objective_tables import objectives
from inferfab.render.text.observed_tables import quota_table
from inferfab.render.text.serving_tables import answers
from inferfab.render.text.tables import plain, table_of

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def print_plan(console: "Console", fleet: FleetPlan, *, defaults: bool = False) -> None:
    """Print the plan; with ``defaults`` also every field that the file left open."""
    _head(console, fleet)
    console.print(_tiers(fleet))
    for cell in fleet.cells:
        console.print()
        console.print(_cell(cell))
    for table in (
        _memory(fleet),
        _transfers(fleet),
        _shared(fleet),
        answers(fleet),
        autoscaling_table(fleet),
        objectives(fleet),
        _cost(fleet),
        _routing(fleet),
        *gateway_tables(fleet),
        *fabric_tables(fleet),
        quota_table(fleet),
    ):
        if table is not None:
            console.print()
            console.print(table)
    console.print()
    _notes(console, fleet)
    console.print(_defaults(fleet) if defaults else _defaults_hint(fleet))


def _head(console: "Console", fleet: FleetPlan) -> None:
    own, cost = fleet.ownership, fleet.cost.total
    regions = len({(c.cloud, c.region) for c in fleet.cells})
    console.print(
        f"[bold]{plain(own.name)}[/] · {plain(own.owner)} · Dynamo {fleet.engine.dynamo} with vLLM "
        f"{fleet.engine.vllm} · "
        f"{len(fleet.cells)} cell(s) in {regions} region(s)"
    )
    console.print(
        f"{bounds(fleet.gpus)} GPUs · {usd_range(cost.desired.usd_per_month)} a month at the desired size, "
        f"{usd_range(cost.maximum.usd_per_month)} at the maximum (GPU nodes{without_price(fleet)})\n"
    )


def without_price(fleet: FleetPlan) -> str:
    """``, without 16 GPUs that have no price``; empty where each has one."""
    missing = fleet.cost.unpriced_gpus
    return f", without {bounds(missing)} GPUs that have no price" if missing.max else ""


def _tiers(fleet: FleetPlan) -> "Table":
    table = table_of("Tiers", "tier", "promises", "availability", "GPUs", "$ a month", right=("GPUs", "$ a month"))
    for tier in fleet.tiers:
        figures = [a for a in fleet.availability if a.tier == tier.name]
        if not figures:
            continue
        lowest = min(figures, key=lambda a: a.percent)
        target = (
            f" (target {tier.availability_target_percent:.10g})" if tier.availability_target_percent is not None else ""
        )
        gpus = sum(
            g.gpus.desired
            for c in fleet.cells
            for p in c.pools
            if p.tier == tier.name
            for g in c.node_groups
            if g.pool == p.name
        )
        table.add_row(
            plain(tier.name),
            "; ".join(map(str, tier.promises)) or "none",
            percent(lowest.percent) + target,
            str(gpus),
            usd_range(fleet.cost.by_tier[tier.name].desired.usd_per_month),
        )
    return table


def _cell(cell: CellPlan) -> "Table":
    title = (
        f"Cell {plain(cell.name)}: {cell.cloud} {plain(cell.zone)}, {cell.fabric.kind}, cluster {plain(cell.cluster)} "
        f"({cell.kubernetes}), {share(cell.traffic_share)} of traffic"
    )
    table = table_of(
        title,
        "pool",
        "tier",
        "model",
        "role",
        "workers",
        "nodes",
        "capacity",
        "$ a month",
        right=("workers", "$ a month"),
    )
    for pool in cell.pools:
        for position, (role, workers, group_name) in enumerate(_rows(pool)):
            group = cell.node_group(group_name)
            first = position == 0
            idle = f", {group.idle_gpus} GPUs idle" if group.idle_gpus else ""
            table.add_row(
                plain(pool.name) if first else "",
                plain(pool.tier) if first else "",
                plain(", ".join(pool.models)) if first else "",
                role,
                workers,
                f"{bounds(group.nodes)} × {group.instance}{idle}",
                group.capacity.kind.replace("_", " "),
                usd_range(pool.cost.desired.usd_per_month) if first else "",
            )
    return table


def _rows(pool: PoolPlan) -> Iterator[tuple[str, str, str]]:
    """(role, workers, node group)"""
    if pool.shared:
        yield f"shared ({pool.shared.mode})", _instances(pool.shared), pool.name
    for role in pool.roles:
        yield role.role, f"{bounds(role.workers)} × {_parallel(role)}", role.node_group


def _instances(shared: SharedPlan) -> str:
    """With MIG all answer at once; of models that sleep only one a GPU is awake."""
    total = shared.packing.total
    return f"{total} instances" if shared.mode == "mig" else f"{total} resident, {shared.awake_at_once} awake"


def _parallel(role: RolePlan) -> str:
    parts = [f"TP{role.parallelism.tensor}"]
    if role.parallelism.pipeline > 1:
        parts.append(f"PP{role.parallelism.pipeline}")
    if role.parallelism.data > 1:
        parts.append(f"DP{role.parallelism.data}")
    return "×".join(parts) + (" EP" if role.parallelism.expert else "")


def _each_pool_once(fleet: FleetPlan) -> Iterator[PoolPlan]:
    seen: set[tuple[str, str]] = set()
    for pool in fleet.pools:
        key = (pool.name, pool.price.instance)
        if key not in seen:
            seen.add(key)
            yield pool


def _memory(fleet: FleetPlan) -> "Table | None":
    table = table_of(
        "Memory and speed of one worker (estimates: unproven until simulated or measured)",
        "pool",
        "role",
        "weights a GPU",
        "overhead",
        "KV a full sequence, a GPU",
        "KV tokens a worker",
        "held at full context",
        "prompt read in",
        "token every",
        right=(
            "weights a GPU",
            "overhead",
            "KV a full sequence, a GPU",
            "KV tokens a worker",
            "held at full context",
        ),
    )
    for pool in _each_pool_once(fleet):
        for role in pool.roles:
            m, p = role.memory, role.performance
            table.add_row(
                plain(pool.name),
                role.role,
                gigabytes(m.weights_bytes_per_gpu),
                gigabytes(m.overhead_bytes_per_gpu),
                f"{m.kv_bytes_per_sequence_per_gpu / 1e9:,.2f} GB",
                f"{m.kv_capacity_tokens:,}",
                f"{m.concurrent_sequences} × {m.context_tokens:,}",
                range_(p.prefill_ms, "ms") if p.prefill_ms else "-",
                f"{range_(p.decode_step_ms, 'ms')}, batch {p.decode_batch}" if p.decode_step_ms else "-",
            )
    return table if table.row_count else None


def _transfers(fleet: FleetPlan) -> "Table | None":
    table = table_of(
        "KV transfer from prefill to decode, one prompt",
        "pool",
        "prompt",
        "needs",
        "has",
        "takes",
        "of the TTFT promise",
        "1 GB burst",
        right=("prompt", "needs", "has", "takes"),
    )
    for pool in _each_pool_once(fleet):
        t = pool.kv_transfer
        if t is None:
            continue
        burst = (
            f"+{figure(t.burst_ms)} ms = {t.burst_share_of_jitter_budget:.1f} × the 10 ms jitter budget"
            if t.burst_can_reach_fabric
            else "has other NICs"
        )
        table.add_row(
            plain(pool.name),
            f"{t.prompt_tokens:,} tokens, {t.bytes_per_request / 1e6:,.0f} MB{_copies(t)}",
            "-" if t.needed_gbps is None else f"{figure(t.needed_gbps)} Gbit/s",
            f"{figure(t.available_gbps)} Gbit/s ({t.efficiency:.0%} of {figure(t.line_gbps)}{_taken(t)})",
            "-" if t.transfer_ms is None else f"{figure(t.transfer_ms)} ms",
            "-" if t.budget_ms is None else f"{figure(t.budget_ms)} of {figure(t.ttft_promise_ms or 0)} ms",
            burst,
        )
    return table if table.row_count else None


def _taken(transfer: KvTransferPlan) -> str:
    """What the path takes of it: leaves, and other traffic on the same NICs."""
    leaves = f", over {figure(transfer.oversubscription)} : 1" if transfer.oversubscription > 1 else ""
    return leaves + (f", {transfer.shared_part:.0%} beside bursts" if transfer.shared_part < 1 else "")


def _copies(transfer: KvTransferPlan) -> str:
    """Where each GPU of the decode side takes a copy, how often the cache crosses."""
    if not transfer.bytes_per_request:
        return ""
    times = transfer.bytes_moved / transfer.bytes_per_request
    return f" × {figure(times)} copies" if times > 1.001 else ""


def _shared(fleet: FleetPlan) -> "Table | None":
    table = table_of(
        "Shared pools",
        "pool",
        "model",
        "instances",
        "resource",
        "needs",
        "cold load",
        "wake",
        right=("instances", "needs", "cold load", "wake"),
    )
    for pool in _each_pool_once(fleet):
        for one in pool.shared.instances if pool.shared else ():
            assert pool.shared is not None
            table.add_row(
                plain(pool.name),
                plain(one.model),
                _standing(pool.shared, one.model),
                one.resource,
                gibibytes(one.bytes_needed),
                f"{figure(one.cold_load_seconds)} s + start",
                f"{figure(one.wake_seconds)} s" if one.wake_seconds else "always awake",
            )
    return table if table.row_count else None


def _standing(shared: SharedPlan, model: str) -> str:
    """``8``, or ``8 (3 at min)`` where the pool scales in to fewer."""
    desired, least = shared.packing.instances.get(model, 0), shared.instances_at_min[model]
    return str(desired) if least == desired else f"{desired} ({least} at min)"


def _cost(fleet: FleetPlan) -> "Table":
    """One row for cells that pay the same; the sources stand below the tables."""
    table = table_of(
        "Cost of GPU nodes, dollars per million tokens in both definitions",
        "pool",
        "cells",
        "price an instance-hour",
        "requests/s, busy",
        "output tokens only",
        "prompt and output",
        "planned busy",
        "source",
        right=("price an instance-hour", "requests/s, busy", "output tokens only", "prompt and output", "planned busy"),
    )
    sources = _price_sources(fleet)
    rows: dict[tuple[str, ...], list[str]] = {}
    for pool in fleet.pools:
        t = pool.token_cost
        band = f" (mission: {usd_range(t.band_usd_per_million_tokens)})" if t and t.band_usd_per_million_tokens else ""
        row = (
            plain(pool.name),
            usd_range(pool.price.usd),
            range_(pool.requests_per_second) if pool.roles else "-",
            usd_range(t.usd_per_million_output_tokens) if t else "-",
            (usd_range(t.usd_per_million_total_tokens) + band) if t else "-",
            f"{t.utilization:.0%}" if t else "-",
            f"{pool.price.basis} \\[{sources[pool.price.how]}]",
        )
        rows.setdefault(row, []).append(pool.cell)
    for (pool_name, *rest), cells in rows.items():
        table.add_row(pool_name, plain(", ".join(cells)), *rest)
    return table


def _price_sources(fleet: FleetPlan) -> dict[str, int]:
    """Footnote number by source."""
    return {how: n for n, how in enumerate(dict.fromkeys(p.price.how for p in fleet.pools), start=1)}


def _routing(fleet: FleetPlan) -> "Table":
    table = table_of(
        f"Routing ({fleet.routing.policy})", "tier", "hostname", "cells", "leaves its cells", "when none is healthy"
    )
    for route in fleet.routing.routes:
        cells = ", ".join(f"{plain(r.cell)} {share(r.share)}" for r in route.cells)
        table.add_row(
            plain(route.tier),
            plain(route.hostname or "-"),
            cells,
            route.spill.replace("_", " "),
            route.when_all_unhealthy,
        )
    return table


def _notes(console: "Console", fleet: FleetPlan) -> None:
    for how, number in _price_sources(fleet).items():
        console.print(f"\\[{number}] {plain(how)}")
    console.print("[bold]Not in these sums[/]: " + "; ".join(fleet.cost.not_included))
    if fleet.availability:
        console.print(
            f"[bold]Availability[/]: {fleet.availability[0].basis}; independent failures; names, gateways, routers and "
            "changes are in it too: `inferfab failures` has each factor"
        )
    measured = {p.token_cost.measured for p in fleet.pools if p.token_cost and p.token_cost.measured}
    for line in sorted(m for m in measured if m):
        console.print(f"[bold]Published, for comparison[/]: {plain(line)}")


def _defaults(fleet: FleetPlan) -> "Table":
    table = table_of("Left open in the file", "field", "value")
    for used in fleet.defaults:
        table.add_row(plain(used.path), plain(used.value))
    return table


def _defaults_hint(fleet: FleetPlan) -> str:
    """Defaults that cost money or make promises, each value once with how often it stands in."""
    found: dict[str, list[str]] = {}
    overridden = _never_by_default(fleet)
    for used in fleet.defaults:
        field = used.path.rsplit(".", 1)[-1]
        if field in _NOTABLE and used.value != "-" and used.path not in overridden:
            found.setdefault(f"{field} = {used.value}", []).append(used.path)
    shown = "; ".join(
        f"{plain(what)} ({plain(paths[0])}{f' and {len(paths) - 1} more' if len(paths) > 1 else ''})"
        for what, paths in found.items()
    )
    return (
        f"[bold]Defaults[/]: {len(fleet.defaults)} fields were left open (`--defaults` lists all). "
        f"Those that cost or promise: {shown or 'none'}"
    )


def _never_by_default(fleet: FleetPlan) -> set[str]:
    """Paths of capacity that a pool leaves open and every cell states: the default then buys nothing."""
    bought: dict[str, set[str]] = {}
    for group in fleet.node_groups:
        bought.setdefault(group.pool, set()).add(group.capacity.kind)
    return {dotted(("pools", pool, "capacity")) for pool, kinds in bought.items() if "on_demand" not in kinds}


_NOTABLE = {
    "capacity",
    "gpu_memory_utilization",
    "promises",
    "availability_percent",
    "count",
    "kv_transfer_share_of_ttft",
    "spill",
    "workload",
}
