"""Owned racks: whether the inventory can be what stands there, and whether the pools fit on it."""

import ipaddress
from collections import Counter
from collections.abc import Iterator

from inferfab.catalog.instances import instances
from inferfab.catalog.nics import nics
from inferfab.catalog.switches import platforms, switch_file
from inferfab.checks.facts import Facts
from inferfab.checks.registry import Problem, rule
from inferfab.environment.problems import meant
from inferfab.environment.racks import Racks
from inferfab.findings import YamlPath
from inferfab.plan.racks.cables import cabling

_SELF = "inferfab's environment format"


def inventories(facts: Facts) -> Iterator[tuple[str, Racks]]:
    """(cell, its racks)"""
    for name, cell in facts.environment.cells.items():
        if cell.racks is not None:
            yield name, cell.racks


def at(cell: str, *more: str | int) -> YamlPath:
    return ("cells", cell, "racks", *more)


def cables(racks: Racks) -> Iterator[tuple[str, str, int]]:
    """(rack, server, position of a cable entry)"""
    for rack, each in racks.racks.items():
        for server, wired in each.servers.items():
            for position in range(len(wired.cables)):
                yield rack, server, position


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
    "IF-RCK-002",
    "a server model that the catalog does not have",
    stage="reference",
    joins=("environment", "cloud"),
    why="GPUs, memory and rails of every server follow from it.",
    do="use a model of the catalog; a new one is a catalog entry.",
    source="catalog, racks_instances.json",
)
def server_model_known(facts: Facts) -> Iterator[Problem]:
    known = instances("racks")
    for name, racks in inventories(facts):
        if racks.machine not in known:
            yield Problem(
                at(name, "machine"), f"the catalog has no server `{racks.machine}`", meant(racks.machine, list(known))
            )


@rule(
    "IF-RCK-003",
    "a cable to a leaf that is not there",
    stage="reference",
    joins=("environment", "fabric"),
    why="its port would be configured on no switch, and its NIC would drop packets instead of pausing.",
    do="declare the leaf, or correct the name.",
    source=_SELF,
)
def cables_end_somewhere(facts: Facts) -> Iterator[Problem]:
    for name, racks in inventories(facts):
        for rack, server, position in cables(racks):
            leaf = racks.racks[rack].servers[server].cables[position].leaf
            if leaf not in racks.leaves:
                yield Problem(
                    at(name, "racks", rack, "servers", server, "cables", position, "leaf"),
                    f"there is no leaf `{leaf}` under `leaves`",
                    meant(leaf, list(racks.leaves)),
                )


@rule(
    "IF-RCK-004",
    "something that stands in two places",
    stage="reference",
    joins=("environment", "fabric"),
    why="a port takes one cable, and a node has one name; one of the two entries is wrong.",
    do="correct one of them.",
    source=_SELF,
)
def everything_once(facts: Facts) -> Iterator[Problem]:
    for name, racks in inventories(facts):
        taken: dict[tuple[str, str], str] = {}
        for leaf, each in racks.leaves.items():
            for port in each.uplinks.ports if each.uplinks else ():
                if (leaf, port) in taken:
                    path = at(name, "leaves", leaf, "uplinks", "ports")
                    yield Problem(path, f"{port} is an uplink twice", "name it once", value=port)
                taken[leaf, port] = "an uplink"
        for rack, server, position in cables(racks):
            cable = racks.racks[rack].servers[server].cables[position]
            for n, port in enumerate(cable.ports):
                first = taken.setdefault((cable.leaf, port), f"`{server}`")
                if first != f"`{server}`" or cable.ports.index(port) != n:
                    yield Problem(
                        at(name, "racks", rack, "servers", server, "cables", position, "ports", n),
                        f"{port} of {cable.leaf} is taken by {first} already",
                        "name the port that this cable is in",
                    )
        servers = Counter(server for each in racks.racks.values() for server in each.servers)
        for rack, standing in reversed(racks.racks.items()):
            for server in standing.servers:
                if servers[server] > 1:
                    servers[server] = 0
                    yield Problem(
                        at(name, "racks", rack, "servers", server),
                        f"server `{server}` stands in another rack, too",
                        "give each server its own host name",
                        of_key=True,
                    )


@rule(
    "IF-RCK-005",
    "a server with more or fewer cables than rails",
    stage="reference",
    joins=("environment", "fabric", "pod"),
    why="pods take every rail of a server; one without a cable makes UCX fail or fall to the others, and the networks "
    "of all servers are the same.",
    do="name one port for each NIC beside a GPU, in their order.",
    source="catalog, racks_instances.json",
)
def rails_are_cabled(facts: Facts) -> Iterator[Problem]:
    for name, racks in inventories(facts):
        machine = instances("racks").get(racks.machine)
        if machine is None:
            continue
        rails = machine.rdma_nic_count
        for server, wired in cabling(racks).items():
            if len(wired) != rails:
                rack = racks.servers[server][0]
                yield Problem(
                    at(name, "racks", rack, "servers", server, "cables"),
                    f"{len(wired)} ports for the {rails} rails of a {racks.machine}",
                    f"name {rails} ports",
                    of_key=True,
                )
        for field in ("interfaces", "devices", "pci_addresses"):
            stated = getattr(racks, field)
            if stated and (len(stated) != rails or len(set(stated)) != rails):
                yield Problem(
                    at(name, field),
                    f"{len(set(stated))} different names for {rails} rails",
                    f"name {rails}, in the order of the cables, or leave `{field}` out",
                    of_key=True,
                )


@rule(
    "IF-RCK-006",
    "a leaf that the catalog does not have",
    stage="reference",
    joins=("environment", "fabric"),
    why="how much a port must buffer after it has asked for a pause is a property of the switch; too little loses "
    "packets of a class that is meant to lose none.",
    do="use a platform of the catalog; a new one is a catalog entry, from its pg_profile_lookup.ini.",
    source="sonic-net/sonic-buildimage, device",
)
def leaf_known(facts: Facts) -> Iterator[Problem]:
    for name, racks in inventories(facts):
        for leaf, each in racks.leaves.items():
            if each.platform not in platforms():
                yield Problem(
                    at(name, "leaves", leaf, "platform"),
                    f"the catalog has no platform `{each.platform}`",
                    meant(each.platform, list(platforms())),
                )


@rule(
    "IF-RCK-007",
    "leaves that nothing joins",
    stage="reference",
    joins=("environment", "fabric"),
    why="a transfer may begin on any leaf and end on any other.",
    do="name the uplinks of each leaf, or plug all servers into one.",
    source=_SELF,
)
def leaves_are_joined(facts: Facts) -> Iterator[Problem]:
    for name, racks in inventories(facts):
        used = {leaf for wired in cabling(racks).values() for leaf, _, _ in wired}
        for leaf in racks.leaves:
            if leaf in used and len(used) > 1 and not _leads_up(racks, leaf):
                what = f"`{leaf}` has no uplinks, and there are {len(used)} leaves"
                yield Problem(at(name, "leaves", leaf), what, "add `uplinks`", of_key=True)


def _leads_up(racks: Racks, leaf: str) -> bool:
    uplinks = racks.leaves[leaf].uplinks
    return uplinks is not None and bool(uplinks.ports)


@rule(
    "IF-RCK-008",
    "a pool for other GPUs than the racks have",
    stage="reference",
    joins=("environment", "cloud"),
    why="all pools of the cell stand on its racks.",
    do="name the racks' GPU or server model, or place the pool in another cell.",
    source=_SELF,
)
def pools_fit_the_servers(facts: Facts) -> Iterator[Problem]:
    for name, racks in inventories(facts):
        machine = instances("racks").get(racks.machine)
        for pool_name in facts.environment.cells[name].pools if machine else ():
            pool = facts.environment.pools.get(pool_name)
            if pool is None or machine is None or machine.gpu == pool.gpu or machine.name == pool.instance:
                continue
            field = "instance" if pool.instance else "gpu"
            yield Problem(
                ("pools", pool_name, field),
                f"the racks of `{name}` have {machine.name} with {machine.gpu}",
                f"write `{machine.name if pool.instance else machine.gpu}`, or place the pool elsewhere",
            )


@rule(
    "IF-RCK-009",
    "more servers than stand in the racks",
    joins=("environment", "cloud", "pod"),
    why="nobody can start another one: pods beyond the last server stay pending, while the plan promises them.",
    do="lower `max`, or add the servers to the inventory.",
    source="arithmetic of the plan",
)
def servers_suffice(facts: Facts) -> Iterator[Problem]:
    for cell in facts.fleet.cells:
        if cell.racks is None:
            continue
        there, needed = len(cell.racks.servers), sum(g.nodes.max for g in cell.node_groups)
        if needed > there:
            parts = ", ".join(f"{g.name} {g.nodes.max}" for g in cell.node_groups)
            yield Problem(
                ("cells", cell.name, "pools"),
                f"the pools need {needed} servers at their largest ({parts}), the racks have {there}",
                f"lower replicas by {needed - there} server(s), or add servers",
                of_key=True,
            )


@rule(
    "IF-RCK-010",
    "buffers that no vendor's table gives",
    severity="warning",
    joins=("fabric", "promise"),
    why="the formula is a lower bound (3 to 14 % below NVIDIA's own tables for the SN5600); a port with too little "
    "buffer drops what it was meant to pause.",
    do="use a SKU of the catalog, or take the figures from the switch's own pg_profile_lookup.ini into the catalog.",
    source="sonic-net/sonic-swss cfgmgr/buffer_headroom_mellanox.lua",
)
def buffers_are_vendors(facts: Facts) -> Iterator[Problem]:
    for cell in facts.fleet.cells:
        for leaf in cell.racks.leaves if cell.racks else ():
            path = at(cell.name, "leaves", leaf.name, "hwsku")
            for buffer in leaf.buffers:
                if buffer.basis == "formula":
                    yield Problem(
                        path,
                        f"no table of {leaf.hwsku} has {buffer.gbps}G at {buffer.length_m:g} m: the formula gives "
                        f"{buffer.xoff:,} bytes",
                        f"use one of {', '.join(switch_file().skus)}, if the switch has it",
                    )
            for gbps in sorted({p.gbps for p in leaf.ports if leaf.buffer(p) is None}):
                yield Problem(
                    path,
                    f"neither table nor formula gives the buffer of {gbps}G on {leaf.hwsku}",
                    f"use one of {', '.join(switch_file().skus)}, if the switch has it",
                    severity="error",
                )


@rule(
    "IF-RCK-011",
    "a rail on several leaves",
    severity="warning",
    joins=("environment", "fabric"),
    why="each rail is one address range without a gateway: its leaves must then carry it between them at layer 2, and "
    "every transfer on it may cross their uplinks.",
    do="plug the same NIC of every server into the same leaf.",
    source="nv-ipam IPPool; rail-optimised cabling",
)
def rails_stay_on_a_leaf(facts: Facts) -> Iterator[Problem]:
    for name, racks in inventories(facts):
        wired = cabling(racks)
        for rail in range(max((len(each) for each in wired.values()), default=0)):
            leaves = {each[rail][0] for each in wired.values() if rail < len(each)}
            if len(leaves) > 1:
                yield Problem(
                    at(name, "racks"),
                    f"rail {rail} is on {' and '.join(sorted(leaves))}",
                    "name the ports of all servers in the same order of leaves",
                    of_key=True,
                )
                break


@rule(
    "IF-RCK-012",
    "settings that reach other NICs",
    severity="info",
    joins=("environment", "fabric"),
    why="without addresses the NIC settings go to every NIC of the model, those for storage and management too.",
    do="name the PCI addresses of the rails (`lspci -d 15b3:`).",
    source="NVIDIA NIC configuration operator: nicSelector",
)
def rails_are_told_apart(facts: Facts) -> Iterator[Problem]:
    for cell in facts.fleet.cells:
        if cell.racks is not None and any(rail.pci_address is None for rail in cell.racks.rails):
            yield Problem(
                at(cell.name),
                f"the settings go to every {nics()[cell.racks.nic].title} of the servers",
                "add `pci_addresses`",
                of_key=True,
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
    "IF-RCK-015",
    "a rack that must hold every role and does not",
    severity="warning",
    joins=("environment", "engine", "pod"),
    why="where decode must stay in the rack of its prefill, a request whose rack has no decode worker is answered with "
    "an error (HTTP 500); so it is planned as a preference.",
    do="give each role as many servers as there are racks, at `min` too.",
    source="NVIDIA Dynamo: kvTransferPolicy",
)
def required_locality_holds(facts: Facts) -> Iterator[Problem]:
    for cell in facts.fleet.cells:
        for pool in cell.pools if cell.racks else ():
            assert cell.racks is not None
            if pool.locality == "required" and pool.name not in cell.racks.complete_pools:
                yield Problem(
                    ("pools", pool.name, "locality"),
                    f"at their smallest, not every one of the {len(cell.racks.racks)} racks of {cell.name} holds both "
                    "roles: planned as `preferred`",
                    f"raise `min` so that each role has {len(cell.racks.racks)} servers or more",
                )


@rule(
    "IF-RCK-016",
    "a way to buy servers that are owned",
    severity="warning",
    stage="reference",
    joins=("environment", "cost"),
    why="servers in the racks are there already, so the capacity is read by nothing.",
    do="remove it; what a server costs is `racks.usd_per_server_hour`.",
    source=_SELF,
)
def owned_is_not_bought(facts: Facts) -> Iterator[Problem]:
    for name, _ in inventories(facts):
        for pool, here in facts.environment.cells[name].pools.items():
            if here is not None and here.capacity is not None:
                path: YamlPath = ("cells", name, "pools", pool, "capacity")
                yield Problem(path, f"`{here.capacity.kind}` on racks", "remove `capacity`", of_key=True)


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
