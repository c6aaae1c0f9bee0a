"""What stands outside, and cells that have no way out."""

import ipaddress
from collections.abc import Iterator
from urllib.parse import urlsplit

from inferfab.checks.facts import Facts
from inferfab.checks.registry import Problem, rule
from inferfab.environment.cells import Cell, NewNetwork
from inferfab.environment.gateway import Oidc
from inferfab.environment.observability import Observability

_INSIDE = (".svc", ".svc.cluster.local")
"""Ends of names that the cluster itself answers."""


def _closed(cell: Cell) -> bool:
    return isinstance(cell.network, NewNetwork) and cell.network.egress == "none"


@rule(
    "IF-NET-012",
    "something outside that a cell without a way out asks",
    severity="warning",
    stage="reference",
    joins=("environment", "cloud", "cluster"),
    why="with `egress: none` a cell reaches the cloud's own endpoints and nothing else: no certificate is issued, no "
    "token can be checked, no alert arrives, no series is kept elsewhere, and nothing in the cell fails where anybody "
    "would see it.",
    do="use `egress: nat`, or what is inside: `tls: {kind: secret}`, API keys, a receiver and a store that the "
    "network's owner routes to.",
    source="endpoints of a cell without NAT (aws/endpoints.py); Route 53 is a global service without an endpoint there",
)
def what_is_outside_is_reached(facts: Facts) -> Iterator[Problem]:
    environment = facts.environment
    closed = {name: cell for name, cell in environment.cells.items() if _closed(cell)}
    if not closed:
        return
    tls, authentication = environment.gateway.tls, environment.gateway.authentication
    proven = [name for name, cell in closed.items() if cell.cloud == "aws" and cell.gateways.replicas]
    if tls is not None and tls.kind == "acme" and environment.routing is not None and proven:
        yield Problem(
            ("gateway", "tls", "kind"),
            f"{_cells(proven)} reach neither {_host(tls.server)} nor Route 53, where names are proven: their entrances "
            "would be without a certificate",
            "name a certificate of your own: `{kind: secret, secret: …}`, or use `egress: nat`",
            severity="error",
        )
    # Gateways in racks have the racks' own way out.
    asking = [name for name, cell in closed.items() if cell.gateways.replicas and cell.racks is None]
    if isinstance(authentication, Oidc) and asking and not _inside(authentication.jwks_uri):
        yield Problem(
            ("gateway", "authentication", "jwks_uri"),
            f"the gateways of {_cells(asking)} fetch the issuer's keys from {_host(authentication.jwks_uri)}; without "
            "them every token is refused",
            "let the network route to it, or use `kind: api_keys`, or `egress: nat`",
        )
    yield from _told(environment.observability, list(closed))


def _told(asked: Observability, closed: list[str]) -> Iterator[Problem]:
    used = {name for _, name in asked.named_receivers()}
    for name, receiver in asked.receivers.items():
        if name not in used:
            continue
        public = {"slack": "Slack", "pagerduty": "PagerDuty"}.get(receiver.kind)
        what = f"`{name}` hears of no alert of {_cells(closed)}"
        yield Problem(
            ("observability", "receivers", name),
            f"{what}: {public} is outside" if public else f"{what}, unless its address is within the network",
            f"{'use a webhook within the network' if public else 'look at its address'}, or use `egress: nat`",
            severity="error" if public else "warning",
            of_key=True,
        )
    store = asked.remote_write
    if store is not None and not _inside(store.url):
        yield Problem(
            ("observability", "remote_write", "url"),
            f"{_cells(closed)} do not reach {_host(store.url)}, so their series are kept in the cell only",
            "let the network route to it, or use `egress: nat`",
        )


def _host(url: str) -> str:
    return urlsplit(url).hostname or url


def _inside(url: str) -> bool:
    """A name of the cluster, or a private address: somebody may have made a way to it."""
    host = _host(url)
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return host.endswith(_INSIDE)


def _cells(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
