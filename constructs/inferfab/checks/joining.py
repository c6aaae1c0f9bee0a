"""Graphs of a cell beside each other: tiers of one model, places, claims, names."""

from collections.abc import Iterator

from inferfab.checks.facts import Facts
from inferfab.checks.registry import Problem, rule
from inferfab.findings import Severity
from inferfab.plan.fleet import CellPlan
from inferfab.plan.pools import PoolPlan
from inferfab.plan.serving.claims import MOST_DEVICES
from inferfab.plan.serving.graphs import locality_label


@rule(
    "IF-SRV-001",
    "two tiers of a model that cannot hand over to each other",
    joins=("engine", "promise"),
    why="the router over tiers chooses prefill by TTFT and decode by ITL, each on its own, so a request that states "
    "only one of them goes from one tier's prefill to another tier's decode, and its handshake fails.",
    do="give the pools equal tensor parallelism and block size, or sell the tiers as two models.",
    source="dynamo/global_router/handler.py of ai-dynamo 1.6.1; vllm/.../kv_connector/v1/nixl (tensor parallelism and "
    "block sizes of prefill and decode)",
)
def tiers_hand_over(facts: Facts) -> Iterator[Problem]:
    said = set()
    for cell in facts.fleet.cells:
        for pools in _routed(cell):
            for first in pools:
                for second in pools:
                    why = _cannot(facts, first, second)
                    if first.name != second.name and why and (first.name, second.name) not in said:
                        said.add((first.name, second.name))
                        yield Problem(
                            ("pools", first.name, "prefill", "tensor_parallel"),
                            f"prefill of `{first.name}` cannot hand over to decode of `{second.name}`: {why}",
                            f"use the tensor_parallel and block_tokens of `{second.name}`",
                        )


def _routed(cell: CellPlan) -> Iterator[list[PoolPlan]]:
    """Disaggregated pools behind one router."""
    pools = {p.name: p for p in cell.pools}
    for graph in cell.serving.graphs:
        if graph.global_router is not None and graph.global_router.mode == "disagg":
            yield [pools[target.pool] for target in graph.global_router.targets]


def _in_one_place(cell: CellPlan, pool: str) -> bool:
    """All nodes are known, before launch, to share the deepest network node: no place can lack a role."""
    known = cell.locality.before_launch if cell.locality else ()
    return any(each.pool == pool and each.layer == each.layers for each in known)


def _cannot(facts: Facts, first: PoolPlan, second: PoolPlan) -> str:
    prefill, decode = first.role("prefill"), second.role("decode")
    here, there = prefill.parallelism.tensor, decode.parallelism.tensor
    blocks = prefill.engine.block_tokens, decode.engine.block_tokens
    if prefill.fabric.kind != decode.fabric.kind:
        return f"one is on {prefill.fabric.kind}, the other on {decode.fabric.kind}"
    if facts.model(first.models[0]).kv_precision == "nvfp4" and here != there:
        return f"an NVFP4 cache needs equal tensor parallelism, and theirs is {here} and {there}"
    if blocks[0] > blocks[1]:
        return f"its blocks of {blocks[0]} tokens are larger than {blocks[1]}"
    if here > there and blocks[0] != blocks[1]:
        return f"from {here} GPUs to {there} the blocks must be equal, and they are {blocks[0]} and {blocks[1]}"
    return ""


@rule(
    "IF-SRV-002",
    "tiers of a model that no router joins",
    severity="warning",
    joins=("engine", "promise"),
    why="each tier then answers under its own frontends only, so nothing but the name that a client calls decides "
    "which tier serves it, and one tier cannot take another's requests by priority.",
    do="give all pools of the model one topology, one pool a tier, and no adapters.",
    source="dynamo/global_router/pool_selection.py of ai-dynamo 1.6.1 (modes agg and disagg)",
)
def tiers_are_joined(facts: Facts) -> Iterator[Problem]:
    said = set()
    for cell in facts.fleet.cells:
        for without in cell.serving.without_router:
            if (without.model, without.why) not in said:
                said.add((without.model, without.why))
                yield Problem(
                    ("models", without.model),
                    f"several tiers sell it in {cell.name}, and no router joins them: {without.why}",
                    "give its pools one topology and one pool a tier, or leave each tier its own frontends",
                    of_key=True,
                )


@rule(
    "IF-SRV-003",
    "locality that is required where it cannot be kept",
    joins=("fabric", "cluster", "engine"),
    why="decode is then only sought where the request's prefill was: without a label workers wait for ever, and a "
    "place without a free decode worker answers with HTTP 500.",
    do="write `locality: preferred`.",
    source="measured with ai-dynamo 1.6.1: 9 of 20 requests failed where one place had no decode worker",
)
def locality_can_be_kept(facts: Facts) -> Iterator[Problem]:
    said = set()
    for cell in facts.fleet.cells:
        routed = {p.name for pools in _routed(cell) for p in pools}
        for pool in cell.pools:
            if pool.locality != "required" or pool.name in said:
                continue
            said.add(pool.name)
            severity: Severity | None = None
            if pool.name not in routed and _in_one_place(cell, pool.name):
                continue
            labels = {locality_label(cell.node_group(role.node_group)) for role in pool.roles}
            if pool.name in routed:
                what, severity = (
                    f"`{pool.name}` stands behind the router over its model's tiers, which knows no places",
                    None,
                )
            elif None in labels:
                instance = cell.node_group(pool.roles[0].node_group).instance
                what = f"{instance} of `{pool.name}` reports no place in its zone"
            else:
                what = f"where a node of `{pool.name}` stands is known after its launch only: a place may lack a role"
                severity = "warning"
            yield Problem(("pools", pool.name, "locality"), what, "write `locality: preferred`", severity=severity)


@rule(
    "IF-SRV-005",
    "a claim that Kubernetes or Dynamo cannot take",
    joins=("fabric", "pod"),
    why="a pod with such a claim is never scheduled, or the operator counts no GPUs for it.",
    do="use the device plugin, or smaller workers.",
    source=f"resource.k8s.io/v1: at most {MOST_DEVICES} devices a claim; Dynamo's operator counts GPUs of several "
    "nodes by nvidia.com/gpu only",
)
def claims_fit(facts: Facts) -> Iterator[Problem]:
    said = set()
    for at in facts.roles():
        claim = at.role.claim
        if claim is None or (at.pool.name, at.role.role) in said:
            continue
        what = ""
        if claim.devices > MOST_DEVICES:
            what = f"{at.where} claims {claim.devices} devices ({claim.gpus} GPUs with their NICs)"
        elif at.group.nodes_per_worker > 1:
            what = f"{at.where} spans {at.group.nodes_per_worker} nodes and takes its GPUs by a claim"
        if what:
            said.add((at.pool.name, at.role.role))
            aws = at.cell.cloud == "aws"
            fewer = "use fewer GPUs a worker"
            if at.group.nodes_per_worker > 1:
                fewer += ", or let the cell's fabric have `attach: networks`"
            yield Problem(
                ("cells", at.cell.name, "fabric", "plugin") if aws else at.path("tensor_parallel"),
                what,
                "write `plugin: device-plugin`" if aws else fewer,
            )


@rule(
    "IF-SRV-008",
    "two graphs or Services of one name",
    joins=("environment", "cluster"),
    why="one would take the other's place in the cluster.",
    do="rename one of the pools or models.",
    source="names of the plan",
)
def graphs_differ(facts: Facts) -> Iterator[Problem]:
    for cell in facts.fleet.cells:
        serving = cell.serving
        named = [(g.route, g.pool or g.model, g.pool is not None) for g in serving.graphs]
        named += [(lane.name, lane.pool, True) for lane in serving.lanes]
        first: dict[str, str] = {}
        for name, owner, is_pool in named:
            if name in first:
                yield Problem(
                    ("pools" if is_pool else "models", owner),
                    f"`{first[name]}` and `{owner}` both make `{name}` in {cell.name}",
                    f"rename `{owner}`",
                    of_key=True,
                )
            first.setdefault(name, owner)
        services: dict[str, str] = {}
        for entry in serving.entries:
            if entry.service in services:
                yield Problem(
                    ("models", entry.model),
                    f"{services[entry.service]} and `{entry.model}` of `{entry.tier}` both make the Service "
                    f"`{entry.service}` in {cell.name}",
                    f"rename `{entry.model}`",
                    of_key=True,
                )
            services.setdefault(entry.service, f"`{entry.model}` of `{entry.tier}`")
