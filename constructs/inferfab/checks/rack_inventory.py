"""Owned racks: whether the inventory can be what stands there."""

from collections import Counter
from collections.abc import Iterator

from inferfab.catalog.instances import instances
from inferfab.catalog.nics import nics
from inferfab.checks.facts import Facts
from inferfab.checks.racks import at, cables, inventories
from inferfab.checks.registry import Problem, rule
from inferfab.environment.problems import meant
from inferfab.plan.racks.cables import cabling

_SELF = "inferfab's environment format"


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
