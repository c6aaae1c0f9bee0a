"""Whether a network holds what is planned: addresses, zones, ways out."""

import ipaddress
from collections.abc import Iterator

from inferfab.catalog.regions import regions
from inferfab.checks.facts import Facts
from inferfab.checks.networks import WIDEST
from inferfab.checks.registry import Problem, rule
from inferfab.environment.cells import NewNetwork
from inferfab.plan.network import second_zone

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
    why="the platform's charts and images come from public registries, which such a cell does not reach.",
    do="fill a registry of your own (`inferfab images ENV --mirror-script FILE`) and name it in `images.mirror`, or "
    "use `egress: nat`.",
    source="the platform stack; registries of the charts in the catalog",
)
def charts_are_reached(facts: Facts) -> Iterator[Problem]:
    for name, cell in facts.environment.cells.items():
        mirrored = facts.environment.images.mirror is not None
        if isinstance(cell.network, NewNetwork) and cell.network.egress == "none" and not mirrored:
            yield Problem(
                ("cells", name, "network", "egress"),
                f"the platform stack of `{name}` cannot be installed without a mirror of its charts and images; its "
                "foundation can",
                "name a registry of your own in `images.mirror`, or write `egress: nat`",
            )
