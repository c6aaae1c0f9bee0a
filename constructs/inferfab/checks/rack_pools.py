"""Owned racks: whether the pools fit on what stands there."""

from collections.abc import Iterator

from inferfab.catalog.instances import instances
from inferfab.checks.facts import Facts
from inferfab.checks.racks import inventories
from inferfab.checks.registry import Problem, rule
from inferfab.findings import YamlPath

_SELF = "inferfab's environment format"


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
