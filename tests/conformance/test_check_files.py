"""The proofs over a folder: the sound samples pass each, and each finds what only it can see."""

from typing import Any

import pytest
import yaml

from .agreements import selects
from .check_files import PROOFS, check_files, modules
from .sample_files import broken, component, main, sound
from .workloads import Document, documents, expand, programs


def of(documents: list[Document], kind: str, name: str = "") -> Document:
    """The first of a kind, or the one of that name."""
    return next(one for one in documents if one["kind"] == kind and name in ("", one["metadata"]["name"]))


def graph(documents: list[Document]) -> Document:
    """The disaggregated graph."""
    return of(documents, "DynamoGraphDeployment")


@pytest.mark.parametrize("proof", PROOFS)
def test_sound_files_pass(proof: str) -> None:
    """Nothing to say about the samples, and enough to look at."""
    check_files(sound(), (proof,))
    assert modules(sound()) == {
        "dynamo.frontend": 1, "dynamo.vllm": 2, "dynamo.planner": 1, "dynamo.router": 2, "dynamo.global_router": 1,
    }  # fmt: skip


def _args(name: str, *words: str) -> Any:
    return lambda documents: main(graph(documents), name)["args"].extend(words)


def _router(endpoint: str) -> Any:
    return lambda documents: main(graph(documents), "router").update(args=["--endpoint", endpoint])


def _set(kind: str, name: str, key: str, old: str, new: str) -> Any:
    def change(documents: list[Document]) -> None:
        data = of(documents, kind, name)["data"]
        assert old in data[key]
        data[key] = data[key].replace(old, new)

    return change


BROKEN: dict[str, tuple[str, Any, str]] = {
    "schema": ("objects", lambda d: graph(d)["spec"].update(services={}), "services"),
    "server": ("objects", lambda d: of(d, "Service")["metadata"].update(name="A"), "no DNS label"),
    "admission": ("objects", lambda d: main(graph(d), "decode").update(image="a:latest"), "no version"),
    "operator": ("objects", lambda d: component(graph(d), "router").update(type="frontend"), "as type frontend"),
    "twins": ("agreement", lambda d: d.append(of(d, "Service")), "stands in"),
    "claim": ("agreement", lambda d: d.remove(of(d, "ResourceClaimTemplate")), "no ResourceClaimTemplate"),
    "pool": ("agreement", lambda d: graph(d)["metadata"].update(name="chat-priority-0000"), "no dynamo.router"),
    "router elsewhere": ("agreement", _router("a.backend.generate"), "not in its own"),
    "router of nothing": ("agreement", _router("serving-chat-priority-4f2a.decode.generate"), "no dynamo.vllm serves"),
    "budget": (
        "agreement",
        lambda d: of(d, "PodDisruptionBudget")["spec"]["selector"].update(matchLabels={"app": "x"}),
        "no pod",
    ),
    "service": ("agreement", lambda d: of(d, "Service")["spec"].update(selector={"app": "x"}), "selects no pod"),
    "policy": (
        "agreement",
        lambda d: of(d, "NetworkPolicy")["spec"]["podSelector"].update(
            matchExpressions=[{"key": "nvidia.com/dynamo-component", "operator": "In", "values": ["Prefill"]}]
        ),
        "selects no pod",
    ),
    "spread": (
        "agreement",
        lambda d: component(graph(d), "frontend")["podTemplate"]["metadata"].update(labels={"app": "x"}),
        "counts no pod",
    ),
    "flag": ("engine", _args("decode", "--swap-space", "4"), "unrecognized"),
    "shell": (
        "engine",
        lambda d: main(graph(d), "planner").update(command=["sh", "-c", "exec python3 -m dynamo.planner"], args=[]),
        "no `-m dynamo",
    ),
    "frontend word": ("engine", _args("frontend", "--router-mode=kv"), "word of its own"),
    "class": ("config classes", _args("decode", "--speculative-config", '{"tokens":1}'), "no field tokens"),
    "frontend": ("parsers", _args("frontend", "--no-such-flag"), "Unknown arguments"),
    "worker": ("parsers", _args("decode", "--benchmark-points-file", "/x"), "--benchmark-mode"),
    "deprecated": ("parsers", _args("frontend", "--router-temperature", "0"), "deprecated"),
    "router policy": (
        "parsers",
        _set("ConfigMap", "router-policy", "policy.yaml", "quantum", "q"),
        "unknown field `q`",
    ),
    "pools": ("parsers", _set("ConfigMap", "pools", "pools.json", '"mode"', '"x": 1, "mode"'), "unknown key"),
    "planner": (
        "parsers",
        lambda d: main(graph(d), "planner").update(args=["--config", '{"mode":"agg","sla":1}']),
        "unknown key config.sla",
    ),
    "environment": (
        "parsers",
        lambda d: main(graph(d), "frontend").update(env=[{"name": "DYN_ROUTER_MODE", "value": "x"}], args=[]),
        "router mode",
    ),
    "unknown program": (
        "parsers",
        lambda d: main(graph(d), "planner").update(command=["python3", "-m", "dynamo.sglang"]),
        "no parser for dynamo.sglang",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_files_fail(case: str) -> None:
    """One broken place, found by its proof."""
    proof, change, says = BROKEN[case]
    with pytest.raises(AssertionError) as caught:
        check_files(broken(change), (proof,))
    assert says in str(caught.value)


def test_nothing_is_no_pass() -> None:
    """No file, and comments alone, are failures."""
    for files in ({}, {"a.yaml": "# nothing\n"}):
        with pytest.raises(AssertionError, match="no document"):
            check_files(files, ("objects",))


def test_missing_map_and_key() -> None:
    """A mounted ConfigMap, or its key, that is not rendered."""

    def change(documents: list[Document]) -> None:
        volumes = component(graph(documents), "frontend")["podTemplate"]["spec"]["volumes"]
        volumes[0]["configMap"]["items"] = [{"key": "other.yaml", "path": "policy.yaml"}]

    with pytest.raises(AssertionError, match=r"has no key other\.yaml"):
        programs(documents(broken(change)))
    with pytest.raises(AssertionError, match="no ConfigMap router-policy"):
        programs(documents(broken(lambda d: d.remove(of(d, "ConfigMap")))))


def test_documents_are_read_alike() -> None:
    """A bare `on` fails before any schema sees it."""
    with pytest.raises(AssertionError, match="differ"):
        documents({"a.yaml": yaml.safe_dump({"a": 1}) + "b: on\n"})


def test_selectors_are_read_as_kubernetes_does() -> None:
    """All parts must hold; an empty selector takes every pod."""
    labels = {"app": "x"}
    for operator, values, takes in (
        ("In", ["x"], True), ("In", ["y"], False), ("NotIn", ["x"], False), ("NotIn", ["y"], True),
        ("Exists", None, True), ("DoesNotExist", None, False),
    ):  # fmt: skip
        rule = {"key": "app", "operator": operator, **({"values": values} if values else {})}
        assert selects({"matchExpressions": [rule]}, labels) is takes, operator
    assert selects({}, labels) and not selects({"matchLabels": {"app": "x", "b": "y"}}, labels)


def test_variables_are_filled_in_as_the_kubelet_does() -> None:
    """Known ones only; a doubled dollar is one."""
    assert expand("$(A)-$(B)-$$(A)-$A", {"A": "x"}) == "x-$(B)-$(A)-$A"
