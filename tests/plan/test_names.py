"""Names: digests change with what admission makes immutable, and only then; Grove's length."""

import copy
from typing import Any

import pytest

from inferfab.catalog.limits import limit
from inferfab.environment.environment import Environment
from inferfab.plan.fleet import plan
from inferfab.plan.names import (
    cluster_name,
    digest,
    dynamo_namespace,
    graph_name,
    grove_length,
    model_folder,
    node_group_name,
    token_secret_name,
)

from .planning import aggregated, disaggregated, environment_of


def graph(pool: dict[str, Any], **more: Any) -> str:
    (found,) = plan(environment_of(pool, **more)).cells[0].serving.of_pool("p")
    return found.name


BASE = disaggregated()


def changed(**fields: Any) -> dict[str, Any]:
    return {**copy.deepcopy(BASE), **fields}


def test_replicas_and_flags_keep_the_name() -> None:
    """What may change in place does not roll a new graph."""
    same = graph(BASE)
    more = copy.deepcopy(BASE)
    more["prefill"]["replicas"] = {"desired": 3}
    more["decode"]["flags"] = {"--enforce-eager": True}
    more["decode"]["gpu_memory_utilization"] = 0.9
    assert graph(more) == same
    assert graph(changed(workload={"prompt_tokens": 100, "output_tokens": 100})) == same
    assert graph(changed(capacity={"kind": "spot"})) == same
    assert graph(BASE, owner="somebody else") == same


def test_immutables_change_the_name() -> None:
    """Components, single or several nodes, transfer policy, and the model's revision."""
    names = [graph(BASE), graph(aggregated()), graph(changed(fabric="tcp"))]
    names += [graph(changed(locality="none")), graph(changed(locality="required"))]
    wide = copy.deepcopy(BASE)
    wide["prefill"] |= {"tensor_parallel": 8, "pipeline_parallel": 2}
    names.append(graph(wide))
    models = {"llama": {"catalog": "llama-3.1-70b-instruct", "revision": "fedcba9876", "context_tokens": 32768}}
    names.append(graph(BASE, models=models))
    assert len(set(names)) == len(names)
    assert all(n.startswith("p-") and len(n) == len("p-") + 6 for n in names)


def test_digest_is_of_the_content() -> None:
    """Order of keys does not matter, content does; six hexadecimal digits."""
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    assert digest({"a": 1}) != digest({"a": 2})
    assert int(digest([]), 16) >= 0
    assert len(digest([])) == 6


def test_other_names() -> None:
    """Cluster, node group, namespace and graph."""
    assert cluster_name("prod", "use1-a") == "prod-use1-a"
    assert node_group_name("chat", "prefill") == "chat-prefill"
    assert node_group_name("chat", "worker") == node_group_name("chat", "shared") == "chat"
    # The operator's rule for DYN_NAMESPACE: <k8s namespace>-<graph> (serving.md 1.5).
    assert dynamo_namespace("chat-0a1b2c") == "serving-chat-0a1b2c"
    assert graph_name("chat", 1) == f"chat-{digest(1)}"


def test_a_planner_is_a_component() -> None:
    """Room to scale brings a planner, and admission takes no new component into a graph that is there."""
    roomy = copy.deepcopy(BASE)
    roomy["prefill"]["replicas"] = {"desired": 3, "max": 5}
    assert graph(roomy) != graph(BASE)


def test_folders_of_models_are_one_a_revision() -> None:
    """A commit by its first twelve digits; anything else readable and with a digest of the whole."""
    assert model_folder("llama", "3a5f5b0b2c1d4e6f8a9b0c1d2e3f4a5b6c7d8e9f") == "llama-3a5f5b0b2c1d"
    assert model_folder("llama", "v1.0/final") == f"llama-v1.0-final-{digest('v1.0/final')}"
    assert model_folder("llama", "release-2026-11-01") != model_folder("llama", "release-2026-11-02")
    assert "/" not in model_folder("llama", "../../etc")


def test_a_secrets_name_is_one_that_kubernetes_takes() -> None:
    """References may hold slashes and capitals; two that look alike stay two."""
    assert token_secret_name("hf-token") == "model-token-hf-token"
    assert token_secret_name("prod/HF_Token").startswith("model-token-prod-hf-token-")
    assert token_secret_name("prod/hf_token") != token_secret_name("prod-hf-token")


@pytest.mark.parametrize(
    ("graph_", "component", "multinode", "length"),
    [
        ("chat-a1b2c3", "prefill", False, 11 + 7),
        ("chat-a1b2c3", "prefill", True, 11 + 7 + 11),
        ("g", "d", True, 1 + 1 + 5),
    ],
)
def test_grove_length(graph_: str, component: str, multinode: bool, length: int) -> None:
    """Graph + component, and for several nodes the component again with ``-ldr`` (serving.md 1.4)."""
    assert grove_length(graph_, component, multinode=multinode) == length


def test_groves_limit_leaves_room_for_long_pools() -> None:
    """45 characters: a decode pool over nodes may have 45 - 6 - 10 - 7 = 22 characters before its digest."""
    assert limit("grove_name_budget") == 45
    assert grove_length("x" * 22 + "-123456", "decode", multinode=True) == 45


def test_names_of_a_cluster_do_not_collide() -> None:
    """A pool ``chat`` with roles and another pool ``chat-prefill`` in one cell would claim one node
    group name."""
    tree = environment_of(BASE).model_dump(mode="json", exclude_unset=True)
    tree["pools"] = {
        "chat": {**BASE, "tier": "standard"},
        "chat-prefill": {**aggregated(), "tier": "standard"},
    }
    tree["cells"]["a"]["pools"] = {"chat": None, "chat-prefill": None}
    groups = plan(Environment.model_validate(tree)).node_groups
    names = [g.name for g in groups]
    # The collision is real; finding it is the checks' task, so the plan must show both groups under
    # their names.
    assert sorted(names) == ["chat-decode", "chat-prefill", "chat-prefill"]
