"""Names that clouds and operators would cut or refuse."""

import re
from collections.abc import Iterator

from inferfab.catalog.limits import limit
from inferfab.checks.facts import Facts
from inferfab.checks.registry import Problem, rule
from inferfab.findings import YamlPath
from inferfab.plan.names import grove_length

_GENERATION = len("-g00")
"""Suffix that a node group gets when it is replaced beside the old one."""


@rule(
    "IF-NAM-001",
    "a name over its limit",
    joins=("environment", "cloud", "cluster"),
    why="the cloud refuses it, or an operator makes a name that Kubernetes refuses, and pods never appear "
    "(dynamo#4938).",
    do="shorten the name in the environment.",
    source="provider limits in the catalog; Dynamo admission: Grove name budget",
)
def names_fit(facts: Facts) -> Iterator[Problem]:
    # A name of the file is part of several; shortened for the one that is longest over its limit, all fit.
    worst: dict[YamlPath, tuple[int, Problem]] = {}
    for over, problem in _all_over(facts):
        if over > worst.get(problem.path, (0,))[0]:
            worst[problem.path] = (over, problem)
    yield from (problem for _, problem in worst.values())


def _all_over(facts: Facts) -> Iterator[tuple[int, Problem]]:
    for cell in facts.fleet.cells:
        aws = cell.cloud == "aws"
        yield from _over(
            cell.cluster,
            len(cell.cluster),
            "eks_cluster_name_length" if aws else "gke_cluster_name_length",
            "cluster",
            ("cells", cell.name, "cluster", "existing") if cell.cluster_exists else ("cells", cell.name),
            of_key=not cell.cluster_exists,
        )
        if cell.aws is not None:
            prefix = cell.aws.prefix
            what = "beginning of AWS names"
            yield from _over(prefix, len(prefix), "aws_name_prefix_length", what, ("cells", cell.name))
        for pool in cell.pools:
            path: YamlPath = ("pools", pool.name)
            group = max((g.name for g in cell.node_groups if g.pool == pool.name), key=len)
            yield from _over(
                group,
                len(group) + _GENERATION,
                "eks_node_group_name_length" if aws else "gke_node_pool_name_length",
                "node group with generation suffix",
                path,
            )
        for graph in cell.serving.graphs:
            lengths = {c.name: grove_length(graph.name, c.name, multinode=c.nodes > 1) for c in graph.components}
            component = max(lengths, key=lambda name: lengths[name])
            path = ("pools", graph.pool) if graph.pool else ("models", graph.model)
            name = f"{graph.name} + {component}"
            yield from _over(name, lengths[component], "grove_name_budget", "Grove name", path)


def _over(
    name: str, length: int, which: str, what: str, path: YamlPath, *, of_key: bool = True
) -> Iterator[tuple[int, Problem]]:
    most = limit(which)
    if length > most:
        problem = Problem(
            path,
            f"the {what} `{name}` has {length} characters, {most} are allowed",
            f"shorten `{path[-1]}` by {length - most}",
            of_key=of_key,
        )
        yield length - most, problem


@rule(
    "IF-NAM-002",
    "one cluster for two cells",
    joins=("environment", "cluster"),
    why="a cell is one cluster, so that an upgrade or a fault in one leaves the others alone.",
    do="give each cell a cluster of its own.",
    source="the definition of a cell",
)
def one_cluster_a_cell(facts: Facts) -> Iterator[Problem]:
    first: dict[tuple[str, str, str], str] = {}
    for cell in facts.fleet.cells:
        key = (cell.cloud, cell.region, cell.cluster)
        if key in first:
            yield Problem(
                ("cells", cell.name, "cluster", "existing"),
                f"cell `{first[key]}` uses cluster `{cell.cluster}` too",
                "name another cluster",
            )
        first.setdefault(key, cell.name)


@rule(
    "IF-NAM-003",
    "two node groups of one name",
    joins=("environment", "cloud", "cluster"),
    why="a disaggregated pool `chat` makes the groups `chat-prefill` and `chat-decode`; a pool of such a name "
    "claims one of them.",
    do="rename one of the pools.",
    source="names of the plan",
)
def node_groups_differ(facts: Facts) -> Iterator[Problem]:
    for cell in facts.fleet.cells:
        first: dict[str, str] = {}
        for group in cell.node_groups:
            if group.name in first and first[group.name] != group.pool:
                yield Problem(
                    ("pools", group.pool),
                    f"pools `{first[group.name]}` and `{group.pool}` both make a node group `{group.name}` "
                    f"in {cell.name}",
                    f"rename `{group.pool}`",
                    of_key=True,
                )
            first.setdefault(group.name, group.pool)


@rule(
    "IF-NAM-006",
    "pods of one pool that look like another's",
    joins=("environment", "cluster", "cost"),
    why="a graph's name ends in six hexadecimal digits, and Prometheus finds a pool's pods by that form, so that a new "
    "graph beside the old one counts too: the pool would take the other's workers and demand for its own.",
    do="rename one of the pools.",
    source="names of the plan: `<pool>-[0-9a-f]{6}-` in rules for scaling, free capacity, and verify",
)
def pods_told_apart(facts: Facts) -> Iterator[Problem]:
    seen: set[tuple[YamlPath, str]] = set()
    for cell in facts.fleet.cells:
        graphs, lanes = cell.serving.graphs, cell.serving.lanes
        forms = [(g.name, g.pods_regex, f"`{g.route}-`, then six of 0-9 and a-f") for g in graphs]
        forms += [(lane.name, re.escape(lane.name), f"`{lane.name}`") for lane in lanes]
        owners = [(g.name, g.pool, g.model) for g in graphs] + [(lane.name, lane.pool, "") for lane in lanes]
        for taker, form, words in forms:
            for name, pool, model in owners:
                path: YamlPath = ("pools", pool) if pool else ("models", model)
                if name == taker or (path, taker) in seen or not re.match(f"{form}-", f"{name}-"):
                    continue
                seen.add((path, taker))
                yield Problem(
                    path,
                    f"pods `{name}-…` of `{path[-1]}` begin as those of `{taker}` do in {cell.name}: {words}",
                    f"rename `{path[-1]}`, so that it begins otherwise",
                    of_key=True,
                )
