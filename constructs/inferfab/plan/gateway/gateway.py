"""The gateways of a cell: instances, names, certificates, credentials, limits."""

import math
from typing import Literal

from pydantic import NonNegativeInt, PositiveInt

from inferfab.environment.environment import Environment
from inferfab.environment.gateway import GlobalLimits, Oidc
from inferfab.plan.gateway.tenants import TenantPlan, plan_tenants
from inferfab.plan.gateway.tiers import TierGatePlan, plan_tier_gate
from inferfab.plan.locality import LocalityPlan
from inferfab.plan.pools import PoolPlan
from inferfab.plan.racks.racks import RacksPlan
from inferfab.plan.served import ModelPlan
from inferfab.plan.serving.serving import ServingPlan
from inferfab.plan.tiers import TierPlan
from inferfab.record import Record

_BYTES_PER_TOKEN = 8
"""Of a token in a request's JSON: 4 letters, escapes, and letters of two bytes. Estimate."""
MIB = 1024 * 1024
CA_SECRET = "gateway-ca"
"""Secret of the cell's own authority, where certificates are self-signed; ``tls.crt`` is what clients are given."""


class GatewayGroup(Record):
    """Instances that are alike: those of a cell, or of one of its racks."""

    name: str
    """Of the Gateway object."""
    replicas: PositiveInt
    rack: str | None = None
    """Owned rack that they are pinned to."""
    spills_to: tuple[str, ...] = ()
    """Racks that get its requests while its own has no frontend that answers, in this order; no others."""


class TlsPlan(Record):
    """Where certificates come from."""

    kind: Literal["acme", "secret", "self_signed"]
    email: str | None = None
    server: str | None = None
    zone: str | None = None
    """Hosted zone that proves the names."""
    role: str | None = None
    """Role of the zone's account that cert-manager takes on; None: the zone is in the cells' own account."""
    secret: str | None = None


class AuthenticationPlan(Record):
    """How a request says whose it is."""

    kind: Literal["none", "api_keys", "oidc"]
    issuer: str | None = None
    jwks_uri: str | None = None
    audiences: tuple[str, ...] = ()
    tenant_claim: str | None = None


class LimitsPlan(Record):
    """Who counts."""

    kind: Literal["none", "local", "global"]
    redis: str | None = None
    """Host and port, where it counts globally."""
    own_redis: bool = False
    """We run it, in the gateways' namespace."""
    refuse_when_down: bool = False


class GatewayPlan(Record):
    """The cell's entrance. Load balancer, security groups, Service and pods read these ports."""

    replicas: NonNegativeInt
    """Instances in all."""
    public: bool
    namespace: str = "gateway"
    service: str = "entrance"
    """That traffic comes by. Envoy Gateway makes a Service of each Gateway's own name, and refuses a foreign one."""
    port: PositiveInt = 8443
    """TLS, on the pods."""
    service_port: PositiveInt = 443
    """TLS, on the Service and the load balancer."""
    health_port: PositiveInt = 19003
    """Envoy Gateway's readiness port of the proxy pods."""
    health_path: str = "/ready"
    class_name: str = "inferfab"
    groups: tuple[GatewayGroup, ...] = ()
    """Empty in plans of earlier releases."""
    hostname: str = ""
    """The cell's own name: its health is asked here, and nothing is served."""
    alive_path: str = "/health"
    """Answered by the gateway itself, under every name."""
    address_name: str | None = None
    """Google: static address that the foundation reserves."""
    tls: TlsPlan = TlsPlan(kind="self_signed")
    authentication: AuthenticationPlan = AuthenticationPlan(kind="none")
    limits: LimitsPlan = LimitsPlan(kind="none")
    body_limit_bytes: PositiveInt = MIB
    connections_per_instance: PositiveInt = 10_000
    tiers: tuple[TierGatePlan, ...] = ()
    tenants: tuple[TenantPlan, ...] = ()

    @property
    def hostnames(self) -> tuple[str, ...]:
        """Under which it has certificates: of its tiers, and its own."""
        return (*(tier.hostname for tier in self.tiers), self.hostname)

    def tenants_of(self, tier: str) -> tuple[TenantPlan, ...]:
        return tuple(t for t in self.tenants if t.tier(tier) is not None)


def route_name(tier: str, group: GatewayGroup) -> str:
    """Of the AIGatewayRoute, and of the HTTPRoute that is made of it."""
    return f"{tier}-{group.rack}" if group.rack else tier


def tls_secret(listener: str) -> str:
    """Secret that cert-manager makes for a listener."""
    return f"tls-{listener}"


def authentication_of(environment: Environment) -> AuthenticationPlan:
    """As asked; else keys where there are tenants."""
    asked = environment.gateway.authentication
    if isinstance(asked, Oidc):
        return AuthenticationPlan(
            kind="oidc",
            issuer=asked.issuer,
            jwks_uri=asked.jwks_uri,
            audiences=asked.audiences,
            tenant_claim=asked.tenant_claim,
        )
    return AuthenticationPlan(kind=asked.kind if asked else "api_keys" if environment.tenants else "none")


def body_limit_bytes(context_tokens: int) -> int:
    """Room for the longest prompt as text, in whole MiB."""
    return (math.ceil(_BYTES_PER_TOKEN * context_tokens / MIB) + 1) * MIB


def plan_gateway(
    environment: Environment,
    cell_name: str,
    tiers: dict[str, TierPlan],
    models: dict[str, ModelPlan],
    pools: tuple[PoolPlan, ...],
    serving: ServingPlan,
    *,
    locality: LocalityPlan,
    racks: RacksPlan | None,
    address_name: str | None,
) -> GatewayPlan:
    """Decide the entrance of a cell whose serving is decided."""
    asked, cell = environment.gateway, environment.cells[cell_name]
    domain = environment.routing.domain if environment.routing else f"{environment.name}.internal"
    # A tier of which nothing stands here yet (a pool without a node) has nowhere to lead.
    served = [tier for tier in tiers.values() if any(entry.tier == tier.name for entry in serving.entries)]
    groups = _groups(cell.gateways.replicas, racks)
    authentication = authentication_of(environment)
    longest = max((models[name].context_tokens for p in pools for name in p.models), default=1)
    return GatewayPlan(
        replicas=cell.gateways.replicas,
        public=cell.gateways.public,
        groups=groups,
        hostname=f"{cell_name}.{domain}",
        address_name=address_name,
        tls=_tls(environment, cell.cloud),
        authentication=authentication,
        limits=_limits(environment, cell.gateways.replicas),
        body_limit_bytes=asked.body_limit_mib * MIB if asked.body_limit_mib else body_limit_bytes(longest),
        connections_per_instance=asked.connections_per_instance,
        tiers=tuple(
            plan_tier_gate(
                tier,
                f"{tier.name}.{domain}",
                asked.tiers.get(tier.name),
                serving.entries,
                pools,
                models,
                flow_connections=locality.flows.connections,
                instances=sum(group.replicas for group in groups),
            )
            for tier in served
        ),
        tenants=plan_tenants(environment.name, environment.tenants, pools, authentication=authentication.kind),
    )


def _groups(replicas: int, racks: RacksPlan | None) -> tuple[GatewayGroup, ...]:
    """Instances of each rack; where there are none, those of the cell."""
    if not replicas:
        return ()
    if racks is None:
        return (GatewayGroup(name="gateway", replicas=replicas),)
    return tuple(
        GatewayGroup(name=rack.gateway, replicas=rack.gateways, rack=rack.name, spills_to=rack.spills_to)
        for rack in racks.racks
    )


def _tls(environment: Environment, cloud: str) -> TlsPlan:
    asked = environment.gateway.tls
    if asked is None or asked.kind == "self_signed":
        return TlsPlan(kind="self_signed")
    if asked.kind == "secret":
        return TlsPlan(kind="secret", secret=asked.secret)
    if cloud != "aws" or environment.routing is None:
        # Whoever cannot write into the zone cannot prove a name; a rule says so.
        return TlsPlan(kind="self_signed")
    zone = environment.routing.zone or environment.routing.domain
    account = environment.accounts.aws
    role = asked.dns_role or (account.dns_role if account else None)
    return TlsPlan(kind="acme", email=asked.email, server=asked.server, zone=zone, role=role)


def _limits(environment: Environment, replicas: int) -> LimitsPlan:
    asked = environment.gateway.rate_limits
    limited = any(part for tenant in environment.tenants.values() for part in tenant.tiers.values())
    if not limited or not replicas or authentication_of(environment).kind == "none":
        return LimitsPlan(kind="none")
    if not isinstance(asked, GlobalLimits):
        return LimitsPlan(kind="local")
    return LimitsPlan(
        kind="global",
        redis=asked.redis or "redis.gateway.svc.cluster.local:6379",
        own_redis=asked.redis is None,
        refuse_when_down=asked.when_down == "refuse",
    )
