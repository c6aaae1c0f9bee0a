"""What servers and pods in racks call of what stands in AWS: the holes in the cluster's security group."""

from collections.abc import Iterator
from typing import Literal

from inferfab.plan.gateway.gateway import GatewayPlan
from inferfab.plan.network import NetworkPlan
from inferfab.plan.serving.component import FRONTEND_PORT
from inferfab.plan.serving.serving import ServingPlan
from inferfab.record import Record

_XDS = 18000
"""Of Envoy Gateway's controllers, from which proxies have their configuration (gateway-helm 1.9, values.yaml)."""
_RATE_LIMITS = 8081
"""gRPC of the rate limit service that Envoy Gateway runs (recalled: internal/infrastructure/kubernetes/ratelimit)."""
_UNPRIVILEGED = (1024, 65535)


def system_ranges(network: NetworkPlan) -> tuple[str, ...]:
    """Where system nodes and their pods are; of somebody else's network all of it, whose subnets we know by id only."""
    return network.cidrs("system") or (network.cidr,)


class RackTraffic(Record):
    """A port, or all from first to last, that racks reach in AWS."""

    name: str
    protocol: Literal["tcp", "udp"]
    first: int
    last: int
    why: str


def rack_traffic(serving: ServingPlan, gateway: GatewayPlan) -> tuple[RackTraffic, ...]:
    """By whom it is called: kubelets and pods of racks. From the servers' range as well as from the pods', for Cilium
    hides a pod behind its server's address once its packets leave the racks.

    Sources: Amazon EKS user guide, networking for hybrid nodes (443, 53); ports of what stands on system nodes.
    """
    return tuple(_traffic(serving, gateway))


def _traffic(serving: ServingPlan, gateway: GatewayPlan) -> Iterator[RackTraffic]:
    def one(name: str, port: int, why: str, protocol: Literal["tcp", "udp"] = "tcp") -> RackTraffic:
        return RackTraffic(name=name, protocol=protocol, first=port, last=port, why=why)

    yield one("api", 443, "Kubernetes API")
    yield one("dns", 53, "Cluster DNS", "udp")
    yield one("dns", 53, "Cluster DNS")
    if any(group.rack for group in gateway.groups):
        yield one("xds", _XDS, "Gateways have their configuration from Envoy Gateway")
        if gateway.limits.kind == "global":
            yield one("rate-limits", _RATE_LIMITS, "Gateways ask what tenants may still use")
    elsewhere = [
        part
        for graph in serving.graphs
        for part in graph.components
        if part.node_group is None and not part.beside_gpus and part.kind != "planner"
    ]
    if elsewhere:
        # Workers answer a caller on a port that the runtime picks (Dynamo's TCP response plane).
        first, last = _UNPRIVILEGED
        why = f"Routers and frontends on system nodes ({FRONTEND_PORT}), and workers' answers to them"
        yield RackTraffic(name="runtime", protocol="tcp", first=first, last=last, why=why)
