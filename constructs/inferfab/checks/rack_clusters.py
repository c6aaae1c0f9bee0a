"""Owned racks: their cluster, their addresses, their credentials."""

import ipaddress
from collections.abc import Iterator

from inferfab.checks.facts import Facts
from inferfab.checks.racks import at, inventories
from inferfab.checks.registry import Problem, rule
from inferfab.findings import YamlPath

_SELF = "inferfab's environment format"


@rule(
    "IF-RCK-001",
    "racks in a cell that cannot have them",
    stage="reference",
    joins=("environment", "cloud"),
    why="servers join an EKS cluster as hybrid nodes; no other cluster takes them, and without RoCE there is no fabric "
    "to set up.",
    do="put the racks into a cell of `cloud: aws`, with `fabric: {kind: roce}` or without `fabric`.",
    source="Amazon EKS user guide: hybrid nodes",
)
def racks_have_a_cluster(facts: Facts) -> Iterator[Problem]:
    for name, _ in inventories(facts):
        cell = facts.environment.cells[name]
        if cell.cloud != "aws":
            yield Problem(at(name), f"cell `{name}` is in {cell.cloud}", "write `cloud: aws`", of_key=True)
        elif cell.fabric is not None and cell.fabric.kind == "tcp":
            yield Problem(
                ("cells", name, "fabric", "kind"), f"cell `{name}` has rails and a fabric of TCP", "write `kind: roce`"
            )


@rule(
    "IF-RCK-013",
    "ranges that cannot be routed",
    stage="reference",
    joins=("environment", "cloud", "fabric"),
    why="the VPC routes to servers and pods in the racks, so their ranges must be apart from its own and from each "
    "other's; EKS refuses others.",
    do="give each a range of its own.",
    source="Amazon EKS user guide: hybrid nodes networking",
)
def rack_ranges_apart(facts: Facts) -> Iterator[Problem]:
    known: list[tuple[YamlPath, ipaddress.IPv4Network]] = []
    for name, cell in facts.environment.cells.items():
        stated: list[tuple[YamlPath, str]] = [(("cells", name, "network", "cidr"), cell.network.cidr)]
        if cell.fabric is not None and cell.fabric.kind == "roce" and cell.fabric.rdma_cidr and cell.racks:
            stated.append((("cells", name, "fabric", "rdma_cidr"), cell.fabric.rdma_cidr))
        if cell.racks is not None:
            stated += [(at(name, "node_cidr"), cell.racks.node_cidr), (at(name, "pod_cidr"), cell.racks.pod_cidr)]
        for path, text in stated:
            try:
                network = ipaddress.IPv4Network(text)
            except ValueError:
                if path[2] == "racks":
                    yield Problem(path, f"`{text}` is not an IPv4 range", "write a range whose host bits are zero")
                continue
            other = next((where for where, one in known if one.overlaps(network)), None)
            if other is not None and "racks" in (path[2], other[2]):
                yield Problem(path, f"{text} overlaps `{'.'.join(str(p) for p in other)}`", "choose another range")
            known.append((path, network))


@rule(
    "IF-RCK-014",
    "rails with too few addresses",
    joins=("environment", "fabric", "pod"),
    why="each server sets a block of each rail's addresses aside for its pods; servers beyond the last block get none, "
    "and their pods do not start.",
    do="give `fabric.rdma_cidr` a wider range.",
    source="nv-ipam IPPool: perNodeBlockSize",
)
def rails_have_addresses(facts: Facts) -> Iterator[Problem]:
    for cell in facts.fleet.cells:
        if cell.racks is None:
            continue
        size = ipaddress.IPv4Network(cell.racks.rails[0].subnet).num_addresses
        blocks, servers = (size - 2) // cell.racks.addresses_per_node, len(cell.racks.servers)
        if blocks < servers:
            yield Problem(
                ("cells", cell.name, "fabric"),
                f"a rail's range {cell.racks.rails[0].subnet} has {blocks} blocks of {cell.racks.addresses_per_node} "
                f"addresses for {servers} servers",
                "write `rdma_cidr` with a shorter prefix, like 10.200.0.0/16",
                of_key=True,
            )


@rule(
    "IF-RCK-017",
    "racks beside a cluster that somebody else owns",
    stage="reference",
    joins=("environment", "cluster"),
    why="an EKS cluster must know the ranges of its hybrid nodes and pods, and we change nothing of a cluster that is "
    "not ours.",
    do="let us make the cluster.",
    source="Amazon EKS user guide: hybrid nodes, remote network configuration",
)
def racks_have_our_cluster(facts: Facts) -> Iterator[Problem]:
    for name, _ in inventories(facts):
        existing = facts.environment.cells[name].cluster.existing
        if existing is not None:
            path: YamlPath = ("cells", name, "cluster", "existing")
            yield Problem(path, f"cluster `{existing}` is not ours", "remove `existing`", of_key=True)


@rule(
    "IF-RCK-018",
    "servers without a way to their role",
    severity="info",
    joins=("environment", "cloud", "cluster"),
    why="a server joins with a certificate that IAM Roles Anywhere trusts; without the two ARNs its node configuration "
    "has a place to fill in, and does not join as it is.",
    do="make trust anchor and profile once an account, and name them under `racks.roles_anywhere`.",
    source="Amazon EKS user guide: prepare credentials for hybrid nodes",
)
def servers_have_credentials(facts: Facts) -> Iterator[Problem]:
    for cell in facts.fleet.cells:
        if cell.racks is not None and cell.racks.trust_anchor_arn is None:
            yield Problem(
                at(cell.name),
                f"the {len(cell.racks.servers)} servers of `{cell.name}` have no trust anchor",
                "add `roles_anywhere`",
                of_key=True,
            )
