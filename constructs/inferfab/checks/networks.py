"""Address ranges and access."""

import ipaddress
from collections.abc import Iterator
from itertools import combinations

from inferfab.catalog.regions import regions
from inferfab.checks.facts import Facts
from inferfab.checks.registry import Problem, rule
from inferfab.checks.remedies import at_least, at_most, plain
from inferfab.environment.cells import NewNetwork
from inferfab.findings import YamlPath, dotted
from inferfab.plan.network import second_zone

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


@rule(
    "IF-NET-004",
    "shares of traffic that do not add up",
    stage="reference",
    joins=("environment",),
    why="requests beyond 100 % go nowhere, and below it some cells would be idle without anybody having said so.",
    do="make the shares add up to 1, or leave some out to share the rest.",
    source="inferfab's environment format",
)
def shares_add_up(facts: Facts) -> Iterator[Problem]:
    cells = facts.environment.cells
    if len(cells) != len(facts.loaded.declared["cells"]):
        return
    stated = [c.traffic_share for c in cells.values() if c.traffic_share is not None]
    total = sum(stated)
    last = next((n for n in reversed(cells) if cells[n].traffic_share is not None), None)
    if last is None:
        return
    path = ("cells", last, "traffic_share")
    if total > 1 + 1e-9:
        yield Problem(
            path,
            f"the shares add up to {plain(round(total, 9))}",
            f"take {at_least(total - 1, 9)} away",
            value=f"{total:g}",
        )
    elif len(stated) == len(cells) and total < 1 - 1e-9:
        yield Problem(
            path, f"the shares add up to {plain(round(total, 9))}", f"add {at_most(1 - total, 9)}", value=f"{total:g}"
        )
    elif len(stated) < len(cells) and total > 1 - 1e-9:
        silent = ", ".join(f"`{name}`" for name, cell in cells.items() if cell.traffic_share is None)
        yield Problem(
            path,
            f"the shares add up to 1, and nothing is left for {silent}",
            "take something away, or write `traffic_share: 0` there",
            value=f"{total:g}",
            severity="warning",
        )


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


_PODS_BESIDE = 20
"""Pods of daemons on a GPU node, as for IF-PLC-008; those on the host's network need no address."""
_PREFIX = 16
"""Addresses that the VPC CNI takes at a time with prefix delegation."""
_RESERVED = 5
"""Addresses that AWS keeps of each subnet; Google keeps four."""


@rule(
    "IF-NET-007",
    "more nodes than addresses",
    joins=("environment", "cloud", "cluster"),
    why="a node without an address does not start, and pods without one stay pending.",
    do="give the cell a wider range, or lower the `max` of its pools.",
    source="amazon-vpc-cni-k8s: prefix delegation takes /28 prefixes, one kept warm; VPC subnets: five reserved",
)
def addresses_suffice(facts: Facts) -> Iterator[Problem]:
    for cell in facts.fleet.cells:
        subnet = next((s for s in cell.network.subnets if s.purpose == "inference"), None)
        if subnet is None or cell.racks is not None:  # racks have addresses of their own
            continue
        nodes = sum(g.nodes.max for g in cell.node_groups)
        whole = ipaddress.IPv4Network(cell.network.cidr)
        part = ipaddress.IPv4Network(subnet.cidr)
        pods = _PODS_BESIDE + max((g.workers_per_node for g in cell.node_groups), default=0)
        if cell.cloud == "aws":
            least = _RESERVED + nodes * (1 + _PREFIX)
            usual = _RESERVED + nodes * (1 + _PREFIX * (-(-pods // _PREFIX) + 1))
        else:
            least = usual = _RESERVED + nodes  # pods have ranges of their own
        if part.num_addresses >= usual:
            continue
        quarter = part.prefixlen - whole.prefixlen
        wider = next((p for p in range(whole.prefixlen - 1, WIDEST - 1, -1) if 2 ** (32 - p - quarter) >= usual), None)
        yield Problem(
            ("cells", cell.name, "network", "cidr"),
            f"{nodes} nodes at the maximum take {usual:,} addresses (at least {least:,}), and the GPU subnet {part} "
            f"has {part.num_addresses:,}",
            f"use /{wider}, or lower `max` of the pools" if wider is not None else "lower `max`, or spread over cells",
            severity="error" if part.num_addresses < least else "warning",
        )


@rule(
    "IF-NET-010",
    "a control plane in one zone",
    stage="reference",
    joins=("environment", "cloud", "cluster"),
    why="EKS makes no cluster without subnets in two zones of its region.",
    do="write another zone of the region as `network.second_zone`.",
    source="Amazon EKS user guide: VPC and subnet requirements",
)
def control_planes_have_two_zones(facts: Facts) -> Iterator[Problem]:
    for name, cell in facts.environment.cells.items():
        region = regions().get(f"{cell.cloud}:{cell.region}")
        if region is None or not isinstance(cell.network, NewNetwork):
            continue
        stated, path = cell.network.second_zone, ("cells", name, "network", "second_zone")
        others = [zone for zone in region.zones if zone != cell.zone]
        if cell.cloud != "aws":
            if stated is not None:
                yield Problem(
                    path, f"only EKS wants a second zone like `{stated}`", "remove it", severity="warning", of_key=True
                )
        elif second_zone(cell) == cell.zone:
            what = f"`{cell.zone}` is the cell's own zone"
            if stated is None:
                what = f"the catalog knows no other zone of {cell.region} than `{cell.zone}`"
            yield Problem(path, what, f"write {' or '.join(others)}" if others else "write another zone of the region")
        elif stated is not None and stated not in others:
            here = stated.startswith(cell.region)
            yield Problem(
                path,
                f"the catalog has no zone `{stated}` in {cell.region}",
                f"write {' or '.join(others)}" + (", or keep it if your account has it" if here else ""),
                severity="warning" if here else "error",
            )


@rule(
    "IF-NET-011",
    "a cell without a way to the charts",
    severity="warning",
    stage="reference",
    joins=("environment", "cloud", "cluster"),
    why="the platform's charts and images come from public registries, and nothing here fills a mirror of them yet.",
    do="use `egress: nat`, or keep a mirror of your own and install the platform from it.",
    source="the platform stack; registries of the charts in the catalog",
)
def charts_are_reached(facts: Facts) -> Iterator[Problem]:
    for name, cell in facts.environment.cells.items():
        if isinstance(cell.network, NewNetwork) and cell.network.egress == "none":
            yield Problem(
                ("cells", name, "network", "egress"),
                f"the platform stack of `{name}` cannot be installed without a mirror of its charts and images; its "
                "foundation can",
                "write `egress: nat`, unless you have a mirror",
            )


@rule(
    "IF-NET-005",
    "clusters open to everybody",
    stage="reference",
    joins=("environment", "cloud", "cluster"),
    why="a Kubernetes endpoint that the whole internet reaches needs only one leaked credential.",
    do="name the ranges of your runners, or use `kind: private`.",
    source="EKS best practices: cluster endpoint access",
)
def endpoint_not_open(facts: Facts) -> Iterator[Problem]:
    access = facts.environment.access
    if access.kind != "public":
        return
    for position, cidr in enumerate(access.allowed_cidrs):
        network = parsed(cidr)
        if network and network.prefixlen < 8:
            yield Problem(
                ("access", "allowed_cidrs", position),
                f"{cidr} is (nearly) the whole internet",
                "name the ranges of your runners",
            )


@rule(
    "IF-NET-008",
    "a cluster that is there in a network that is not",
    joins=("environment", "cloud", "cluster"),
    why="nodes join a cluster only from a network that reaches its endpoint and its pods; a new network is joined to "
    "nothing, and on AWS a node group takes subnets of the cluster's own VPC only.",
    do="name the cluster's network with `kind: existing`, or let a new cluster be made.",
    source="EKS API reference: CreateNodegroup, subnets; GKE: node pools use their cluster's network",
)
def clusters_in_their_network(facts: Facts) -> Iterator[Problem]:
    for name, cell in facts.environment.cells.items():
        if cell.cluster.existing is not None and cell.network.kind == "new":
            yield Problem(
                ("cells", name, "network", "kind"),
                f"cluster `{cell.cluster.existing}` is there already, and its network is not this new one",
                "name the cluster's network and subnets under `kind: existing`, or remove `cluster.existing`",
            )


@rule(
    "IF-NET-009",
    "a private entrance under public names",
    joins=("environment", "cloud"),
    why="the zone is public, so its records would tell everybody addresses inside the network, and nobody outside "
    "could use them; a private hosted zone is not supported yet.",
    do="make the gateways public, or leave `routing` out and use the load balancers' own names.",
    source="Route 53 developer guide: alias records to internal load balancers; working with private hosted zones",
)
def names_are_reachable(facts: Facts) -> Iterator[Problem]:
    if facts.environment.routing is None:
        return
    for name, cell in facts.environment.cells.items():
        if cell.cloud == "aws" and not cell.gateways.public:
            yield Problem(
                ("cells", name, "gateways", "public"),
                "the load balancer would be internal, and `routing` puts its addresses into a public zone",
                "write `public: true`, or leave `routing` out: a private hosted zone is not supported yet",
                value="false",
            )
        elif cell.cloud == "aws" and cell.network.kind == "existing" and not cell.network.public_subnet_ids:
            yield Problem(
                ("cells", name, "network"),
                "without `public_subnet_ids` the load balancer is internal, and `routing` puts its addresses into a "
                "public zone",
                "name `public_subnet_ids`, or leave `routing` out: a private hosted zone is not supported yet",
                of_key=True,
            )
