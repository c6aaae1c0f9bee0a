"""Which graphs a cell runs, what stands in front of them, and how models reach its nodes."""

import copy
from typing import Any

import pytest
import yaml

from inferfab.environment.environment import Environment
from inferfab.plan.fleet import CellPlan, FleetPlan, plan
from inferfab.plan.serving.component import ComponentPlan, GraphPlan

from ..planning import ROOT, prod_plan


def changed(name: str, change: Any) -> FleetPlan:
    tree = yaml.safe_load((ROOT / "environments" / f"{name}.yaml").read_text(encoding="utf-8"))
    change(tree)
    return plan(Environment.model_validate(tree))


def graph(cell: CellPlan, route: str) -> GraphPlan:
    return next(g for g in cell.serving.graphs if g.route == route)


def routes(cell: CellPlan) -> list[str]:
    return sorted(g.route for g in cell.serving.graphs)


PROD = prod_plan()
CELL = PROD.cells[0]


def test_a_model_of_two_tiers_has_a_router_and_a_graph_a_role() -> None:
    """dynamo.router answers as ``<namespace>.router.generate``: prefill and decode cannot share a graph then."""
    assert routes(CELL) == [
        "chat-priority-decode", "chat-priority-prefill", "chat-standard-decode", "chat-standard-prefill", "documents",
        "llama-70b-tiers", "nightly",
    ]  # fmt: skip
    kinds = {g.route: [c.kind for c in g.components] for g in CELL.serving.graphs}
    assert kinds["llama-70b-tiers"] == ["frontend", "global-router"]
    assert kinds["chat-priority-prefill"] == ["router", "prefill", "planner"]
    assert kinds["documents"] == ["frontend", "worker", "planner"]


def test_the_router_leads_to_the_graphs_by_their_dynamo_names() -> None:
    """The operator makes DYN_NAMESPACE of namespace and graph; pools in the order of their tiers."""
    router = graph(CELL, "llama-70b-tiers").global_router
    assert router is not None
    priority, standard = graph(CELL, "chat-priority-prefill"), graph(CELL, "chat-standard-prefill")
    assert router.prefill_namespaces == (f"serving-{priority.name}", f"serving-{standard.name}")
    assert [t.tier for t in router.targets] == ["priority", "standard"]


def test_routers_look_where_workers_register() -> None:
    """dynamo/vllm/args.py: prefill workers as ``prefill``, others as ``backend``; at the pool's block size."""
    for route, name in (("chat-priority-prefill", "prefill"), ("chat-priority-decode", "backend")):
        found = graph(CELL, route)
        arguments = {a.flag: a.value for a in found.component("router").arguments}
        assert arguments["--endpoint"] == f"{found.dynamo_namespace}.{name}.generate"
        assert arguments["--router-block-size"] == "16"


def test_the_entry_of_each_tier_finds_the_same_frontends() -> None:
    """Two Services, one set of frontends; what a request carries tells the tiers apart."""
    entries = {(e.tier, e.model): e for e in CELL.serving.entries}
    priority, standard = entries["priority", "llama-70b"], entries["standard", "llama-70b"]
    assert priority.service == "priority-llama-70b" and priority.selects == standard.selects
    assert priority.target is not None and standard.target is not None
    assert (priority.target.ttft_ms, standard.target.ttft_ms) == (200, 2000)
    assert entries["batch", "llama-8b"].target is None


def test_another_pool_gets_another_router() -> None:
    """Where it leads is in its name, so the old router goes on to lead to the old pools."""

    def change(tree: Any) -> None:
        tree["models"]["llama-70b"]["revision"] = "f" * 40

    other = changed("prod", change).cells[0]
    assert graph(other, "llama-70b-tiers").name != graph(CELL, "llama-70b-tiers").name
    assert graph(other, "documents").name == graph(CELL, "documents").name


def test_one_tier_needs_no_router() -> None:
    """The pool is one graph with frontends that choose by cache, and a transfer policy by place."""

    def change(tree: Any) -> None:
        del tree["pools"]["chat-standard"]
        for cell in tree["cells"].values():
            del cell["pools"]["chat-standard"]

    cell = changed("prod", change).cells[0]
    found = graph(cell, "chat-priority")
    assert [c.kind for c in found.components] == ["frontend", "prefill", "decode", "planner"]
    policy = found.kv_transfer_policy
    assert policy is not None
    # p5en reports three layers of its network (catalog, AWS instance topology); the third is the closest.
    assert policy.label_key == "topology.k8s.aws/network-node-layer-3"
    assert (policy.enforcement, policy.preferred_weight) == ("preferred", 0.5)


def _mixed(tree: Any) -> None:
    worker = tree["pools"]["chat-standard"].pop("prefill")
    del tree["pools"]["chat-standard"]["decode"]
    tree["pools"]["chat-standard"] |= {"topology": "aggregated", "worker": worker}


def _twice(tree: Any) -> None:
    tree["pools"]["chat-more"] = copy.deepcopy(tree["pools"]["chat-standard"])
    tree["cells"]["use1-a"]["pools"]["chat-more"] = {}


def _adapted(tree: Any) -> None:
    tree["models"]["llama-70b"]["adapters"] = {"legal": {"source": "a/b", "revision": "0123456789abcdef"}}


@pytest.mark.parametrize(
    ("change", "why"), [(_mixed, "aggregated"), (_twice, "two pools of one tier"), (_adapted, "LoRA")]
)
def test_what_no_router_can_join_is_said(change: Any, why: str) -> None:
    """Each tier then has frontends of its own."""
    cell = changed("prod", change).cells[0]
    (without,) = cell.serving.without_router
    assert without.model == "llama-70b" and why in without.why
    assert not [g for g in cell.serving.graphs if g.global_router]
    assert {("priority", "llama-70b"), ("standard", "llama-70b")} <= {(e.tier, e.model) for e in cell.serving.entries}


def worker(cell: CellPlan, route: str, kind: Any) -> ComponentPlan:
    return graph(cell, route).component(kind)


def test_workers_ask_for_their_part_of_a_node() -> None:
    """p5en.48xlarge: 192 vCPUs; 80 % over two workers of four GPUs is 76.8. 16 EFA interfaces, 8 each."""
    found = worker(CELL, "chat-priority-prefill", "prefill")
    assert (found.cpu_millis, found.gpus, found.resources) == (76_800, 4, {"vpc.amazonaws.com/efa": 8})
    assert found.memory_request_bytes == found.memory_limit_bytes
    assert found.scaled and found.replicas == 4


def test_each_mig_instance_is_a_graph_of_its_own_model() -> None:
    """Replicas as packed, and the exact profile (staging: 1g.20gb on one H100, four slices)."""
    cell = changed("staging", lambda tree: None).cells[0]
    packed = next(p.shared for p in cell.pools if p.shared)
    for model, count in packed.packing.instances.items():
        found = worker(cell, f"small-models-{model}", "worker")
        assert (found.replicas, found.gpu_resource, found.gpus) == (count, "nvidia.com/mig-1g.20gb", 1)


def test_models_come_from_the_store_first() -> None:
    """Under the key that the reader's role is held to, then from the hub at the pinned revision."""
    (source,) = next(h for h in CELL.serving.cache.holders if h.node_group == "documents").sources
    revision = "9216db5781bf21249d130ec9da846c4624c16137"
    assert source.store_uri == f"s3://prod-models-111122223333-us-east-1/models/qwen-32b/{revision}/"
    assert (source.folder, source.revision, source.hub) == ("qwen-32b-9216db5781bf", revision, True)


def test_system_nodes_hold_the_small_files_of_routed_models_only() -> None:
    """The router over tiers reads tokenizer and configuration, no weights."""
    (system,) = [h for h in CELL.serving.cache.holders if h.node_group is None]
    assert system.weights is False and [s.model for s in system.sources] == ["llama-70b"]
    router = worker(CELL, "llama-70b-tiers", "global-router")
    assert router.model_as == "llama-70b" and router.model_folders == (system.sources[0].folder,)


def test_without_a_way_out_only_the_store_is_left() -> None:
    """And a model from a bucket of one's own is looked for there and nowhere else."""

    def change(tree: Any) -> None:
        tree["cells"]["use1-a"]["network"]["egress"] = "none"
        tree["models"]["qwen-32b"]["source"] = "s3://weights/qwen"

    cache = changed("prod", change).cells[0].serving.cache
    sources = {s.model: s for h in cache.holders for s in h.sources}
    assert not any(s.hub for s in sources.values())
    assert sources["qwen-32b"].store_uri == "s3://weights/qwen/"
    assert cache.other_sources("prod-models-111122223333-us-east-1") == ("s3://weights/qwen/",)


def test_sleeping_models_are_lanes_as_packed() -> None:
    """g6e.12xlarge has four GPUs; both models of 9 GB fit each, so there are four equal lanes and no graph."""

    def change(tree: Any) -> None:
        tree["pools"]["small-models"] |= {"sharing": "sleep", "instance": "g6e.12xlarge"}

    cell = changed("staging", change).cells[0]
    (lane,) = cell.serving.lanes
    assert lane.replicas == 4 and [e.model for e in lane.engines] == ["llama-8b", "qwen3-8b"]
    assert [e.port for e in lane.engines] == [8101, 8102] and [e.awake_port for e in lane.engines] == [8201, 8202]
    # 4 sequences run at once; four times as many may wait for the model's turn.
    assert [e.max_requests for e in lane.engines] == [16, 16]
    assert "small-models" not in {g.pool for g in cell.serving.graphs}
    assert {e.service for e in cell.serving.entries} >= {"batch-llama-8b", "batch-qwen3-8b"}


def test_a_lane_waits_for_drafts_and_holds_them() -> None:
    """The draft's folder is waited for, and its 2 GiB are in what the pod asks for; a lane speaks neither Dynamo nor
    NIXL.
    """

    def sleeps(tree: Any) -> None:
        tree["pools"]["small-models"] |= {"sharing": "sleep", "instance": "g6e.12xlarge"}

    def drafts(tree: Any) -> None:
        sleeps(tree)
        draft = {"source": "example/head", "revision": "0123456789ab", "weights_gib": 2}
        tree["models"]["qwen3-8b"]["speculative"] = {"method": "eagle3", "draft": draft}

    (lane,), (plain,) = (changed("staging", change).cells[0].serving.lanes for change in (drafts, sleeps))
    assert lane.engines[1].folders == ("qwen3-8b-9c925d64d727", "qwen3-8b-draft-0123456789ab")
    assert lane.memory_request_bytes - plain.memory_request_bytes == 2 * 1024**3
    assert lane.memory_limit_bytes - plain.memory_limit_bytes == 2 * 1024**3
    assert {value.name for value in lane.engines[1].env} == {"PYTHONHASHSEED"}


def test_pods_of_a_tier_are_found_by_name() -> None:
    """Whatever the digest; and not those of a pool whose name goes on."""
    assert CELL.serving.pods_of_tier("batch") == ("nightly-[0-9a-f]{6}",)
    assert "chat-priority-prefill-[0-9a-f]{6}" in CELL.serving.pods_of_tier("priority")
