"""The files of a cell's gateway release."""

from collections.abc import Iterator
from typing import Any

from inferfab.catalog.chart_images import chart_images
from inferfab.catalog.charts import charts, image
from inferfab.catalog.system_nodes import system_node_facts
from inferfab.plan.fleet import CellPlan
from inferfab.plan.gateway.gateway import CA_SECRET, GatewayGroup, GatewayPlan, route_name, tls_secret
from inferfab.plan.names import SECRET_STORE, SERVING_NAMESPACE, priority_class_name
from inferfab.plan.racks.racks import RACK_LABEL
from inferfab.plan.racks.traffic import system_ranges
from inferfab.render.gateway.limits import rate_rules
from inferfab.render.gateway.routes import backends, routes
from inferfab.render.gateway.tenant_spaces import tenant_spaces
from inferfab.render.templates import render

TENANT_HEADER = "x-inferfab-tenant"
"""Whose a request is: set by the gateway from its credential."""
_HEALTH = "0-health"
"""Listener of the cell's own name; names of tiers begin with a letter."""
STRIPPED = (
    "x-tenant-id",
    "x-worker-instance-id",
    "x-prefill-instance-id",
    "x-prefill-dp-rank",
    "x-dp-rank",
    "x-data-parallel-rank",
    "x-bypass-remote-prefill",
    "x-bypass-remote-backend",
)
"""Headers by which Dynamo's frontend lets itself be steered (strings of ai-dynamo-runtime 1.6.1)."""
STRIPPED_PREFIXES = ("x-inferfab-", "x-dynamo-", "x-ai-eg-", "x-gateway-")


def gateway_files(cell: CellPlan) -> dict[str, str]:
    """Every object of the release: relative path to YAML text; empty for a cell without gateways, or without anything
    behind them."""
    return dict(sorted(_files(cell))) if cell.gateway.groups and cell.gateway.tiers else {}


def _files(cell: CellPlan) -> Iterator[tuple[str, str]]:
    gateway = cell.gateway
    listeners = _listeners(gateway)
    shared: dict[str, Any] = {"gateway": gateway, "groups": gateway.groups, "tenant_header": TENANT_HEADER}
    longest = max(tier.timeout_seconds for tier in gateway.tiers)
    yield (
        "gateways.yaml",
        render(
            "gateway/gateways.yaml.j2",
            gateway=gateway,
            groups=[_group(cell, group) for group in gateway.groups],
            listeners=listeners,
            rack_label=RACK_LABEL,
            several_zones=cell.racks is None
            and cell.network.existing is not None
            and len(cell.network.existing.node_subnet_ids) > 1,
            priority_class=priority_class_name(min(gateway.tiers, key=lambda tier: tier.rank).tier),
            drain_seconds=cell.drain_seconds,
            asks=system_node_facts().gateway,
            image=cell.images.reference(_proxy_image()) if cell.images.mirror else None,
            pull_secret=cell.images.pull_secret,
        ),
    )
    yield "service.yaml", render("gateway/service.yaml.j2", gateway=gateway, google=cell.cloud == "gcp")
    yield (
        "clients.yaml",
        render(
            "gateway/clients.yaml.j2",
            longest_seconds=longest,
            stripped=STRIPPED,
            stripped_prefixes=STRIPPED_PREFIXES,
            **shared,
        ),
    )
    yield (
        "routes.yaml",
        render(
            "gateway/routes.yaml.j2",
            gateway=gateway,
            backends=backends(gateway),
            routes=routes(gateway),
            serving_namespace=SERVING_NAMESPACE,
        ),
    )
    yield (
        "traffic.yaml",
        render(
            "gateway/traffic.yaml.j2",
            tiers=[
                {
                    **tier.model_dump(),
                    "route_names": [route_name(tier.tier, group) for group in gateway.groups],
                    "rules": rate_rules(gateway, tier.tier),
                }
                for tier in gateway.tiers
            ],
            racks=len(gateway.groups) > 1,
            **shared,
        ),
    )
    if gateway.authentication.kind != "none":
        yield "access.yaml", _access(cell, shared)
    if gateway.tls.kind != "secret":
        yield (
            "certificates.yaml",
            render(
                "gateway/certificates.yaml.j2",
                tls=gateway.tls,
                listeners=listeners,
                namespace=gateway.namespace,
                region=cell.region,
                ca_secret=CA_SECRET,
                # RFC 5280 ends a common name at 64 characters.
                authority=f"inferfab {cell.name}",
            ),
        )
    yield (
        "network-policies.yaml",
        render(
            "gateway/network_policies.yaml.j2",
            gateway=gateway,
            metrics_namespace=charts()["kube-prometheus-stack"].namespace,
            aws_cidrs=system_ranges(cell.network) if cell.racks else (),
            controller_namespace=charts()["envoy-gateway"].namespace,
        ),
    )
    if gateway.limits.own_redis:
        yield (
            "redis.yaml",
            render(
                "gateway/redis.yaml.j2",
                namespace=gateway.namespace,
                image=cell.images.reference(image("valkey").reference),
                pull_secret=cell.images.pull_secret,
                refuse=gateway.limits.refuse_when_down,
            ),
        )
    if gateway.tenants:
        yield (
            "tenant-labels.yaml",
            render("gateway/tenant_labels.yaml.j2", tenants=gateway.tenants, gateway=gateway, cell=cell.name),
        )
    housed = [tenant for tenant in gateway.tenants if tenant.namespace]
    if housed:
        yield "tenants.yaml", tenant_spaces(cell, housed)


def _listeners(gateway: GatewayPlan) -> list[dict[str, Any]]:
    """A name each, with a certificate of its own: a connection to one tier's name can ask for no other's."""
    own = gateway.tls.secret

    def listener(name: str, hostname: str, why: str) -> dict[str, Any]:
        names = list(dict.fromkeys((hostname, gateway.hostname)))
        return {"name": name, "hostname": hostname, "why": why, "secret": own or tls_secret(name), "names": names}

    tiers = [listener(t.tier, t.hostname, f"Tier {t.tier}.") for t in gateway.tiers]
    return [*tiers, listener(_HEALTH, gateway.hostname, "The cell's own name: its health, and nothing else.")]


def _proxy_image() -> str:
    """What Envoy Gateway would take by itself, without asking the mirror."""
    (found,) = (one for one in chart_images()[charts()["envoy-gateway"].chart].images if one.image.endswith("/envoy"))
    return f"{found.image}:{found.tag}"


def _group(cell: CellPlan, group: GatewayGroup) -> dict[str, Any]:
    here = f"cells.{cell.name}."
    return {
        **group.model_dump(),
        "replicas_from": here + ("racks.gateways_per_rack" if group.rack else "gateways.replicas"),
    }


def _access(cell: CellPlan, shared: dict[str, Any]) -> str:
    gateway = cell.gateway
    return render(
        "gateway/access.yaml.j2",
        tiers=[{"tier": tier.tier, "tenants": gateway.tenants_of(tier.tier)} for tier in gateway.tiers],
        # Google cells have no External Secrets: there the Secrets are made by hand.
        external=[t for t in gateway.tenants if t.credential and t.tiers] if cell.cloud == "aws" else [],
        store=SECRET_STORE,
        **shared,
    )
