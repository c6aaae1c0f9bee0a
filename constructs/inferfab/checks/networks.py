"""Address ranges: whether they are some, of the right size, apart, and a cell's to have."""

import ipaddress
from collections.abc import Iterator
from itertools import combinations

from inferfab.checks.facts import Facts
from inferfab.checks.registry import Problem, rule
from inferfab.findings import YamlPath, dotted

WIDEST, NARROWEST = 16, 20


def ranges(facts: Facts) -> list[tuple[YamlPath, str]]:
    """Every address range of the file with its place."""
    environment = facts.environment
    found: list[tuple[YamlPath, str]] = []
    for name, cell in environment.cells.items():
        found.append((("cells", name, "network", "cidr"), cell.network.cidr))
        if cell.fabric and cell.fabric.kind == "roce" and cell.fabric.rdma_cidr:
            found.append((("cells", name, "fabric", "rdma_cidr"), cell.fabric.rdma_cidr))
    for kind in ("storage", "training"):
        for position, cidr in enumerate(getattr(environment.kept_apart, kind)):
            found.append((("kept_apart", kind, position), cidr))
    access = environment.access
    field = "runner_cidrs" if access.kind == "private" else "allowed_cidrs"
    for position, cidr in enumerate(access.runner_cidrs if access.kind == "private" else access.allowed_cidrs):
        found.append((("access", field, position), cidr))
    return found


def parsed(cidr: str) -> ipaddress.IPv4Network | None:
    try:
        return ipaddress.IPv4Network(cidr)
    except ValueError:
        return None


@rule(
    "IF-NET-001",
    "not an address range",
    stage="reference",
    joins=("environment", "cloud"),
    why="subnets are cut from it.",
    do="write an IPv4 range whose host bits are zero, like 10.20.0.0/16.",
    source="RFC 4632",
)
def ranges_parse(facts: Facts) -> Iterator[Problem]:
    for path, cidr in ranges(facts):
        if parsed(cidr) is None:
            try:
                fix = f"did you mean {ipaddress.IPv4Network(cidr, strict=False)}?"
            except ValueError:
                fix = "each part lies between 0 and 255, the prefix between 0 and 32"
            yield Problem(path, f"`{cidr}` is not an IPv4 range", fix)


@rule(
    "IF-NET-002",
    "a range of the wrong size",
    stage="reference",
    joins=("environment", "cloud"),
    why="a VPC takes /16 at most, and below /20 the subnets of a cell do not fit.",
    do="use /16 to /20.",
    source="Amazon VPC: VPC CIDR blocks; our subnet plan",
)
def ranges_sized(facts: Facts) -> Iterator[Problem]:
    for name, cell in facts.environment.cells.items():
        network = parsed(cell.network.cidr)
        if cell.network.kind == "new" and network and not WIDEST <= network.prefixlen <= NARROWEST:
            yield Problem(
                ("cells", name, "network", "cidr"),
                f"/{network.prefixlen} is not between /{WIDEST} and /{NARROWEST}",
                f"use /{WIDEST}",
            )
        rdma = (
            parsed(cell.fabric.rdma_cidr)
            if cell.fabric and cell.fabric.kind == "roce" and cell.fabric.rdma_cidr
            else None
        )
        if rdma and rdma.prefixlen > 26:
            yield Problem(
                ("cells", name, "fabric", "rdma_cidr"),
                f"/{rdma.prefixlen} is too small for 8 subnets",
                "use /24 or wider",
            )


@rule(
    "IF-NET-003",
    "overlapping ranges",
    stage="reference",
    joins=("environment", "cloud", "fabric"),
    why="cells are peered and requests spill between them; with overlapping ranges neither can be routed, and "
    "storage or "
    "training traffic could not be told from inference traffic.",
    do="give each a range of its own.",
    source="Amazon VPC peering: overlapping CIDR blocks",
)
def ranges_apart(facts: Facts) -> Iterator[Problem]:
    known = [(path, network) for path, cidr in ranges(facts) if path[0] != "access" and (network := parsed(cidr))]
    known.sort(key=lambda item: (int(item[1].network_address), item[1].prefixlen))
    reported: set[YamlPath] = set()
    for (path_a, a), (path_b, b) in combinations(known, 2):
        if int(b.network_address) > int(a.broadcast_address):
            continue
        if path_a[0] == path_b[0] == "kept_apart" or path_b in reported:
            continue
        upper_half = int(b.network_address) >= int(a.network_address) + a.num_addresses // 2
        if path_a[:2] == path_b[:2] and path_b[2] == "fabric" and upper_half:
            continue  # a cell's own upper half is where its RDMA subnets belong
        reported.add(path_b)
        yield Problem(path_b, f"{b} overlaps {a} of `{dotted(path_a)}`", f"choose a range outside {a}")


_NOWHERE = {
    "0.0.0.0/8": "this network (RFC 1122)",
    "127.0.0.0/8": "loopback (RFC 1122)",
    "169.254.0.0/16": "link-local (RFC 3927)",
    "224.0.0.0/4": "multicast (RFC 5771)",
    "240.0.0.0/4": "reserved (RFC 1112)",
}
"""Ranges that no network of ours can have, and what they are."""


_PRIVATE = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "198.18.0.0/15")
"""RFC 1918, RFC 6598 and RFC 2544: addresses that nobody on the internet has."""


@rule(
    "IF-NET-006",
    "a range that is not a cell's to have",
    stage="reference",
    joins=("environment", "cloud"),
    why="loopback, link-local and multicast addresses never leave a host or have no single one; public addresses "
    "belong to somebody, whom the cell could then not reach.",
    do="take a range from 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 or 100.64.0.0/10.",
    source="RFC 1918, RFC 6598; Amazon VPC: VPC CIDR blocks; Google Cloud VPC: valid ranges",
)
def ranges_usable(facts: Facts) -> Iterator[Problem]:
    private = [ipaddress.IPv4Network(cidr) for cidr in _PRIVATE]
    for path, cidr in ranges(facts):
        network = parsed(cidr)
        if path[0] != "cells" or network is None:
            continue
        known = next((c for c in _NOWHERE if network.overlaps(ipaddress.IPv4Network(c))), None)
        if known is not None:
            yield Problem(path, f"{cidr} lies in {known}, {_NOWHERE[known]}", "use a private range like 10.20.0.0/16")
        elif not any(network.subnet_of(each) for each in private):
            yield Problem(
                path,
                f"{cidr} holds public addresses",
                "use a private range like 10.20.0.0/16, or keep it if these addresses are yours",
                severity="warning",
            )
