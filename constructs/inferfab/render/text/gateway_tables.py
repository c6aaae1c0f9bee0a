"""The entrance of each cell as tables: instances and limits, tiers, tenants."""

from typing import TYPE_CHECKING

from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.plan.gateway.gateway import MIB, GatewayPlan
from inferfab.plan.gateway.tenants import TenantPlan, TenantTierPlan
from inferfab.plan.gateway.tiers import TierGatePlan
from inferfab.render.text.tables import plain, table_of

if TYPE_CHECKING:
    from rich.table import Table


def gateway_tables(fleet: FleetPlan) -> tuple["Table | None", ...]:
    """Those that the fleet has something for."""
    return _entrances(fleet), _tiers(fleet), _tenants(fleet)


def _entrances(fleet: FleetPlan) -> "Table | None":
    table = table_of("Gateways", "cell", "instances", "certificates", "who are you", "counts", "largest request")
    for cell in fleet.cells:
        gateway = cell.gateway
        if not gateway.groups:
            continue
        table.add_row(
            plain(cell.name),
            f"{_instances(gateway)}, {gateway.connections_per_instance:,} connections each",
            gateway.tls.kind.replace("_", "-"),
            {"none": "not asked", "api_keys": "API keys", "oidc": f"tokens of {gateway.authentication.issuer}"}[
                gateway.authentication.kind
            ],
            _counts(gateway),
            f"{gateway.body_limit_bytes // MIB} MiB",
        )
    return table if table.row_count else None


def _instances(gateway: GatewayPlan) -> str:
    return ", ".join(
        f"{group.replicas} in {plain(group.rack)}" if group.rack else str(group.replicas) for group in gateway.groups
    )


def _counts(gateway: GatewayPlan) -> str:
    limits = gateway.limits
    if limits.kind == "none":
        return "nothing"
    if limits.kind == "local":
        return "requests, each instance its own"
    down = "refused" if limits.refuse_when_down else "served"
    return f"tokens and requests, together{' in its own Redis' if limits.own_redis else ''}; {down} when it is down"


def _tiers(fleet: FleetPlan) -> "Table | None":
    """One row for cells in which all is the same."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for cell in fleet.cells:
        for tier in cell.gateway.tiers:
            rows.setdefault((tier.tier, *_tier(cell, tier)), []).append(cell.name)
    table = table_of(
        "Tiers at the gateways", "tier", "cells", "name", "longest request", "under way", "waiting, a worker",
        "refused", "a cache is worth",
        right=("longest request", "under way"),
    )  # fmt: skip
    for (name, *rest), cells in rows.items():
        table.add_row(plain(name), plain(", ".join(cells)), *rest)
    return table if table.row_count else None


def _tier(cell: CellPlan, tier: TierGatePlan) -> tuple[str, ...]:
    waits = sorted(
        {
            graph.router_policy.request_queue_limit_per_worker
            for graph in cell.serving.graphs
            if graph.tier == tier.tier
            and graph.router_policy is not None
            and graph.router_policy.request_queue_limit_per_worker is not None
        }
    )
    return (
        plain(tier.hostname),
        f"{tier.timeout_seconds:,} s",
        f"{tier.parallel_requests:,}",
        " to ".join(f"{n:,}" for n in dict.fromkeys((waits[0], waits[-1]))) if waits else "no end; gateways refuse",
        f"503, try again in {tier.retry_after_seconds} s",
        f"{tier.affinity.imbalance_tokens:,} tokens of work",
    )


def _tenants(fleet: FleetPlan) -> "Table | None":
    table = table_of("Tenants", "tenant", "cell", "tiers, in each cell", "credential", "cost label", "namespace")
    for cell in fleet.cells:
        for tenant in cell.gateway.tenants:
            if not tenant.tiers:
                continue
            space = tenant.namespace
            table.add_row(
                plain(tenant.name),
                plain(cell.name),
                "; ".join(_part(part) for part in tenant.tiers),
                plain(_credential(cell.gateway, tenant)),
                plain(tenant.cost_label),
                f"{space.name}: {space.cpu} CPUs, {space.memory_gib} GiB, {space.pods} pods" if space else "-",
            )
    return table if table.row_count else None


def _credential(gateway: GatewayPlan, tenant: TenantPlan) -> str:
    if gateway.authentication.kind == "none":
        return "none: nobody is asked"
    return f"secret {tenant.api_key}" if tenant.api_key else f"claim {tenant.identity}"


def _part(part: TenantTierPlan) -> str:
    limits = []
    if part.tokens_per_minute is not None:
        share = f" ({part.share_percent:g} %)" if part.share_percent is not None else ""
        limits.append(f"{part.tokens_per_minute:,} tokens{share}")
    if part.requests_per_minute is not None:
        limits.append(f"{part.requests_per_minute:,} requests")
    return f"{plain(part.tier)} {' and '.join(limits)} a minute" if limits else f"{plain(part.tier)} without limit"
