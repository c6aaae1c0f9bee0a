"""What programs in tenants' own namespaces may not take, and where they may not go."""

import ipaddress

from inferfab.catalog.tenant_network import tenant_network_facts
from inferfab.plan.fleet import CellPlan


def inside(cell: CellPlan) -> list[str]:
    """Ranges (CIDR) that are not the internet, with the cell's own wherever those are."""
    own = [cell.network.cidr, cell.network.pod_cidr, cell.network.service_cidr]
    if cell.racks is not None:
        own += [cell.racks.node_cidr, cell.racks.pod_cidr]
    ranges = [ipaddress.IPv4Network(one) for one in (*tenant_network_facts().not_outside, *own) if one]
    return [str(one) for one in ipaddress.collapse_addresses(ranges)]


def dns_ranges(cell: CellPlan) -> list[str]:
    """Ranges (CIDR) in which the cluster's DNS answers."""
    service = cell.network.service_cidr
    return [tenant_network_facts().dns_on_the_node, *([service] if service else [])]


def devices(cell: CellPlan) -> list[str]:
    """Extended resources that pods of this cell ask for: GPUs, slices of them, NICs."""
    parts = [part for graph in cell.serving.graphs for part in graph.components]
    asked = {part.gpu_resource for part in parts} | {name for part in parts for name in part.resources}
    return sorted({"nvidia.com/gpu", *(name for name in asked if "/" in name)})
