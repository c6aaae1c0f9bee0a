"""What a tenant's own namespace keeps its pods from, and who reaches the metrics of everybody."""

import ipaddress
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from inferfab.environment.loading import load_text
from inferfab.plan.fleet import FleetPlan, plan
from inferfab.render.releases import cell_releases

ENVIRONMENTS = Path(__file__).resolve().parents[2] / "environments"
SHIPPED = ("dev", "staging", "prod", "prod-gcp", "prod-global", "prod-hybrid")
INSIDE = {
    "EKS services": "172.20.0.1",
    "EKS services, of a network in 172.16.0.0/12": "10.100.0.1",
    "servers of prod-hybrid": "10.80.0.17",
    "pods on servers of prod-hybrid": "10.81.3.4",
    "pods of GKE": "100.64.7.9",
    "services of GKE": "100.68.0.10",
    "the instance's metadata": "169.254.169.254",
}


@cache
def fleet(name: str) -> FleetPlan:
    """A shipped environment whose one tenant has a namespace."""
    text = (ENVIRONMENTS / f"{name}.yaml").read_text(encoding="utf-8")
    text = re.sub(r"(?ms)^tenants:.*?(?=^\S|\Z)", "", text)
    tier = re.findall(r"(?m)^    tier: (\S+)", text)[0]
    text += f"\ntenants:\n  team: {{tiers: {{{tier}: null}}, namespace: {{cpu: 4, memory_gib: 16, pods: 20}}}}\n"
    environment = load_text(text).environment
    assert environment is not None
    return plan(environment)


@cache
def cells(name: str) -> dict[str, list[dict[str, Any]]]:
    """Every object of every release, by cell."""
    return {
        cell.name: [
            body
            for release in cell_releases(fleet(name), cell)
            for text in release.files.values()
            for body in yaml.safe_load_all(text)
            if body
        ]
        for cell in fleet(name).cells
    }


def of_kind(bodies: list[dict[str, Any]], kind: str, namespace: str) -> dict[str, dict[str, Any]]:
    found = [b for b in bodies if b["kind"] == kind and b["metadata"].get("namespace") == namespace]
    return {body["metadata"]["name"]: body["spec"] for body in found}


def reached(policy: dict[str, Any], address: str) -> set[int | None]:
    """Ports of an address that the policy's ranges let out; None: every port."""
    ip, found = ipaddress.ip_address(address), set[int | None]()
    for rule in policy["egress"]:
        for block in (to["ipBlock"] for to in rule["to"] if "ipBlock" in to):
            if ip in ipaddress.ip_network(block["cidr"]) and not any(
                ip in ipaddress.ip_network(one) for one in block.get("except", ())
            ):
                found |= {port["port"] for port in rule["ports"]} if "ports" in rule else {None}
    return found


@pytest.mark.parametrize("name", SHIPPED)
def test_a_tenant_goes_to_the_internet_and_to_nothing_inside(name: str) -> None:
    for cell in fleet(name).cells:
        policy = of_kind(cells(name)[cell.name], "NetworkPolicy", "tenant-team")["alone"]
        assert reached(policy, "198.51.100.7") == {None}
        network = ipaddress.ip_network(cell.network.cidr)
        for address in (*INSIDE.values(), str(network[5]), str(network[-5])):
            # Names, and the rights of its own service account on Google.
            assert reached(policy, address) <= {53, 80}, (cell.name, address)
        assert 80 not in reached(policy, "172.20.0.1") | reached(policy, "10.80.0.17")


@pytest.mark.parametrize("name", SHIPPED)
def test_a_tenant_takes_no_device_that_the_fleet_uses(name: str) -> None:
    """Whole GPUs, slices (staging), NICs, and claims (Google)."""
    for bodies in cells(name).values():
        hard = of_kind(bodies, "ResourceQuota", "tenant-team")["quota"]["hard"]
        used = set(re.findall(r"'?((?:[a-z0-9-]+\.)+[a-z]+/[a-z0-9.-]+|rdma/[a-z0-9-]+)'?: ['\d]", _requests(bodies)))
        assert used <= {key.removeprefix("requests.") for key, value in hard.items() if value == "0"}
        for kind in ("resourceclaims", "resourceclaimtemplates"):
            assert hard[f"count/{kind}.resource.k8s.io"] == "0"
    if name == "staging":
        assert "nvidia.com/mig-1g.20gb" in used


def _requests(bodies: list[dict[str, Any]]) -> str:
    def walk(node: Any) -> list[Any]:
        if isinstance(node, dict):
            here = [node["resources"]] if isinstance(node.get("resources"), dict) else []
            return here + [hit for value in node.values() for hit in walk(value)]
        return [hit for value in node for hit in walk(value)] if isinstance(node, list) else []

    return yaml.safe_dump([hit for b in bodies if b["kind"] == "DynamoGraphDeployment" for hit in walk(b)])


@pytest.mark.parametrize("name", SHIPPED)
def test_a_tenants_pods_are_plain_and_last(name: str) -> None:
    """Not in the node's network or files (Pod Security Standards, baseline), and of no class that pushes others out."""
    for bodies in cells(name).values():
        (space,) = [b for b in bodies if b["kind"] == "Namespace" and b["metadata"]["name"] == "tenant-team"]
        assert space["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] in ("baseline", "restricted")
        quota = of_kind(bodies, "ResourceQuota", "tenant-team")["no-priority"]
        assert quota["hard"] == {"pods": "0"}
        (scope,) = quota["scopeSelector"]["matchExpressions"]
        assert scope == {"scopeName": "PriorityClass", "operator": "Exists"}


@pytest.mark.parametrize("name", SHIPPED)
def test_metrics_are_reached_by_those_who_ask_and_by_nobody_else(name: str) -> None:
    for cell in fleet(name).cells:
        bodies = cells(name)[cell.name]
        policies = of_kind(bodies, "NetworkPolicy", "monitoring")
        spaces: dict[str, set[str]] = {"prometheus": set(), "alertmanager": set()}
        for spec in policies.values():
            labels = spec["podSelector"]
            chosen = [labels["matchLabels"]["app.kubernetes.io/name"]] if "matchLabels" in labels else (
                labels["matchExpressions"][0]["values"]
            )  # fmt: skip
            for rule in spec["ingress"]:
                for one in rule["from"]:
                    for app in chosen:
                        spaces[app].add(_space(one))
        assert spaces["alertmanager"] == {"monitoring"}
        # Whoever has its address: planners in `serving`, KEDA by its objects there, Dynamo's operator by its values.
        named = {b["metadata"]["namespace"] for b in bodies if "-prometheus.monitoring:9090" in yaml.safe_dump(b)}
        assert named <= {"serving"}
        control = set(cell.network.cidrs("control-plane"))
        agents = {"kube-system"} if cell.cloud == "gcp" else set()
        assert spaces["prometheus"] == {"monitoring", "serving", "keda", "dynamo-system"} | control | agents
        assert control or agents


def _space(source: dict[str, Any]) -> str:
    if "ipBlock" in source:
        return str(source["ipBlock"]["cidr"])
    if "namespaceSelector" in source:
        return str(source["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"])
    assert source == {"podSelector": {}}
    return "monitoring"
