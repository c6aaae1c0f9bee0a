"""What the API server and Dynamo's webhook refuse beyond schemas, each rule by an example that breaks it alone."""

from typing import Any

import pytest

from .admission import admission_problems, grove_name_length, image_tag, update_problems
from .api_server import api_server_problems, quantity
from .sample_files import component, document, graph, main

LONG = "a" * 41


def _multinode_name(one: dict[str, Any]) -> None:
    # 17 + 12 + 16 = 45 pass; one more does not.
    one["metadata"]["name"] = "chat-priority-4f2"
    component(one, "decode").update(name="decode-long12")


ADMISSION: dict[str, tuple[Any, str]] = {
    "none": (lambda g: g["spec"].update(components=[]), "at least one"),
    "too many": (lambda g: g["spec"]["components"].extend({"name": f"c{n}"} for n in range(21)), "at most 25"),
    "twins": (lambda g: component(g, "decode").update(name="PREFILL"), "two of this name"),
    "epps": (
        lambda g: g["spec"]["components"].extend({"name": n, "type": "epp"} for n in "ab"),
        "at most one of type epp",
    ),
    "epp replicas": (lambda g: component(g, "planner").update(type="epp", replicas=2), "exactly 1 replica"),
    "name budget": (lambda g: g["metadata"].update(name=LONG), "Grove takes 45"),
    "multinode budget": (_multinode_name, "Grove takes 45"),
    "multinode frontend": (
        lambda g: component(g, "frontend").update(multinode={"nodeCount": 2}),
        "multinode on frontend",
    ),
    "multinode of one": (lambda g: component(g, "decode").update(multinode={"nodeCount": 1}), "fewer than 2"),
    "no main": (lambda g: main(g, "decode").update(name="engine"), "no container `main`"),
    "no template": (lambda g: component(g, "decode").pop("podTemplate"), "no container `main`"),
    "no image": (lambda g: main(g, "decode").pop("image"), "no image"),
    "latest": (lambda g: main(g, "decode").update(image="r.example:5000/vllm-runtime:latest"), "is no version"),
    "port is no tag": (lambda g: main(g, "decode").update(image="r.example:5000/vllm-runtime"), "is no version"),
    "digest": (lambda g: main(g, "decode").update(image="r.example/vllm@sha256:" + "0" * 64), "is no version"),
    "two-part tag": (lambda g: main(g, "decode").update(image="r.example/vllm:1.6"), "is no version"),
    "negative memory": (lambda g: component(g, "decode").update(sharedMemorySize="-1Gi"), "negative"),
    "sidecar": (lambda g: component(g, "decode").update(frontendSidecar="x"), "names no container"),
    "dynamo sidecar": (lambda g: component(g, "prefill").update(dynamoSidecar="x"), "restartPolicy Always"),
    "restart": (lambda g: g["spec"].update(restart={"id": "1"}), "unset on create"),
    "executor": (
        lambda g: g["metadata"]["annotations"].update({"nvidia.com/vllm-distributed-executor-backend": "uni"}),
        "one of ['mp', 'ray']",
    ),
    "no grove": (lambda g: g["metadata"]["annotations"].update({"nvidia.com/enable-grove": "false"}), "needs Grove"),
    "pack domain": (lambda g: g["spec"].update(topologyConstraint={"clusterTopologyName": "t"}), "packDomain"),
    "constraint": (lambda g: component(g, "decode").update(topologyConstraint={"packDomain": "rack"}), "required when"),
    "weight": (lambda g: g["spec"]["experimental"]["kvTransferPolicy"].pop("preferredWeight"), "preferredWeight"),
    "weight range": (
        lambda g: g["spec"]["experimental"]["kvTransferPolicy"].update(preferredWeight=2),
        "between 0 and 1",
    ),
    "sources": (lambda g: g["spec"]["experimental"]["kvTransferPolicy"].pop("labelKey"), "exactly one of labelKey"),
}


@pytest.mark.parametrize("case", ADMISSION)
def test_admission_refuses(case: str) -> None:
    """One broken rule, named."""
    change, says = ADMISSION[case]
    one = graph()
    assert admission_problems(one) == []
    change(one)
    assert any(says in line for line in admission_problems(one)), admission_problems(one)


def test_admission_takes() -> None:
    """Edges that are still right."""
    one = graph()
    main(one, "decode").update(image="r.example:5000/vllm@sha256:" + "0" * 64)
    component(one, "decode").update(runtimeVersionOverride="1.6.1")
    one["metadata"]["name"] = "a" * (45 - len("decode") - len("decode-ldr"))
    component(one, "decode").update(name="DECODE")
    assert [line for line in admission_problems(one) if "decode" in line.lower()] == []
    assert grove_name_length("graph", {"name": "worker"}) == 11
    assert grove_name_length("graph", {"name": "Worker", "multinode": {}}) == 5 + 6 + 10
    assert [image_tag(i) for i in ("a/b:1.6.1-efa", "h:5/a", "h:5/a:v1.2.3@sha256:0", "a")] == [
        "1.6.1-efa",
        "",
        "v1.2.3",
        "",
    ]


UPDATES: dict[str, tuple[Any, str]] = {
    "component gone": (lambda g: g["spec"]["components"].pop(), "the set is immutable"),
    "type": (lambda g: component(g, "decode").update(type="worker"), "type"),
    "framework": (lambda g: g["spec"].update(backendFramework="sglang"), "backendFramework"),
    "policy": (lambda g: g["spec"]["experimental"].pop("kvTransferPolicy"), "kvTransferPolicy"),
    "one node": (lambda g: component(g, "decode").pop("multinode"), "multinode"),
    "replicas": (lambda g: component(g, "decode").update(replicas=3), "scaling adapter"),
    "min available": (lambda g: component(g, "prefill").pop("minAvailable"), "minAvailable"),
}


@pytest.mark.parametrize("case", UPDATES)
def test_updates_refuse(case: str) -> None:
    """What cannot change under a name; arguments and images can."""
    change, says = UPDATES[case]
    old, new = graph(), graph()
    main(new, "decode").update(image="x:1.6.2", args=[])
    component(new, "frontend").update(replicas=5)
    assert update_problems(old, new) == []
    change(new)
    assert any(says in line for line in update_problems(old, new))


def _resources(one: dict[str, Any], **resources: Any) -> None:
    main(one, "decode").update(resources=resources)


SERVER: dict[str, tuple[str, Any, str]] = {
    "name": ("ConfigMap", lambda d: d["metadata"].update(name="Router_policy"), "no DNS name"),
    "graph name": ("DynamoGraphDeployment", lambda d: d["metadata"].update(name="a.b"), "no DNS label"),
    "service name": ("Service", lambda d: d["metadata"].update(name="1a"), "no DNS label"),
    "long name": ("Service", lambda d: d["metadata"].update(name="a" * 64), "no DNS label"),
    "namespace": ("Service", lambda d: d["metadata"].update(namespace="a.b"), "namespace"),
    "label value": ("Service", lambda d: d["metadata"].update(labels={"a": "meta-llama/Llama"}), "no label value"),
    "long label": ("Service", lambda d: d["metadata"].update(labels={"a": "a" * 64}), "no label value"),
    "label key": ("Service", lambda d: d["metadata"].update(labels={"a/b/c": "a"}), "no qualified name"),
    "annotation": ("Service", lambda d: d["metadata"].update(annotations={"a b": "a"}), "no qualified name"),
    "config key": ("ConfigMap", lambda d: d["data"].update({"a/b": "x"}), "no key"),
    "config size": ("ConfigMap", lambda d: d["data"].update(a="é" * 600_000), "more than"),
    "budget": ("PodDisruptionBudget", lambda d: d["spec"].update(minAvailable=1), "exactly one"),
    "empty budget": ("PodDisruptionBudget", lambda d: d["spec"].update(selector={}), "every pod"),
    "selector": ("DaemonSet", lambda d: d["spec"]["selector"].update(matchLabels={"app": "x"}), "does not match"),
    "mount": (
        "DynamoGraphDeployment",
        lambda d: main(d, "frontend").update(volumeMounts=[{"name": "nope", "mountPath": "/x"}]),
        "no volume",
    ),
    "claim": (
        "DynamoGraphDeployment",
        lambda d: component(d, "prefill")["podTemplate"]["spec"].pop("resourceClaims"),
        "claim",
    ),
    "env": (
        "DynamoGraphDeployment",
        lambda d: main(d, "prefill")["env"][0].update(value="x"),
        "both value and valueFrom",
    ),
    "port name": (
        "DynamoGraphDeployment",
        lambda d: main(d, "prefill").update(ports=[{"name": "much-too-long-name", "containerPort": 1}]),
        "no port name",
    ),
    "gpu unequal": (
        "DynamoGraphDeployment",
        lambda d: _resources(d, limits={"nvidia.com/gpu": 8}, requests={"nvidia.com/gpu": "4"}),
        "equal to it",
    ),
    "gpu request alone": (
        "DynamoGraphDeployment",
        lambda d: _resources(d, requests={"nvidia.com/gpu": 8}),
        "needs a limit",
    ),
    "part of a gpu": ("DynamoGraphDeployment", lambda d: _resources(d, limits={"nvidia.com/gpu": "500m"}), "of 500m"),
    "over limit": (
        "DynamoGraphDeployment",
        lambda d: _resources(d, limits={"memory": "1Gi"}, requests={"memory": "1100Mi"}),
        "over its limit",
    ),
    "huge pages alone": (
        "DynamoGraphDeployment",
        lambda d: _resources(d, limits={"hugepages-2Mi": "2Mi"}),
        "huge pages",
    ),
}


@pytest.mark.parametrize("case", SERVER)
def test_api_server_refuses(case: str) -> None:
    """One broken rule, named."""
    kind, change, says = SERVER[case]
    one = document(kind)
    assert api_server_problems(one) == []
    change(one)
    assert any(says in line for line in api_server_problems(one)), api_server_problems(one)


def test_quantities() -> None:
    """Read as Kubernetes reads them."""
    assert [quantity(q) for q in ("1Gi", "1G", "500m", 2, "0.5", "1e3")] == [
        2**30,
        10**9,
        quantity(0.5),
        2,
        quantity("0.5"),
        1000,
    ]
