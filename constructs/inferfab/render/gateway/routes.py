"""Which request goes to which pods."""

import json
from typing import Any

from inferfab.plan.gateway.gateway import GatewayGroup, GatewayPlan, route_name
from inferfab.plan.gateway.tiers import RoutePlan, backend_host, pods_service
from inferfab.plan.serving.global_router import TierTarget

ZONE_LABEL = "topology.kubernetes.io/zone"
"""Kubernetes puts a node's zone on its pods (KEP-4742, on by default since 1.35); a rack is its nodes' zone."""


def nvext(target: TierTarget | None) -> str:
    """What stands for the client's ``nvext``; empty where no router reads it, so that nobody jumps a queue."""
    if target is None:
        return "{}"
    value = {
        "router": {"ttft_target": target.ttft_ms, "itl_target": target.itl_ms},
        "agent_hints": {"priority": target.min_priority},
    }
    return json.dumps(value, separators=(",", ":"))


def backends(gateway: GatewayPlan) -> list[dict[str, Any]]:
    """A headless Service for each model of a tier, over all its pods and over those of each rack."""
    found = []
    for tier in gateway.tiers:
        for route in tier.routes:
            for rack in (None, *_racks(gateway, route)):
                service = pods_service(route, rack)
                where = f" in {rack}" if rack else ""
                found.append(
                    {
                        "service": service,
                        "why": f"Pods that answer for {route.model} of tier {tier.tier}{where}, each by its address.",
                        "host": backend_host(service),
                        "port": route.port,
                        "selects": {**route.selects, **({ZONE_LABEL: rack} if rack else {})},
                    }
                )
    return found


def _racks(gateway: GatewayPlan, route: RoutePlan) -> tuple[str, ...]:
    """Racks that the pods of a route stand in; frontends of a router over tiers stand on system nodes."""
    return () if route.target else tuple(group.rack for group in gateway.groups if group.rack)


def routes(gateway: GatewayPlan) -> list[dict[str, Any]]:
    """One for each tier and group of instances."""
    return [
        {
            "name": route_name(tier.tier, group),
            "tier": tier.tier,
            "group": group.name,
            "hostname": tier.hostname,
            "timeout_seconds": tier.timeout_seconds,
            "rules": [
                {
                    "name": route.model,
                    "names": route.names,
                    "nvext": nvext(route.target),
                    "backends": _backends(route, group),
                }
                for route in tier.routes
            ],
        }
        for tier in gateway.tiers
        for group in gateway.groups
    ]


def _backends(route: RoutePlan, group: GatewayGroup) -> list[dict[str, Any]]:
    """Its own rack, then the others in their order, at last whoever answers in the cell."""
    if group.rack is None or route.target is not None:
        return [{"service": route.service, "priority": None, "why": ""}]
    order = (group.rack, *group.spills_to)
    why = ["Its own rack."] + [f"Only while no rack before {rack} answers." for rack in order[1:]]
    found = [{"service": pods_service(route, rack), "priority": n, "why": why[n]} for n, rack in enumerate(order)]
    last = "Only while none does: pods whose rack is not known, of this cell too."
    return [*found, {"service": route.service, "priority": len(order), "why": last}]
