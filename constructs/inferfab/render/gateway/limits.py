"""Budgets of tenants as rules that Envoy counts by."""

from typing import Any

from inferfab.plan.gateway.gateway import GatewayPlan


def rate_rules(gateway: GatewayPlan, tier: str) -> list[dict[str, Any]]:
    """Rules of one tier; a tenant without a limit has none."""
    if gateway.limits.kind == "none":
        return []
    found = []
    for tenant in gateway.tenants_of(tier):
        part = tenant.tier(tier)
        assert part is not None
        path = f"tenants.{tenant.name}.tiers.{tier}"
        if part.tokens_per_minute is not None and gateway.limits.kind == "global":
            basis = f"share_percent: {part.share_percent:g}" if part.share_percent is not None else "tokens_per_minute"
            found.append(_rule(tenant.identity, part.tokens_per_minute, f"Tokens of {path}.{basis}", tokens=True))
        if part.requests_per_minute is not None:
            found.append(
                _rule(
                    tenant.identity, part.requests_per_minute, f"Requests of {path}.requests_per_minute", tokens=False
                )
            )
    return found


def _rule(identity: str, limit: int, why: str, *, tokens: bool) -> dict[str, Any]:
    return {"identity": identity, "limit": limit, "why": why, "tokens": tokens}
