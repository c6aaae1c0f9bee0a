"""Tenants' own namespaces."""

from inferfab.catalog.tenant_network import tenant_network_facts
from inferfab.plan.fleet import CellPlan
from inferfab.plan.gateway.tenant_reach import devices, dns_ranges, inside
from inferfab.plan.gateway.tenants import TenantPlan
from inferfab.render.templates import render


def tenant_spaces(cell: CellPlan, housed: list[TenantPlan]) -> str:
    """:param housed: tenants with a namespace."""
    return render(
        "gateway/tenants.yaml.j2",
        tenants=housed,
        gateway=cell.gateway,
        inside=inside(cell),
        devices=devices(cell),
        dns_ranges=dns_ranges(cell),
        identity=[(one.cidr, one.port) for one in tenant_network_facts().identity[cell.cloud]],
    )
