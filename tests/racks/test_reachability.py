"""What racks and AWS reach of each other. Expectations: EKS user guide, hybrid nodes (networking, add-ons)."""

import ipaddress
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml

from inferfab.environment.loading import load_text
from inferfab.plan.fleet import plan
from inferfab.plan.racks.traffic import rack_traffic
from inferfab.render.rendering import rendered_files

from .hybrid import cell, changed, files, fleet_of

SYSTEM = "10.64.16.0/20"
"""By hand: the lower quarter of the file's 10.64.0.0/16 is 10.64.0.0/18, and the second of its four parts this."""
NODES, PODS = "10.80.0.0/24", "10.81.0.0/16"


def policies(path: str, all_files: dict[str, str] | None = None) -> dict[str, Any]:
    text = (all_files or files())[f"dc1/{path}/network-policies.yaml"]
    return {one["metadata"]["name"]: one["spec"] for one in yaml.safe_load_all(text)}


def blocks(policy: dict[str, Any]) -> list[str]:
    return [peer["ipBlock"]["cidr"] for rule in policy["ingress"] for peer in rule["from"] if "ipBlock" in peer]


def two_tiers(tree: dict[str, Any]) -> None:
    """A second tier of the same model on the same racks: one router over both, on system nodes."""
    work = {"prompt_tokens": 1500, "output_tokens": 300, "utilization": 0.5}
    tree["tiers"]["standard"] = {"availability_percent": 99, "workload": work}
    for role in ("prefill", "decode"):
        tree["pools"]["chat"][role]["replicas"]["desired"] = 4
    tree["pools"]["more"] = {**deepcopy(tree["pools"]["chat"]), "tier": "standard"}
    tree["cells"]["dc1"]["pools"]["more"] = None


def test_servers_have_credentials_for_pods() -> None:
    """`enableCredentialsFile` in NodeConfig: the agent's DaemonSet for hybrid nodes reads that file."""
    nodes = [yaml.safe_load(text) for path, text in files().items() if path.startswith("dc1/nodes/")]
    assert len(nodes) == 8
    assert all(node["spec"]["hybrid"]["enableCredentialsFile"] is True for node in nodes)


def test_a_server_that_no_pool_needs_takes_nothing_else() -> None:
    """AWS: webhooks belong on nodes in AWS, and neither the VPC CNI nor the EBS driver runs on a server."""

    def fewer(tree: dict[str, Any]) -> None:
        tree["pools"]["chat"]["prefill"]["replicas"]["desired"] = 4
        tree["pools"]["chat"]["decode"]["replicas"]["desired"] = 4

    fleet = fleet_of(changed(fewer))
    racks = fleet.cells[0].racks
    assert racks is not None
    idle = [server.name for server in racks.servers if server.node_group is None]
    assert idle
    written = rendered_files(fleet)
    for name in idle:
        config = yaml.safe_load(written[f"dc1/nodes/{name}.yaml"])["spec"]["kubelet"]["config"]
        assert config["registerWithTaints"] == [{"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}]


def test_racks_call_the_api_dns_and_xds() -> None:
    """443 and 53 by AWS's tables; 18000 by the Envoy Gateway chart's Service. Frontends stand beside the workers here,
    so nothing of the runtime crosses the link, and tenants without budgets ask no rate limit service."""
    found = {(t.protocol, t.first, t.last) for t in rack_traffic(cell().serving, cell().gateway)}
    assert found == {("tcp", 443, 443), ("udp", 53, 53), ("tcp", 53, 53), ("tcp", 18000, 18000)}


def test_budgets_ask_the_rate_limit_service() -> None:
    def budget(tree: dict[str, Any]) -> None:
        tree["tenants"]["assistant"]["tiers"]["priority"] = {"requests_per_minute": 60}
        tree["gateway"]["rate_limits"] = {"kind": "global"}

    one = fleet_of(changed(budget)).cells[0]
    assert ("tcp", 8081) in {(t.protocol, t.first) for t in rack_traffic(one.serving, one.gateway)}


def test_prometheus_and_the_operator_in_aws_come_in_by_address() -> None:
    """Cilium runs on hybrid nodes only, so a pod in AWS has none of its labels there."""
    serving, gateway = policies("serving"), policies("gateway")
    assert blocks(serving["from-metrics"]) == [SYSTEM]
    assert blocks(serving["from-operator"]) == [SYSTEM]
    assert blocks(gateway["from-metrics"]) == [SYSTEM]
    # No more than these: gateways stand beside what they call.
    assert not blocks(serving["from-gateway"]) and not blocks(serving["within"])


def test_a_router_over_tiers_talks_across_the_link() -> None:
    """It stands on system nodes. Each side's CNI enforces for its own nodes and sees addresses of the other; workers
    answer on a port that the runtime picks, and gateways of racks call frontends there."""
    fleet = fleet_of(changed(two_tiers))
    one = fleet.cells[0]
    assert ("tcp", 1024, 65535) in {(t.protocol, t.first, t.last) for t in rack_traffic(one.serving, one.gateway)}
    serving = policies("serving", rendered_files(fleet))
    assert blocks(serving["within"]) == [SYSTEM, NODES, PODS]
    assert blocks(serving["from-gateway"]) == [NODES, PODS]


def test_cells_in_aws_alone_select_by_label_only() -> None:
    text = (Path(__file__).resolve().parents[2] / "environments" / "dev.yaml").read_text(encoding="utf-8")
    environment = load_text(text).environment
    assert environment is not None
    found = [
        text
        for path, text in rendered_files(plan(environment)).items()
        if path.endswith(("serving/network-policies.yaml", "gateway/network-policies.yaml"))
    ]
    assert found and not any("ipBlock" in text for text in found)


def test_tenants_programs_do_not_reach_racks_but_by_the_gateways() -> None:
    """Their way out is everywhere but the cell, and servers and pods of racks are of the cell."""

    def housed(tree: dict[str, Any]) -> None:
        tree["tenants"]["assistant"]["namespace"] = {"cpu": 4, "memory_gib": 8, "pods": 5}

    written = rendered_files(fleet_of(changed(housed)))
    objects = list(yaml.safe_load_all(written["dc1/gateway/tenants.yaml"]))
    (alone,) = (one for one in objects if one and one["kind"] == "NetworkPolicy")
    (block,) = (
        to["ipBlock"] for rule in alone["spec"]["egress"] for to in rule["to"]
        if to.get("ipBlock", {}).get("cidr") == "0.0.0.0/0"
    )  # fmt: skip
    kept = [ipaddress.ip_network(one) for one in block["except"]]
    for inside in ("10.64.0.0/16", NODES, PODS):
        assert any(ipaddress.ip_network(inside).subnet_of(one) for one in kept), inside
