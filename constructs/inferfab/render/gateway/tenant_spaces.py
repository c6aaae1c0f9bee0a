"""Tenants' own namespaces: what their pods may not take, and where they may not go."""

import ipaddress

from inferfab.plan.fleet import CellPlan
from inferfab.plan.gateway.tenants import TenantPlan
from inferfab.render.templates import render

_NOT_OUTSIDE = ("10.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16")
"""Private, shared and link-local addresses (RFC 1918, 6598, 3927). Pods, nodes, racks, Kubernetes services and
networks that are joined are in them: EKS takes its services from 10.100.0.0/16 or 172.20.0.0/16, which no plan names.
"""
_DNS_ON_THE_NODE = "169.254.20.10/32"
"""Kubernetes documentation, NodeLocal DNSCache."""
_IDENTITY = {
    "aws": (("169.254.170.23/32", 80),),
    "gcp": (("169.254.169.254/32", 80), ("169.254.169.252/32", 988)),
}
"""By which a pod gets the rights of its own service account and no others: EKS Pod Identity's agent; GKE's metadata
server with workload identity (both vendors' documentation; from memory).
"""


def tenant_spaces(cell: CellPlan, housed: list[TenantPlan]) -> str:
    """:param housed: tenants with a namespace."""
    return render(
        "gateway/tenants.yaml.j2",
        tenants=housed,
        gateway=cell.gateway,
        inside=inside(cell),
        devices=devices(cell),
        dns_ranges=[_DNS_ON_THE_NODE, *([cell.network.service_cidr] if cell.network.service_cidr else [])],
        identity=_IDENTITY[cell.cloud],
    )


def inside(cell: CellPlan) -> list[str]:
    """Ranges that are not the internet, with the cell's own wherever those are."""
    own = [cell.network.cidr, cell.network.pod_cidr, cell.network.service_cidr]
    if cell.racks is not None:
        own += [cell.racks.node_cidr, cell.racks.pod_cidr]
    ranges = [ipaddress.IPv4Network(one) for one in (*_NOT_OUTSIDE, *own) if one]
    return [str(one) for one in ipaddress.collapse_addresses(ranges)]


def devices(cell: CellPlan) -> list[str]:
    """Extended resources that pods of this cell ask for: GPUs, slices of them, NICs."""
    parts = [part for graph in cell.serving.graphs for part in graph.components]
    asked = {part.gpu_resource for part in parts} | {name for part in parts for name in part.resources}
    return sorted({"nvidia.com/gpu", *(name for name in asked if "/" in name)})
