"""Owned racks: leaf switches, what they are and how they are joined."""

from collections.abc import Iterator

from inferfab.catalog.switches import platforms, switch_file
from inferfab.checks.facts import Facts
from inferfab.checks.racks import at, inventories
from inferfab.checks.registry import Problem, rule
from inferfab.environment.problems import meant
from inferfab.environment.racks import Racks
from inferfab.plan.racks.cables import cabling

_SELF = "inferfab's environment format"


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
