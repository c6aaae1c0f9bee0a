"""Names in DNS: the hosted zone is there, public, and the world finds it."""

from collections.abc import Callable, Iterator
from typing import Protocol

from inferfab.plan.fleet import FleetPlan
from inferfab.preflight.probe import Probe, Seen
from inferfab.preflight.reader import Reader, ReadFailed
from inferfab.preflight.report import Row, Status


class Resolver(Protocol):
    """Asks the public DNS."""

    def name_servers(self, zone: str) -> tuple[str, ...]:
        """Names of the servers that answer for a zone; empty if nobody does.

        :raises ReadFailed: if no resolver answers.
        """
        ...


def name_probes(fleet: FleetPlan, reader: Reader, resolver: Resolver) -> Iterator[Probe]:
    """One question; none without names."""
    zone = fleet.routing.zone
    if zone is None or fleet.ownership.accounts.aws is None:
        return
    do = f"aws route53 list-hosted-zones-by-name --dns-name {zone} --max-items 1"
    if fleet.ownership.accounts.aws.dns_role is not None:
        # The zone is another account's, and its role is not taken on here.
        yield Probe("dns", "account", f"zone {zone}", "delegated", _delegated(resolver, zone, None))
        return
    yield Probe("dns", "account", f"zone {zone}", "there, public, delegated", _zone(reader, resolver, zone), do)


def _row(zone: str, found: str, status: Status, do: str = "", what: str = "there, public, delegated") -> Row:
    return Row(area="dns", where="account", what=f"zone {zone}", needed=what, found=found, status=status, do=do)


def _zone(reader: Reader, resolver: Resolver, zone: str) -> Callable[[Seen], list[Row]]:
    def ask(seen: Seen) -> list[Row]:
        listed = reader.read("route53", "ListHostedZonesByName", DNSName=zone).get("HostedZones", [])
        named = [z for z in listed if str(z["Name"]).rstrip(".") == zone]
        public = [z for z in named if not z.get("Config", {}).get("PrivateZone")]
        if not public:
            found = "only a private zone has the name" if named else "there is none in this account"
            do = (
                f"aws route53 create-hosted-zone --name {zone} --caller-reference {zone}-1, then delegate it; or write "
            )
            return [_row(zone, found, "missing", f"{do}`routing.zone`, or `accounts.aws.dns_role` for another account")]
        if len(public) > 1:
            return [
                _row(zone, f"{len(public)} public zones have the name", "missing", "delete those that are not used")
            ]
        given = reader.read("route53", "GetHostedZone", Id=public[0]["Id"])
        servers = tuple(str(name) for name in given.get("DelegationSet", {}).get("NameServers", []))
        return _delegated(resolver, zone, servers)(seen)

    return ask


def _delegated(resolver: Resolver, zone: str, servers: tuple[str, ...] | None) -> Callable[[Seen], list[Row]]:
    needed = "there, public, delegated" if servers is not None else "delegated"

    def ask(_: Seen) -> list[Row]:
        try:
            answering = {name.rstrip(".").lower() for name in resolver.name_servers(zone)}
        except ReadFailed as error:
            return [_row(zone, f"in Route 53; {error}", "unknown", f"dig +short NS {zone}", needed)]
        ours = {name.rstrip(".").lower() for name in servers or ()}
        if not answering:
            do = f"enter NS records for {zone} in its parent zone: {', '.join(sorted(ours))}" if ours else "delegate it"
            return [_row(zone, "the world does not find it", "missing", do, needed)]
        if servers is not None and not answering & ours:
            do = f"enter these in the parent zone: {', '.join(sorted(ours))}"
            return [_row(zone, f"others answer for it: {', '.join(sorted(answering))}", "missing", do, needed)]
        return [_row(zone, f"{len(answering)} name servers answer", "ok", "", needed)]

    return ask
