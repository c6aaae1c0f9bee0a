"""Tenants in one cell."""

from collections.abc import Mapping

from pydantic import NonNegativeInt, PositiveInt

from inferfab.environment.tenants import Tenant
from inferfab.plan.aws_names import fit
from inferfab.plan.pools import PoolPlan
from inferfab.record import Record

_LABEL_LENGTH = 63
"""Of a namespace's name (RFC 1123 label)."""


class TenantTierPlan(Record):
    """A tenant's part of one tier in this cell."""

    tier: str
    tokens_per_minute: PositiveInt | None = None
    """Read and written; None: not limited."""
    requests_per_minute: PositiveInt | None = None
    share_percent: float | None = None
    """Where the tokens are a share of what the cell's workers do."""


class TenantNamespacePlan(Record):
    """A namespace of the tenant's own programs."""

    name: str
    cpu: PositiveInt
    memory_gib: PositiveInt
    pods: NonNegativeInt


class TenantPlan(Record):
    """One tenant."""

    name: str
    identity: str
    """What the gateway calls it: key of the credential, or value of the claim."""
    tiers: tuple[TenantTierPlan, ...]
    api_key: str | None = None
    """Name in the secret store; None where tenants do not come with keys."""
    credential: str | None = None
    """Kubernetes Secret that holds it, in the gateways' namespace."""
    cost_label: str
    namespace: TenantNamespacePlan | None = None

    def tier(self, name: str) -> TenantTierPlan | None:
        return next((t for t in self.tiers if t.tier == name), None)


def tier_tokens_per_minute(pools: tuple[PoolPlan, ...], tier: str) -> int:
    """What the desired workers of a tier read and write at their planned load, by the estimate's lower end.

    Requests a second x utilization x (prompt + answer) x 60; 0 where no rate is known (shared pools).
    """
    found = 0.0
    for pool in pools:
        if pool.tier == tier:
            each = pool.workload.prompt_tokens + pool.workload.output_tokens
            found += pool.requests_per_second.low * pool.workload.utilization * each * 60
    return int(found)


def plan_tenants(
    environment: str, tenants: Mapping[str, Tenant], pools: tuple[PoolPlan, ...], *, authentication: str
) -> tuple[TenantPlan, ...]:
    """:param authentication: kind of it."""
    served = {pool.tier for pool in pools}
    by_key = authentication == "api_keys"
    return tuple(
        TenantPlan(
            name=name,
            identity=(tenant.claim or name) if authentication == "oidc" else name,
            tiers=tuple(_tier(tier, tenant, pools) for tier in tenant.tiers if tier in served),
            api_key=(tenant.api_key or f"{environment}/tenants/{name}") if by_key else None,
            credential=f"tenant-{name}" if by_key else None,
            cost_label=tenant.cost_label or name,
            namespace=TenantNamespacePlan(
                name=fit(f"tenant-{name}", _LABEL_LENGTH),
                cpu=tenant.namespace.cpu,
                memory_gib=tenant.namespace.memory_gib,
                pods=tenant.namespace.pods,
            )
            if tenant.namespace
            else None,
        )
        for name, tenant in tenants.items()
    )


def _tier(name: str, tenant: Tenant, pools: tuple[PoolPlan, ...]) -> TenantTierPlan:
    asked = tenant.tiers[name]
    if asked is None:
        return TenantTierPlan(tier=name)
    tokens = asked.tokens_per_minute
    if asked.share_percent is not None:
        tokens = int(tier_tokens_per_minute(pools, name) * asked.share_percent / 100) or None
    return TenantTierPlan(
        tier=name,
        tokens_per_minute=tokens,
        requests_per_minute=asked.requests_per_minute,
        share_percent=asked.share_percent,
    )
