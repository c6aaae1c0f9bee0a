"""The closed schemas take sound objects of every kind and refuse a wrong one, at the right place."""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from inferfab.environment.cells import Cluster

from . import cel
from .closed_schema import closed, problems, validator
from .kinds import KUBERNETES, crd_schema, kubernetes_release, load_overlay, overlaid, schema_problems
from .sample_files import component, document, graph, main, sound
from .shared_folder import shared

CORE_KINDS = ["DaemonSet", "PodDisruptionBudget", "NetworkPolicy", "ServiceAccount", "Service", "Job", "PriorityClass"]
CORE_KINDS += ["ConfigMap", "ResourceClaimTemplate"]


def refused(one: Any, *words: str) -> None:
    """At least one problem, and the words are in them."""
    found = schema_problems(one)
    assert found, "taken"
    for word in words:
        assert any(word in line for line in found), found


def test_kubernetes_is_the_default_minor() -> None:
    """The schemas are those of the Kubernetes that an environment gets if it does not choose."""
    assert Cluster.model_fields["kubernetes"].default == KUBERNETES
    assert kubernetes_release()["release"].startswith(f"v{KUBERNETES}.")


@pytest.mark.parametrize("kind", CORE_KINDS)
def test_built_in_kinds(kind: str) -> None:
    """Sound ones are taken; an unknown key at the top and in metadata, and no name, are refused."""
    one = document(kind)
    assert schema_problems(one) == []
    refused({**one, "nope": 1}, "nope")
    refused({**one, "metadata": {**one["metadata"], "nope": 1}}, "metadata", "nope")
    refused({key: value for key, value in one.items() if key != "metadata"}, "metadata")
    refused({**one, "metadata": {"namespace": "serving"}}, "name")


BUILT_IN = {
    "deep key": ("DaemonSet", ("spec", "template", "spec", "containers", 0), {"imagePullPolice": "Always"}),
    "string for a list": ("DaemonSet", ("spec", "template", "spec", "containers", 0), {"command": "sh -c x"}),
    "number for a string": (
        "DaemonSet",
        ("spec", "template", "spec", "containers", 0),
        {"env": [{"name": "A", "value": 1}]},
    ),
    "bool for a label": ("DaemonSet", ("metadata",), {"labels": {"a": True}}),
    "quantity": (
        "DaemonSet",
        ("spec", "template", "spec", "containers", 0),
        {"resources": {"limits": {"memory": "4 GB"}}},
    ),
    "fraction for a port": ("Service", ("spec", "ports", 0), {"port": 80.0}),
    "true for a port": ("Service", ("spec", "ports", 0), {"port": True}),
    "over int32": ("PriorityClass", (), {"value": 2**31}),
    "int or string": ("PodDisruptionBudget", ("spec",), {"maxUnavailable": 0.5}),
    "twin ports": ("Service", ("spec",), {"ports": [{"name": "a", "port": 1}, {"name": "b", "port": 1}]}),
    "no selector": ("DaemonSet", (), {"spec": {"template": {}}}),
    "null": ("ServiceAccount", (), {"automountServiceAccountToken": None}),
    "old claim shape": ("ResourceClaimTemplate", ("spec", "spec", "devices", "requests", 0), {"deviceClassName": "x"}),
    "config map number": ("ConfigMap", ("data",), {"a": 1}),
    "policy port": ("NetworkPolicy", ("spec", "ingress", 0, "ports", 0), {"endport": 5}),
}


@pytest.mark.parametrize("case", BUILT_IN)
def test_built_in_kinds_refuse(case: str) -> None:
    """One wrong value, deep inside."""
    kind, path, change = BUILT_IN[case]
    one = document(kind)
    node: Any = one
    for step in path:
        node = node[step]
    node.update(change)
    refused(one)


def test_unknown_kinds_are_refused() -> None:
    """A kind without a schema does not pass for want of one; nor does an old API version."""
    refused({"apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "metadata": {"name": "x"}}, "no schema")
    refused({"kind": "ConfigMap"}, "no schema")


def test_free_maps_stay_free() -> None:
    """Labels, data and DRA parameters take any key."""
    template = document("ResourceClaimTemplate")
    opaque = {"driver": "gpu.nvidia.com", "parameters": {"apiVersion": "x/v1", "anything": {"goes": 1}}}
    template["spec"]["spec"]["devices"]["config"] = [{"opaque": opaque}]
    assert schema_problems(template) == []


GRAPH: dict[str, Any] = {
    "unknown in spec": lambda g: g["spec"].update(services={}),
    "unknown in component": lambda g: component(g, "decode").update(resources={}),
    "unknown in container": lambda g: main(g, "decode").update(arg=[]),
    "unknown in pod": lambda g: component(g, "decode")["podTemplate"]["spec"].update(tolerate=[]),
    "unknown in adapter": lambda g: component(g, "decode").update(scalingAdapter={"enabled": True}),
    "type": lambda g: component(g, "decode").update(type="Decode"),
    "component name": lambda g: component(g, "decode").update(name="de code"),
    "name with line break": lambda g: component(g, "decode").update(name="decode\n"),
    "negative replicas": lambda g: component(g, "decode").update(replicas=-1),
    "one node": lambda g: component(g, "decode").update(multinode={"nodeCount": 1}),
    "memory": lambda g: component(g, "prefill").update(sharedMemorySize="16 Gi"),
    "framework": lambda g: g["spec"].update(backendFramework="vLLM"),
    "version": lambda g: component(g, "decode").update(runtimeVersionOverride="1.6"),
    "restart on create": lambda g: g["spec"].update(restart={"id": "1"}),
    "min available": lambda g: component(g, "prefill").update(minAvailable=2),
    "too many": lambda g: g["spec"].update(components=[{"name": f"c{n}"} for n in range(26)]),
    "twins": lambda g: component(g, "decode").update(name="Prefill"),
    "two epps": lambda g: g["spec"]["components"].extend({"name": n, "type": "epp"} for n in ("a", "b")),
    "epp config": lambda g: component(g, "decode").update(eppConfig={"config": {}}),
    "no weight": lambda g: g["spec"]["experimental"]["kvTransferPolicy"].pop("preferredWeight"),
    "weight alone": lambda g: g["spec"]["experimental"]["kvTransferPolicy"].pop("enforcement"),
    "weight": lambda g: g["spec"]["experimental"]["kvTransferPolicy"].update(preferredWeight=1.5),
    "two sources": lambda g: g["spec"]["experimental"]["kvTransferPolicy"].update(clusterTopologyName="t"),
    "no source": lambda g: g["spec"]["experimental"]["kvTransferPolicy"].pop("labelKey"),
    "no domain": lambda g: g["spec"]["experimental"]["kvTransferPolicy"].pop("domain"),
    "label key": lambda g: g["spec"]["experimental"]["kvTransferPolicy"].update(labelKey="a b"),
    "checkpoint": lambda g: component(g, "decode").update(experimental={"checkpoint": {}}),
    "provider": lambda g: g["spec"].update(providerOverride={"apiVersion": "x", "value": {}}),
    "empty group": lambda g: g["spec"]["experimental"].update(
        componentGroups=[{"name": "a", "replicas": 1, "components": []}]
    ),
    "toleration": lambda g: component(g, "decode")["podTemplate"]["spec"].update(tolerations=[{"value": True}]),
}


@pytest.mark.parametrize("case", GRAPH)
def test_graph_refuses(case: str) -> None:
    """DynamoGraphDeployment v1beta1: the CRD of 1.2.0, the overlay of 1.6, Kubernetes' pod."""
    one = graph()
    assert schema_problems(one) == []
    GRAPH[case](one)
    refused(one)


def test_other_kinds_of_operators() -> None:
    """DynamoModel and ExternalSecret, closed."""
    for kind, wrong in {
        "DynamoModel": {"modelType": "Lora"},
        "ExternalSecret": {"refreshInterval": 3600},
    }.items():
        one = document(kind)
        assert schema_problems(one) == []
        refused({**one, "spec": {**one["spec"], **wrong}})
        refused({**one, "spec": {**one["spec"], "nope": 1}}, "nope")
        refused({**one, "spec": {}})


def test_the_overlay_adds_what_1_2_0_refuses() -> None:
    """Without the overlay each of its fields is unknown, so none of it is there for nothing."""
    schema = crd_schema("dynamographdeployments")
    plain = validator(closed(schema))
    one = graph()
    one["spec"].update(providerOverride={"apiVersion": "grove.io/v1alpha1", "value": {}})
    one["spec"]["experimental"] = {
        "kvTransferPolicy": {"clusterTopologyName": "racks", "domain": "rack"},
        "componentGroups": [{"name": "pd", "replicas": 1, "components": [{"name": "prefill"}, {"name": "decode"}]}],
    }
    component(one, "decode").update(runtimeVersionOverride="1.6.1", dynamoSidecar="x")
    assert schema_problems(one) == []
    found = "\n".join(problems(plain, {"spec": one["spec"]}))
    added = {name for change in load_overlay()["changes"] for name in change.get("fields", {})}
    assert all(f"'{name}'" in found for name in added), found
    with pytest.raises(AssertionError, match="the CRD has"):
        overlaid(schema, {"changes": [{"at": ["spec"], "fields": {"labels": {}}}]})


def test_no_rule_is_passed_by() -> None:
    """A CEL rule that nobody has looked at makes the validator fail, not pass."""
    holder = validator(closed({"type": "object", "x-kubernetes-validations": [{"rule": "self.size() < 3"}]}))
    with pytest.raises(cel.UnknownRuleError):
        problems(holder, {})


def test_what_closing_keeps_open() -> None:
    """preserve-unknown-fields and free maps stay open; a field may be called as a keyword of JSON Schema is."""
    schema = yaml.safe_load(
        """
        type: object
        properties:
          free: {type: object, x-kubernetes-preserve-unknown-fields: true}
          map: {type: object, additionalProperties: {type: integer, format: int32}}
          default: {type: string}
          description: {type: string}
          either: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}
          perhaps: {type: string, nullable: true}
          once: {type: array, items: {type: string}, x-kubernetes-list-type: set}
        """
    )
    before = copy.deepcopy(schema)
    holder = validator(closed(schema))
    assert schema == before
    good = {
        "free": {"a": 1},
        "map": {"b": 2},
        "default": "c",
        "description": "d",
        "either": 1,
        "perhaps": None,
        "once": ["a"],
    }
    assert problems(holder, good) == []
    for wrong in (
        {"map": {"b": "2"}},
        {"default": 1},
        {"either": 1.5},
        {"free": 1},
        {"other": 1},
        {"once": ["a", "a"]},
    ):
        assert problems(holder, {**good, **wrong}), wrong


def test_every_sample_document_is_sound() -> None:
    """All kinds of the sample folder, through one door."""
    for text in sound().values():
        for one in yaml.safe_load_all(text):
            assert schema_problems(one) == [], one["metadata"]["name"]


FREE_MAPS = {
    "labels", "annotations", "matchLabels", "data", "limits", "requests", "selector", "parameters",
}  # fmt: skip
"""Fields under which any key may stand (``selector`` of a Service; a LabelSelector of that name is looked into)."""


def _mappings(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(node, dict):
        free = bool(path) and path[-1] in FREE_MAPS and not {"matchLabels", "matchExpressions"} & set(node)
        if not free:
            yield path
        for key, value in node.items():
            yield from _mappings(value, (*path, key))
    elif isinstance(node, list):
        for number, item in enumerate(node):
            yield from _mappings(item, (*path, number))


@pytest.mark.parametrize("file", sorted(sound()))
def test_an_unknown_key_is_refused_at_every_level(file: str) -> None:
    """Into each mapping of each sample, one key that nobody knows."""
    tried = 0
    for one in yaml.safe_load_all(sound()[file]):
        for path in _mappings(one):
            broken = copy.deepcopy(one)
            node: Any = broken
            for step in path:
                node = node[step]
            node["unknownKey"] = "x"
            assert any("unknownKey" in line for line in schema_problems(broken)), (one["kind"], path)
            tried += 1
    assert tried >= 15


def test_the_kept_dynamo_schemas_are_those_of_the_crds() -> None:
    """Cut out again from the CRDs beside the repository, to the same bytes of meaning."""
    folder = shared("data/crds/dynamo-1.2.0-fork/nvidia.com_dynamomodels.yaml").parent
    code = (Path(__file__).parents[2] / "tools" / "cut_dynamo_crds.py").read_text(encoding="utf-8")
    tool: dict[str, Any] = {"__name__": "tool", "__file__": str(Path(__file__).parents[2] / "tools" / "x.py")}
    exec(compile(code, "cut_dynamo_crds.py", "exec"), tool)
    for plural, schema in tool["schemas"](folder).items():
        assert crd_schema(plural) == schema
