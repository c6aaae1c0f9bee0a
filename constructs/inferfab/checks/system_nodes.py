"""Nodes without GPUs: whether they hold what stands on them."""

import math
from collections.abc import Iterator

from inferfab.catalog.system_nodes import machine_size, system_node_facts
from inferfab.checks.facts import Facts
from inferfab.checks.registry import Problem, rule
from inferfab.plan.fleet import CellPlan

_Asked = tuple[float, float]
"""vCPUs and GiB."""


def _sum(parts: list[_Asked]) -> _Asked:
    return sum(cpu for cpu, _ in parts), sum(memory for _, memory in parts)


def _graph_pods(cell: CellPlan) -> list[_Asked]:
    """Frontends, routers and planners, each pod."""
    return [
        (part.cpu_millis / 1000, part.memory_request_bytes / 1024**3)
        for graph in cell.serving.graphs
        for part in graph.components
        if part.node_group is None
        for _ in range(part.replicas)
    ]


@rule(
    "IF-PLC-013",
    "system nodes that do not hold what stands on them",
    joins=("cloud", "cluster", "pod"),
    why="frontends, routers, planners, operators and Prometheus have no other nodes: some stay pending, and a pool "
    "without its frontend answers nothing; a graph that is replaced stands twice until the old one is drained.",
    do="add system nodes, or use a larger machine for them.",
    source="requests of the plan's components; allowances and machine families in the catalog's system_nodes.yaml",
)
def system_nodes_hold(facts: Facts) -> Iterator[Problem]:
    known = system_node_facts()
    for cell in facts.fleet.cells:
        size = machine_size(cell.cloud, cell.system_instance)
        if size is None:
            continue
        node = (size.cpu_millis - known.node.cpu_millis) / 1000, (size.memory_mib - known.node.memory_mib) / 1024
        graphs = _graph_pods(cell)
        servers = cell.observability.prometheus_replicas if cell.observability else 1
        others = [
            (each.cpu_millis / 1000, each.memory_mib / 1024)
            for name, each in known.pods.items()
            for _ in range(servers if name == "prometheus" else 1)
        ]
        gateway = known.gateway.cpu_millis / 1000, known.gateway.memory_mib / 1024
        always = [*graphs, *others, *([gateway] * cell.gateway.replicas)]
        largest = max(memory for _, memory in (*graphs, (0, known.pods["prometheus"].memory_mib / 1024)))
        if largest > node[1]:
            yield Problem(
                ("cells", cell.name, "system_nodes", "instance"),
                f"a pod of {largest:g} GiB fits no {cell.system_instance}, which has {node[1]:.1f} GiB to give",
                "use a machine with more memory",
            )
            continue
        needed = _nodes(_sum(always), node)
        twice = _nodes(_sum([*always, *graphs]), node)
        path = ("cells", cell.name, "system_nodes", "count")
        if needed > cell.system_nodes:
            yield Problem(path, _what(cell, _sum(always), node, "asks for"), f"write `count: {needed}` or more")
        elif twice > cell.system_nodes:
            yield Problem(
                path,
                _what(cell, _sum([*always, *graphs]), node, "with every graph twice asks for"),
                f"write `count: {twice}` before a change that replaces all of them, such as another engine pair",
                severity="info",
            )


def _nodes(asked: _Asked, node: _Asked) -> int:
    """Fewest nodes, if pods were grains: whole pods may need one more."""
    return max(math.ceil(part / each) for part, each in zip(asked, node, strict=True))


def _what(cell: CellPlan, asked: _Asked, node: _Asked, how: str) -> str:
    have = cell.system_nodes
    return (
        f"what stands on the system nodes of {cell.name} {how} {asked[0]:.1f} vCPUs and {asked[1]:.0f} GiB (operators "
        f"and Prometheus estimated), {have} x {cell.system_instance} give {have * node[0]:.1f} and {have * node[1]:.0f}"
    )
