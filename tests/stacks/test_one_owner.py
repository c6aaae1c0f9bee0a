"""No two of what is installed in a cell own one object, and none of ours has a name that an operator makes by itself.

Helm refuses to install over an object of another release, and operators refuse or take over an object that they would
make: either way something that was rendered is never there.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import pytest
import yaml
from synthesized import ALL, FABRICS, charts_of, fleet

from inferfab.plan.fleet import FleetPlan


class Owned(NamedTuple):
    """An object as the API server tells it from others."""

    group: str
    kind: str
    namespace: str
    name: str


_OF_A_GATEWAY = (
    ("", "Service"),
    ("", "ServiceAccount"),
    ("", "ConfigMap"),
    ("apps", "Deployment"),
    ("apps", "DaemonSet"),
    ("autoscaling", "HorizontalPodAutoscaler"),
    ("policy", "PodDisruptionBudget"),
)
"""Envoy Gateway 1.9 in its deploy type GatewayNamespace: each has the Gateway's own name and namespace (infrastructure
resource_provider.go, Name)."""
_OF_A_COMPONENT = (("", "Service"), ("apps", "Deployment"), ("nvidia.com", "DynamoGraphDeploymentScalingAdapter"))
"""Dynamo's operator: graph and component with a hyphen between (docs of the operator, component resources)."""
_OF_PROMETHEUS = (
    ("", "Service", "monitoring", "prometheus-operated"),
    ("", "Service", "monitoring", "alertmanager-operated"),
)


def made_by_operators(body: dict[str, Any]) -> Iterator[Owned]:
    """What an operator makes of an object of ours."""
    name, namespace = body["metadata"]["name"], body["metadata"].get("namespace", "")
    spec = body.get("spec", {})
    match body["kind"]:
        case "Gateway":
            for group, kind in _OF_A_GATEWAY:
                yield Owned(group, kind, namespace, name)
        case "AIGatewayRoute":
            yield Owned("gateway.networking.k8s.io", "HTTPRoute", namespace, name)
        case "Certificate":
            yield Owned("", "Secret", namespace, spec["secretName"])
        case "ExternalSecret":
            yield Owned("", "Secret", namespace, spec["target"]["name"])
        case "ScaledObject":
            yield Owned("autoscaling", "HorizontalPodAutoscaler", namespace, f"keda-hpa-{name}")
        case "DynamoGraphDeployment":
            for component in spec["components"]:
                for group, kind in _OF_A_COMPONENT:
                    yield Owned(group, kind, namespace, f"{name}-{component['name'].lower()}")


def owned(body: dict[str, Any]) -> Owned:
    group = body["apiVersion"].rpartition("/")[0]
    return Owned(group, body["kind"], body["metadata"].get("namespace", ""), body["metadata"]["name"])


@cache
def by_cell(name: str) -> dict[str, list[dict[str, Any]]]:
    return objects_by_cell(fleet(name))


def objects_by_cell(plan: FleetPlan) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for path, text in charts_of(plan):
        (cell,) = (c.name for c in plan.cells if path.split("/")[1].startswith(f"{plan.ownership.name}-{c.name}-"))
        found[cell] += [body for body in yaml.safe_load_all(text) if body]
    return found


@pytest.mark.parametrize("name", (*ALL, *FABRICS))
def test_every_object_of_a_cell_has_one_owner(name: str) -> None:
    cells = by_cell(name)
    assert set(cells) == {cell.name for cell in fleet(name).cells}
    for cell, bodies in cells.items():
        twice = [one for one, count in Counter(owned(body) for body in bodies).items() if count > 1]
        assert not twice, cell


@pytest.mark.parametrize("name", (*ALL, *FABRICS))
def test_no_object_of_ours_is_one_that_an_operator_makes(name: str) -> None:
    for cell, bodies in by_cell(name).items():
        made = [one for body in bodies for one in made_by_operators(body)] + [Owned(*one) for one in _OF_PROMETHEUS]
        # Two that make one are as bad.
        assert not [one for one, count in Counter(made).items() if count > 1], cell
        assert not set(made) & {owned(body) for body in bodies}, cell
        assert any(one.kind == "Service" and one.namespace == "gateway" for one in made), "no Gateway was looked at"
