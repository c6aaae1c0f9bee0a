"""What the plan knows and Prometheus cannot: prices, promises, budgets, ends of capacity, as constant series."""

from inferfab.plan.fleet import CellPlan
from inferfab.plan.observability.observability import KvMove, ObservabilityPlan, PoolPrice
from inferfab.plan.observability.slos import SloPlan
from inferfab.render.observability.rule import Group, Rule


def number(value: float) -> str:
    """Shortest text that reads back as the same number."""
    return f"{value:.12g}"


def fact_group(cell: CellPlan, plan: ObservabilityPlan) -> Group:
    rules: list[Rule] = []
    for price in plan.prices:
        rules += _of_pool(cell, price)
    for move in plan.kv_moves:
        rules.append(_move(cell, move))
    for slo in plan.slos:
        rules += _of_slo(cell, slo)
    return Group(name="inferfab-facts", interval="1m", rules=tuple(rules))


def slo_labels(cell: CellPlan, slo: SloPlan) -> dict[str, str]:
    return {
        "cell": cell.name, "tier": slo.tier, "pool": slo.pool, "model": slo.model, "slo": slo.name,
        "signal": slo.signal,
    }  # fmt: skip


def _of_pool(cell: CellPlan, price: PoolPrice) -> list[Rule]:
    labels = {"cell": cell.name, "tier": price.tier, "pool": price.pool, "model": price.model}
    found = [
        Rule(
            record="inferfab:pool:gpus_per_node",
            expr=f"vector({price.gpus_per_node})",
            labels=labels,
            comment=f"pools.{price.pool}",
        )
    ]
    # A price of which nothing is known is no price of 0.
    if price.usd_per_node_hour_high is not None:
        bounds = {"low": price.usd_per_node_hour_low, "high": price.usd_per_node_hour_high}
        found += [
            Rule(
                record="inferfab:pool_price_usd:per_node_hour",
                expr=f"vector({number(usd)})",
                labels={**labels, "bound": bound},
                comment=price.how,
            )
            for bound, usd in bounds.items()
        ]
    found.append(
        Rule(
            record="inferfab:pool_reserved_nodes:count",
            expr=f"vector({price.reserved_nodes})",
            labels=labels,
            comment="Paid for whether they run or not.",
        )
    )
    if price.ends_at_seconds is not None:
        found.append(
            Rule(
                record="inferfab:pool_capacity_end:timestamp_seconds",
                expr=f"vector({price.ends_at_seconds})",
                labels=labels,
                comment=f"pools.{price.pool}.capacity.ends_at: {price.ends_at}",
            )
        )
    return found


def _move(cell: CellPlan, move: KvMove) -> Rule:
    return Rule(
        record="inferfab:pool_kv_transfer_planned:bytes_per_second",
        expr=f"vector({number(move.bytes_per_second)})",
        labels={"cell": cell.name, "tier": move.tier, "pool": move.pool, "fabric": move.fabric},
        comment=f"Of one of the {move.parts} reads of a prompt that run side by side: engines time each by itself.",
    )


def _of_slo(cell: CellPlan, slo: SloPlan) -> list[Rule]:
    labels = slo_labels(cell, slo)
    found = [
        Rule(record="inferfab:slo_budget:ratio", expr=f"vector({number(slo.budget)})", labels=labels, comment=slo.field)
    ]
    if slo.signal == "ttft" and slo.promise_ms is not None and slo.source == "frontend":
        found.append(
            Rule(
                record="inferfab:route_ttft_promise:seconds",
                expr=f"vector({number(slo.promise_ms / 1000)})",
                labels={**labels, "route": slo.route},
                comment=slo.field,
            )
        )
    return found
