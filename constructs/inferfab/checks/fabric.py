"""KV transfer against the fabric, and what else runs there."""

from collections.abc import Iterator

from inferfab.catalog.gpus import gpus
from inferfab.catalog.instances import instances
from inferfab.checks.facts import Facts
from inferfab.checks.offers import largest_worker, machines_with_rdma
from inferfab.checks.places import once
from inferfab.checks.registry import Problem, rule
from inferfab.checks.remedies import FP8_CACHE_LACKS, at_least, either, splits_heads
from inferfab.findings import YamlPath
from inferfab.plan.fabric import TCP_GBPS
from inferfab.plan.pools import PoolPlan

_DYNAMO = "NVIDIA Dynamo: disaggregated communication guide, EKS EFA guide"


def moving(facts: Facts) -> Iterator[PoolPlan]:
    """One placement of each disaggregated pool and fabric."""
    seen: set[tuple[str, str]] = set()
    for pool in facts.fleet.pools:
        if pool.kv_transfer is None:
            continue
        key = (pool.name, pool.roles[0].fabric.kind)
        if key not in seen:
            seen.add(key)
            yield pool


@rule(
    "IF-FAB-002",
    "KV cache that does not arrive in time",
    joins=("fabric", "engine", "promise"),
    why="the first token waits for the prompt's KV cache to arrive at the decode worker.",
    do="give workers more NICs (larger tensor_parallel), halve the KV cache with fp8, promise more time, or use "
    "shorter prompts.",
    source="bytes = KV bytes a token x prompt tokens; efficiency: Mooncake, 190 GB/s of 8 x 400 Gbit/s",
)
def transfer_keeps_budget(facts: Facts) -> Iterator[Problem]:
    for pool in moving(facts):
        t = pool.kv_transfer
        assert t is not None
        if t.keeps_budget or t.needed_gbps is None or pool.roles[0].fabric.kind == "tcp":
            continue
        if t.needed_gbps <= t.line_gbps * t.efficiency:
            continue  # it is what leaves or other traffic take: IF-FAB-051
        yield Problem(
            ("pools", pool.name, "kv_transfer_share_of_ttft"),
            f"{t.bytes_per_request / 1e6:,.0f} MB for {t.prompt_tokens:,} tokens in {t.budget_ms:,.0f} ms ask for "
            f"{t.needed_gbps:,.0f} Gbit/s; "
            f"a pair has {t.available_gbps:,.0f} ({t.efficiency:.0%} of {t.line_gbps:,.0f}) and takes "
            f"{t.transfer_ms or 0:,.0f} ms",
            _arrive_sooner(facts, pool),
        )


def _arrive_sooner(facts: Facts, pool: PoolPlan) -> str:
    """What would bring the cache over in time, as far as it is possible here."""
    t = pool.kv_transfer
    assert t is not None
    takes, promise = t.transfer_ms, t.ttft_promise_ms
    ways = []
    if takes is not None and promise is not None and takes <= promise:
        ways.append(f"write at least {at_least(takes / promise, 3)}")
    group = {g.name: g for g in facts.fleet.node_groups if g.cell == pool.cell}
    smaller = min(pool.roles, key=lambda r: r.parallelism.tensor)
    room = group[smaller.node_group].gpus_per_node
    wider = next(
        (
            n
            for n in range(smaller.parallelism.tensor * 2, room + 1)
            if splits_heads(facts.model(pool.models[0]).shape, n)
        ),
        None,
    )
    if wider is not None:
        ways.append(f"raise `tensor_parallel` of {smaller.role} to {wider} or more")
    model = facts.model(pool.models[0])
    if model.kv_precision == "bf16" and gpus()[group[smaller.node_group].gpu].architecture not in FP8_CACHE_LACKS:
        ways.append("use `kv_cache_dtype: fp8`")
    if takes is not None and promise is not None and takes > promise:
        ways.append(f"promise at least {at_least(takes)} ms")
    return either(*ways) or "plan for shorter prompts, or an aggregated pool"


@rule(
    "IF-FAB-003",
    "disaggregation without RDMA",
    joins=("cloud", "fabric", "engine", "promise"),
    why="every prompt's KV cache crosses TCP: measured 98 s to the first token where RDMA takes 0.2 to 0.5 s.",
    do="use a machine with RDMA, or an aggregated pool.",
    source=_DYNAMO,
)
def disaggregation_has_rdma(facts: Facts) -> Iterator[Problem]:
    for pool in moving(facts):
        t = pool.kv_transfer
        if t is None or pool.roles[0].fabric.kind != "tcp":
            continue
        asked = facts.asked(pool.name).fabric == "tcp"
        cell = facts.environment.cells[pool.cell]
        by_cell = cell.fabric is not None and cell.fabric.kind == "tcp"
        price = (
            f"one prompt's {t.bytes_per_request / 1e6:,.0f} MB take {t.transfer_ms or 0:,.0f} ms at the "
            f"{TCP_GBPS:g} Gbit/s of TCP"
        )
        path: YamlPath = (
            ("pools", pool.name, "fabric")
            if asked
            else ("cells", pool.cell, "fabric")
            if by_cell
            else ("pools", pool.name, "topology")
        )
        if asked or by_cell:
            broken = not t.keeps_budget
            promise = f"; the promise leaves {t.budget_ms:,.0f} ms" if t.budget_ms is not None else ""
            yield Problem(
                path,
                f"TCP was asked for: {price}{promise}",
                "remove `fabric: tcp`",
                severity="error" if broken else "warning",
            )
        else:
            group = next(g for g in facts.fleet.node_groups if g.pool == pool.name and g.cell == pool.cell)
            able = machines_with_rdma(group.cloud, group.gpu, largest_worker(facts.asked(pool.name)))
            nics = instances(group.cloud)[group.instance].nics
            unknown = nics.kind == "efa" and nics.efa_interfaces is None
            yield Problem(
                path,
                f"no source says how many RDMA interfaces {group.instance} has, so none were planned: {price}"
                if unknown
                else f"{group.instance} has no RDMA: {price}",
                f"use {' or '.join(able[:3])}, or `topology: aggregated`"
                if able
                else "use `topology: aggregated`, or another GPU",
            )


@rule(
    "IF-FAB-004",
    "more workers on a node than RDMA interfaces",
    joins=("cloud", "fabric", "pod"),
    why="a pod takes interfaces whole; the workers without one stay pending.",
    do="use larger workers, or a machine with more interfaces.",
    source="EFA device plugin and DRANET: devices are not shared",
)
def interfaces_go_round(facts: Facts) -> Iterator[Problem]:
    for at in once(facts.roles()):
        fabric = at.role.fabric
        if fabric.kind == "tcp" or at.pool.kv_transfer is None:
            continue
        if not fabric.rdma_interfaces_per_node:
            yield Problem(
                at.path(),
                f"{at.group.instance}: {fabric.note}",
                "use a machine whose interfaces are known",
                of_key=True,
            )
        elif fabric.rdma_interfaces_per_worker * at.group.workers_per_node > fabric.rdma_interfaces_per_node:
            yield Problem(
                at.path("tensor_parallel"),
                f"{at.group.workers_per_node} workers on one {at.group.instance} share "
                f"{fabric.rdma_interfaces_per_node} RDMA interface(s)",
                f"use at least {-(-at.group.gpus_per_node // fabric.rdma_interfaces_per_node)} GPUs a worker",
                value=str(at.role.parallelism.tensor),
            )


@rule(
    "IF-FAB-005",
    "a burst of other traffic breaks the jitter budget",
    severity="info",
    joins=("fabric", "promise"),
    why="a transfer ends with its slowest card; one burst on one card delays the whole of it beyond the 10 ms that "
    "are budgeted.",
    do="keep large reads off serving nodes: pre-fetch weights, read documents elsewhere.",
    source="arithmetic of the plan; fabric separation in the plan",
)
def bursts_bounded(facts: Facts) -> Iterator[Problem]:
    for pool in moving(facts):
        t = pool.kv_transfer
        if t is None or pool.roles[0].fabric.kind == "tcp" or not t.burst_can_reach_fabric or t.ttft_promise_ms is None:
            continue
        if t.burst_share_of_jitter_budget > 1:
            yield Problem(
                ("pools", pool.name),
                f"a burst of 1 GB on a card that KV transfer uses adds {t.burst_ms:,.0f} ms, "
                f"{t.burst_share_of_jitter_budget:,.1f} times the jitter budget",
                "keep storage and weight loading off serving nodes",
                of_key=True,
            )


@rule(
    "IF-FAB-006",
    "a worker over several nodes without RDMA",
    severity="warning",
    joins=("cloud", "fabric", "engine"),
    why="its GPUs exchange activations for every token; over TCP each exchange waits for the kernel's network stack.",
    do="keep the worker within a node, or use a machine with RDMA.",
    source="vLLM: parallelism and scaling; Dynamo multinode",
)
def spread_workers_have_rdma(facts: Facts) -> Iterator[Problem]:
    for at in once(facts.roles()):
        if at.group.nodes_per_worker < 2 or at.role.fabric.kind != "tcp":
            continue
        able = machines_with_rdma(at.group.cloud, at.group.gpu, at.group.gpus_per_node)
        able = [name for name in able if name != at.group.instance]
        rdma = instances(at.group.cloud)[at.group.instance].rdma_gbps > 0
        field = "pipeline_parallel" if at.role.parallelism.pipeline > 1 else "data_parallel"
        yield Problem(
            at.path(field),
            f"{at.where} takes {at.group.nodes_per_worker} nodes of {at.group.instance}, which talk over TCP",
            either(
                "leave out `fabric: tcp`, which keeps it from the machine's RDMA" if rdma else "",
                f"use at most {at.group.gpus_per_node} GPUs a worker",
                "" if rdma else f"use {' or '.join(able[:3])}" if able else "use a GPU whose machines have RDMA",
            ),
            value=str(getattr(at.role.parallelism, field.removesuffix("_parallel"))),
        )


@rule(
    "IF-FAB-007",
    "EFA from DRANET on nodes that are not there yet",
    severity="warning",
    joins=("cloud", "fabric", "cluster"),
    why="DRANET offers EFA as devices of running nodes; of a group without any the cluster autoscaler knows no "
    "devices, so it starts no node, and the pods stay pending.",
    do="use `plugin: device-plugin`, whose interfaces the group's tags tell of, or keep a node running.",
    source="kubernetes/autoscaler#7724, #7799 and #10277: templates of empty groups have no ResourceSlices of DRA",
)
def dranet_has_a_first_node(facts: Facts) -> Iterator[Problem]:
    for cell in facts.fleet.cells:
        if cell.fabric.plugin != "dranet":
            continue
        with_efa = [g for g in cell.node_groups if any(nic.type == "efa-only" for nic in g.layout)]
        # A Capacity Block has a first day: its group begins empty, whatever the pool's minimum is.
        blocks = [g.name for g in with_efa if g.capacity.kind == "capacity_block"]
        empty = [g.name for g in with_efa if g.name in blocks or g.nodes.min == 0]
        if empty:
            yield Problem(
                ("cells", cell.name, "fabric", "plugin"),
                f"{', '.join(empty)} may have no node, and the autoscaler cannot start the first one for DRANET",
                "write `plugin: device-plugin`" + ("" if blocks else ", or `min: 1` or more for the pool"),
            )
