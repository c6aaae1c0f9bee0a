"""Whether an update finds room: of nodes that are counted exactly, and of pods that hold their GPUs."""

from collections.abc import Iterator

from inferfab.checks.facts import Facts
from inferfab.checks.registry import Problem, rule


@rule(
    "IF-PLC-012",
    "a roll-out without room",
    severity="warning",
    joins=("cloud", "cluster", "pod", "promise"),
    why="where capacity is counted exactly no new node or pod can start before an old one stops: an update takes "
    "workers away first, and a role of which all stand on one node has none meanwhile.",
    do="spread each role over two nodes or more, keep a spare one, or let other cells take the traffic.",
    source="EKS: managed node group update strategies (MINIMAL stops first); hashicorp/terraform-provider-aws#41442; "
    "Kubernetes: Deployment rolling update (25 % each by default; surge rounds up, unavailable down)",
)
def updates_leave_workers(facts: Facts) -> Iterator[Problem]:
    seen: set[tuple[str, str]] = set()
    cells_of = {pool.name: sum(p.name == pool.name for p in facts.fleet.pools) for pool in facts.fleet.pools}
    for at in facts.roles():
        fixed = at.group.capacity.kind in ("reservation", "capacity_block")
        nodes = at.group.nodes.desired
        one = nodes > 0 and nodes <= at.group.nodes_per_worker
        if not (fixed and one and at.tier.promises) or (at.pool.name, at.role.role) in seen:
            continue
        seen.add((at.pool.name, at.role.role))
        others = cells_of[at.pool.name] - 1
        elsewhere = others > 0 and at.tier.spill != "never"
        yield Problem(
            at.replicas_path(facts),
            f"all workers of {at.where} stand on {nodes} reserved node(s), and an update stops them before it starts "
            "others" + (f"; {others} other cell(s) serve `{at.tier.name}` meanwhile" if elsewhere else ""),
            "plan workers for two nodes, or drain the cell's traffic before an update",
            severity="info" if elsewhere else None,
        )
