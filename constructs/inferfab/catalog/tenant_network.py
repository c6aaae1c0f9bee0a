"""Addresses that matter to programs of tenants."""

from functools import cache

from pydantic import PositiveInt

from inferfab.catalog.facts import DATA, FactFile, read_facts
from inferfab.catalog.instances import Cloud
from inferfab.record import Record


class Endpoint(Record):
    """A range and a TCP port."""

    cidr: str
    port: PositiveInt


class TenantNetworkFacts(FactFile):
    """What is inside, and what a pod needs there all the same."""

    not_outside: tuple[str, ...]
    """Private, shared and link-local ranges."""
    dns_on_the_node: str
    identity: dict[Cloud, tuple[Endpoint, ...]]
    """Where a pod gets the rights of its own service account, by cloud."""


@cache
def tenant_network_facts() -> TenantNetworkFacts:
    return read_facts(DATA / "tenant_network.yaml", TenantNetworkFacts)
