"""Rules about workers on nodes, nodes in groups, groups in clusters; and about names."""

from collections.abc import Iterator

from rule_examples import Example, Fails, Passes, bend_groups, examples

from environments import AGGREGATED, DISAGGREGATED, GCP, SHARED, Env, aggregated_pool, base, cell

AGG, DIS, GOOGLE, SMALL = base(AGGREGATED), base(DISAGGREGATED), base(GCP), base(SHARED)
TWO = base(AGGREGATED, DISAGGREGATED)
WORKER = "pools.docs.worker"
WEST = cell("aws", "us-west-2", "us-west-2a", "10.18.0.0/16", "docs")


@examples("IF-PLC-001")
def test_tensor_parallel() -> Iterator[Example]:
    """A layer is split within a node: g6e.12xlarge has 4 GPUs."""
    at = f"{WORKER}.tensor_parallel"
    yield Fails(AGG.set(at, 8), at, ("g6e.12xlarge", "4 GPUs", "8 are to split"), fix_says=("at most 4",))
    yield Passes(AGG.set(at, 4))


@examples("IF-PLC-002")
def test_whole_nodes() -> Iterator[Example]:
    """A worker of several nodes takes whole ones: 4 x 3 GPUs do not fill nodes of 8, 8 x 2 do."""
    twelve = AGG.set("pools.docs.instance", "p5en.48xlarge").set(f"{WORKER}.tensor_parallel", 4)
    yield Fails(twelve.set(f"{WORKER}.pipeline_parallel", 3), WORKER, ("12 GPUs", "nodes of 8"), fix_says=("8 or 16",))
    yield Passes(twelve.set(f"{WORKER}.pipeline_parallel", 4))
    yield Passes(twelve.set(f"{WORKER}.pipeline_parallel", 1))


@examples("IF-PLC-003")
def test_idle() -> Iterator[Example]:
    """Idle GPUs are named with their price: one of four at $10.49264 an hour is $1,915 in 730 hours."""
    at = f"{WORKER}.replicas"
    assert round(10.49264 / 4 * 730) == 1915
    yield Fails(
        AGG.set(at, {"desired": 3}), at, ("1 of 4 GPUs", "docs worker in east-a", "$1,915"), "warning",
        fix_says=("`desired: 4` costs the same",),
    )  # fmt: skip
    yield Fails(
        AGG.set(at, {"desired": 5}), at, ("3 of 8 GPUs", "$5,745"), "warning",
        fix_says=("`desired: 8`", "`desired: 4` a node less"),
    )  # fmt: skip
    yield Passes(AGG.set(at, {"desired": 8}))
    here = "cells.east-a.pools.docs.worker_replicas"
    yield Fails(AGG.set(here, {"desired": 7}), here, ("1 of 8 GPUs",), "warning")
    # A worker of 3 GPUs leaves one of four idle however many there are.
    yield Fails(AGG.set(f"{WORKER}.tensor_parallel", 3), at, ("4 of 16 GPUs",), "warning", fix_says=("1, 2, 4 GPUs",))


def crowded(pools: int) -> Env:
    env = AGG
    for n in range(1, pools):
        env = env.set(f"pools.docs-{n}", aggregated_pool("qwen-8b")).set(f"cells.east-a.pools.docs-{n}", {})
    return env


@examples("IF-PLC-004")
def test_node_groups() -> Iterator[Example]:
    """EKS takes 30 managed node groups a cluster, and the system nodes are one: 29 pools fit, 30 do not."""
    yield Passes(crowded(29))
    yield Fails(crowded(30), "cells.east-a.pools", ("31 node groups", "30"), fix_says=("two cells",))
    # A disaggregated pool is two groups.
    more = crowded(28).set("models.llama-70b", DIS.get("models.llama-70b")).set("pools.chat", DIS.get("pools.chat"))
    yield Fails(more.set("cells.east-a.pools.chat", {}), "cells.east-a.pools", ("31 node groups",))


@examples("IF-PLC-005")
def test_group_size() -> Iterator[Example]:
    """EKS takes 450 nodes in a group (1,800 workers at 4 a node), GKE 1,000 in a pool and zone."""
    at = f"{WORKER}.replicas"
    yield Passes(AGG.set(at, {"desired": 4, "max": 1800}))
    yield Fails(
        AGG.set(at, {"desired": 4, "max": 1801}), at, ("docs in east-a", "451 nodes", "aws takes 450"),
        fix_says=("`max`",),
    )  # fmt: skip
    google = GOOGLE.set("pools.far.decode.replicas", {"desired": 2, "max": 2001})
    yield Fails(google, "pools.far.decode.replicas", ("1001 nodes", "gcp takes 1000"))
    yield Passes(google.set("pools.far.decode.replicas.max", 2000))
    # Where a cell says otherwise, that is the place.
    here = "cells.east-a.pools.docs.worker_replicas"
    yield Fails(AGG.set(here, {"desired": 4, "max": 2000}), here, ("500 nodes",))
    yield Fails(SMALL.set("pools.small.nodes", {"desired": 1, "max": 451}), "pools.small.nodes", ("451 nodes",))


@examples("IF-PLC-006")
def test_spot() -> Iterator[Example]:
    """Spot capacity serves no tier that makes promises."""
    yield Fails(
        AGG.set("pools.docs.capacity", {"kind": "spot"}), "pools.docs.capacity", ("`fast`", "docs in east-a", "spot"),
        "warning", fix_says=("`on_demand`",),
    )  # fmt: skip
    here = "cells.east-a.pools.docs.capacity"
    yield Fails(AGG.set(here, {"kind": "spot"}), here, ("spot",), "warning")
    yield Passes(AGG.set("pools.docs.capacity", {"kind": "spot"}).set("tiers.slow", {}).set("pools.docs.tier", "slow"))
    yield Passes(AGG)


@examples("IF-PLC-007")
def test_promised_and_switched_off() -> Iterator[Example]:
    """A tier with promises has at least one worker, in every cell."""
    at = f"{WORKER}.replicas"
    none = AGG.set(at, {"desired": 0})
    yield Fails(none, f"{at}.desired", ("docs worker in east-a", "`fast`"), "warning", fix_says=("`desired: 1`",))
    yield Passes(none.set(f"{at}.desired", 1))
    yield Passes(none.set("tiers.slow", {}).set("pools.docs.tier", "slow"))
    # What the planner may take away is IF-SCL-005's.
    yield Passes(AGG.set(at, {"desired": 4, "min": 0}))
    # A second cell with a figure of its own.
    west = AGG.set("cells.west", WEST).set("cells.west.pools.docs", {"worker_replicas": {"desired": 0}})
    here = "cells.west.pools.docs.worker_replicas.desired"
    yield Fails(west, here, ("docs worker in west",), "warning")
    yield Passes(west.set(here, 1))


@examples("IF-SCL-005")
def test_scale_to_none() -> Iterator[Example]:
    """The planner sees no demand for a model that is not listed: promised or not, the last worker stays."""
    at = f"{WORKER}.replicas"
    none = AGG.set(at, {"desired": 4, "min": 0})
    yield Fails(none, f"{at}.min", ("docs worker in east-a", "may scale to no worker"), fix_says=("`min: 1`",))
    yield Passes(none.set(f"{at}.min", 1))
    yield Fails(none.set("tiers.slow", {}).set("pools.docs.tier", "slow"), f"{at}.min", ("no worker",))
    begins = AGG.set(at, {"desired": 0, "max": 4})
    yield Fails(begins, f"{at}.desired", ("begins with no worker",), fix_says=("`desired: 1`",))
    # Switched off by hand: the number has one owner, and it is the file.
    yield Passes(AGG.set(at, {"desired": 0}))
    chat = "pools.chat.prefill.replicas"
    yield Fails(DIS.set(chat, {"min": 0, "desired": 2}), f"{chat}.min", ("chat prefill in east-b",))
    west = AGG.set("cells.west", WEST).set("cells.west.pools.docs", {"worker_replicas": {"desired": 4, "min": 0}})
    here = "cells.west.pools.docs.worker_replicas.min"
    yield Fails(west, here, ("docs worker in west",))
    yield Passes(west.set(here, 1))


@examples("IF-SCL-006")
def test_shared_pools_stay() -> Iterator[Example]:
    """Models are packed once, onto the desired nodes."""
    at = "pools.small.nodes"
    yield Passes(SMALL)
    yield Passes(SMALL.set(at, {"min": 1, "desired": 1, "max": 1}))
    yield Fails(SMALL.set(at, {"desired": 1, "max": 3}), at, ("`small`", "1 to 3 nodes"), fix_says=("`desired: 1`",))
    yield Fails(SMALL.set(at, {"min": 0, "desired": 1}), at, ("0 to 1 nodes",))
    here = "cells.east-a.pools.small.nodes"
    own = SMALL.set("cells.east-a.pools.small", {"nodes": {"desired": 2, "max": 3}})
    yield Fails(own, here, ("2 to 3 nodes",), fix_says=("`desired: 2`",))


@examples("IF-PLC-008")
def test_pods() -> Iterator[Example]:
    """Workers and 20 pods of system daemons find a slot. No machine of today's catalog is that small, so the plan is
    bent: g6e.12xlarge with 4 workers needs 24.
    """
    yield Passes(AGG)
    yield Passes(AGG, bend=bend_groups(max_pods=24))
    yield Fails(AGG, WORKER, ("g6e.12xlarge", "23 pods", "24 are needed"), bend=bend_groups(max_pods=23))


@examples("IF-PLC-009")
def test_reservation_size() -> Iterator[Example]:
    """A reservation holds what the pool may grow to: prefill 1 to 3 nodes and decode 1, of two workers each."""
    reserved = DIS.set("cells.east-b.pools.chat.capacity", {"kind": "reservation", "id": "cr-0a1b2c3d4e5f60001"})
    at = "pools.chat.prefill.replicas"
    yield Fails(
        reserved.set(at, {"desired": 2, "max": 6}),
        "cells.east-b.pools.chat",
        ("p5en.48xlarge in east-b", "from 2 to 4 nodes", "chat-prefill 1 to 3", "chat-decode 1 to 1"),
        "info",
        fix_says=("`cr-0a1b2c3d4e5f60001` must hold 4",),
    )
    yield Passes(reserved)
    yield Passes(DIS.set(at, {"desired": 2, "max": 6}))


def on_google(pool: str) -> Env:
    return GOOGLE.rename("pools.far", pool).rename("cells.central-c.pools.far", pool)


@examples("IF-NAM-001")
def test_names() -> Iterator[Example]:
    """Names fit their limits: EKS cluster 100, GKE cluster and node pool 40, Grove 45 (all characters).

    GKE cluster: `test-` and the cell. Node pool: the pool, `-prefill` and `-g00`. Grove: the pool, a dash and six
    digits, and the component (`frontend`: 8); a worker of several nodes counts twice, with `-ldr`.
    """
    yield Passes(GOOGLE.rename("cells.central-c", "c" * 35))
    yield Fails(
        GOOGLE.rename("cells.central-c", "c" * 36), f"cells.{'c' * 36}", ("cluster", "41 characters", "40 are"),
        fix_says=("by 1",),
    )  # fmt: skip
    yield Passes(on_google("p" * 28))  # 28 + 8 + 4 = 40
    yield Fails(
        on_google("p" * 29),
        f"pools.{'p' * 29}",
        ("node group", f"{'p' * 29}-prefill", "41 characters", "40 are"),
        fix_says=("by 1",),
    )
    grove = AGG.rename("pools.docs", "p" * 30).rename("cells.east-a.pools.docs", "p" * 30)  # 30 + 7 + 8 = 45
    yield Passes(grove)
    longer = AGG.rename("pools.docs", "p" * 31).rename("cells.east-a.pools.docs", "p" * 31)
    yield Fails(
        longer,
        f"pools.{'p' * 31}",
        ("Grove", "frontend", "46 characters", "45 are"),
        fix_says=("by 1",),
    )
    # 22 + 7 + len(worker) + len(worker-ldr) = 45
    wide = {"tensor_parallel": 8, "pipeline_parallel": 2, "replicas": {"desired": 1}}
    big = AGG.set("pools.docs.instance", "p5en.48xlarge").set(WORKER, wide)
    yield Passes(big.rename("pools.docs", "p" * 22).rename("cells.east-a.pools.docs", "p" * 22))
    yield Fails(
        big.rename("pools.docs", "p" * 23).rename("cells.east-a.pools.docs", "p" * 23),
        f"pools.{'p' * 23}",
        ("Grove", "worker", "46 characters"),
    )
    existing = "cells.east-a.cluster.existing"
    yield Passes(AGG.set("cells.east-a.cluster", {"existing": "x" * 100}))
    yield Fails(
        AGG.set("cells.east-a.cluster", {"existing": "x" * 101}), existing, ("cluster", "101 characters", "100 are")
    )


@examples("IF-NAM-001")
def test_names_once() -> Iterator[Example]:
    """A pool's name that is too long in several roles is one finding, that of the longest."""
    name = "p" * 33  # frontend 48, prefill 47, decode 46
    long = DIS.rename("pools.chat", name).rename("cells.east-b.pools.chat", name)
    yield Fails(long, f"pools.{name}", ("Grove", "frontend", "48 characters"), fix_says=("by 3",))
    yield Passes(DIS)


@examples("IF-NAM-002")
def test_one_cluster_a_cell() -> Iterator[Example]:
    """Two cells do not share a cluster; clusters of one name in two regions are two clusters."""
    one = {"existing": "main"}
    same = TWO.set("cells.east-a.cluster", one).set("cells.east-b.cluster", one)
    yield Fails(same, "cells.east-b.cluster.existing", ("`east-a`", "`main`"), fix_says=("another",))
    yield Passes(same.set("cells.east-b.cluster.existing", "other"))
    west = AGG.set("cells.east-a.cluster", one).set("cells.west", {**WEST, "cluster": one})
    yield Passes(west)
    # The name that we would make is taken as well.
    yield Fails(TWO.set("cells.east-b.cluster", {"existing": "test-east-a"}), "cells.east-b.cluster.existing",
                ("`test-east-a`",))  # fmt: skip


@examples("IF-NAM-006")
def test_pods_are_told_apart() -> Iterator[Example]:
    """`202612` could be the digest of a graph of `chat`; five digits, or a letter that none has, could not."""

    def beside(name: str) -> Env:
        both = DIS.set("models.qwen-8b", AGG.get("models.qwen-8b")).set(f"pools.{name}", aggregated_pool("qwen-8b"))
        return both.set(f"cells.east-b.pools.{name}", {})

    yield Fails(
        beside("chat-202612"), "pools.chat-202612", ("`chat-202612-", "in east-b: `chat-`, then six of 0-9"),
        fix_says=("rename `chat-202612`",),
    )  # fmt: skip
    yield Fails(beside("chat-facade-x"), "pools.chat-facade-x", ("chat-facade-x",), fix_says=("rename",))
    for name in ("chat-20261", "chat-2026123", "chat-nightl", "chatfacade"):
        yield Passes(beside(name))
    # In another cell another Prometheus counts.
    elsewhere = {**WEST, "pools": {"chat-202612": {}}}
    yield Passes(beside("chat-202612").delete("cells.east-b.pools.chat-202612").set("cells.west", elsewhere))


@examples("IF-NAM-003")
def test_group_names_differ() -> Iterator[Example]:
    """A pool `chat-prefill` and the prefill workers of a pool `chat` would be one node group."""
    both = DIS.set("models.qwen-8b", AGG.get("models.qwen-8b")).set("pools.chat-prefill", aggregated_pool("qwen-8b"))
    both = both.set("cells.east-b.pools.chat-prefill", {})
    yield Fails(
        both, "pools.chat-prefill", ("`chat` and `chat-prefill`", "`chat-prefill`", "east-b"),
        fix_says=("rename `chat-prefill`",),
    )  # fmt: skip
    # In another cell it is another cluster.
    elsewhere = {**WEST, "pools": {"chat-prefill": {}}}
    yield Passes(both.delete("cells.east-b.pools.chat-prefill").set("cells.west", elsewhere))
