"""`inferfab verify`: what a cluster that is as planned says, and each way in which it may not be."""

import copy
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from live import Live

from inferfab import check, load
from inferfab.environment.loading import Loaded
from inferfab.findings import Finding
from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.verify.cluster import Answer, NotSeen
from inferfab.verify.verify import Verified, verify

ROOT = Path(__file__).resolve().parents[2]


@cache
def planned(name: str) -> tuple[Loaded, FleetPlan]:
    loaded = load(ROOT / "environments" / f"{name}.yaml")
    plan = check(loaded).plan
    assert plan is not None
    return loaded, plan


def cell_of(name: str) -> CellPlan:
    return planned(name)[1].cells[0]


def look(name: str, live: Any, **options: Any) -> Verified:
    loaded, fleet = planned(name)
    cell = fleet.cells[0]
    return verify(fleet, [cell], {cell.name: live}, loaded.source, **{"wait_seconds": 0.0, **options})


def errors(found: Verified, rule: str) -> list[Finding]:
    return [f for f in found.findings if f.rule == rule]


@pytest.mark.parametrize("name", ["dev", "staging", "prod", "prod-gcp", "prod-hybrid"])
def test_a_cluster_as_planned_has_no_finding(name: str) -> None:
    """And says what was seen of it; each tier was asked for one token with its own keys."""
    cell = cell_of(name)
    live = Live(cell)
    if cell.serving.claims:
        drivers = ("gpu.nvidia.com", "efa.networking.k8s.aws", "dra.net")
        live.objects["resourceslices.resource.k8s.io"] = [
            {"spec": {"nodeName": node["metadata"]["name"], "driver": driver, "devices": [{}] * 8}}
            for node in live.objects["nodes"]
            for driver in drivers
        ]
    found = look(name, live)
    assert [(f.rule, f.what) for f in found.findings] == []
    assert found.ok and not found.unknown
    assert {(service, body["model"]) for service, body in live.asked} == {
        (e.service, e.model) for e in cell.serving.entries
    }
    assert all(body["max_tokens"] == 1 for _, body in live.asked)
    asked = dict(live.asked)
    for entry in cell.serving.entries:
        if entry.target:
            assert asked[entry.service]["nvext"]["router"] == {
                "ttft_target": entry.target.ttft_ms, "itl_target": entry.target.itl_ms,
            }  # fmt: skip
        else:
            assert "nvext" not in asked[entry.service]


def first(live: Live, kind: str) -> dict[str, Any]:
    found: dict[str, Any] = live.objects[kind][0]
    return found


def lose_nodes(live: Live) -> None:
    group = live.cell.node_groups[0]
    live.objects["nodes"] = [n for n in live.objects["nodes"] if not n["metadata"]["name"].startswith(f"{group.name}-")]


def not_ready(live: Live) -> None:
    first(live, "nodes")["status"]["conditions"] = [
        {"type": "Ready", "status": "Unknown", "message": "kubelet stopped"}
    ]


def other_machine(live: Live) -> None:
    first(live, "nodes")["metadata"]["labels"]["node.kubernetes.io/instance-type"] = "t3.micro"


def older_kubelet(live: Live) -> None:
    first(live, "nodes")["status"]["nodeInfo"]["kubeletVersion"] = "v1.31.9-eks-1"


def half_updated(live: Live) -> None:
    group = max(live.cell.node_groups, key=lambda g: g.nodes.desired)
    node = next(n for n in live.objects["nodes"] if n["metadata"]["name"] == f"{group.name}-0")
    node["metadata"]["labels"]["eks.amazonaws.com/sourceLaunchTemplateVersion"] = "4"


def no_efa(live: Live) -> None:
    node = next(n for n in live.objects["nodes"] if "vpc.amazonaws.com/efa" in n["status"]["allocatable"])
    node["status"]["allocatable"] = {**node["status"]["allocatable"], "vpc.amazonaws.com/efa": "0"}


def no_gpus(live: Live) -> None:
    node = first(live, "nodes")
    node["status"]["allocatable"] = {k: v for k, v in node["status"]["allocatable"].items() if "gpu" not in k}


def graph_gone(live: Live) -> None:
    name = live.objects["dynamographdeployments.nvidia.com"][0]["metadata"]["name"]
    live.objects["dynamographdeployments.nvidia.com"][0]["metadata"]["name"] = name[:-6] + "ffffff"


def graph_pending(live: Live) -> None:
    status = first(live, "dynamographdeployments.nvidia.com")["status"]
    status["conditions"] = [{"type": "Ready", "status": "False", "message": "some resources are not ready"}]
    status["state"] = "pending"
    part = next(iter(status["components"].values()))
    part["replicas"], part["readyReplicas"] = 3, 1


def graph_of_before(live: Live) -> None:
    first(live, "dynamographdeployments.nvidia.com")["status"]["observedGeneration"] = 1


def operator_down(live: Live) -> None:
    first(live, "deployments.apps")["status"] = {}


def model_half(live: Live) -> None:
    first(live, "daemonsets.apps")["status"]["numberReady"] = 1


def model_unplanned(live: Live) -> None:
    live.objects["daemonsets.apps"].pop(0)


def tier_fails(live: Live) -> None:
    service = live.cell.serving.entries[0].service
    good = live.answers
    live.answers = lambda s, b: Answer(status=404, text='{"error": "model not found"}') if s == service else good(s, b)


def no_token(live: Live) -> None:
    live.answers = lambda s, b: Answer(status=200, text='{"choices": [], "usage": null}')


def html(live: Live) -> None:
    live.answers = lambda s, b: Answer(status=200, text="<html>")


def nothing_moved(live: Live) -> None:
    live.series["vllm:nixl_bytes_transferred_sum"] = []


def over_tcp(live: Live) -> None:
    live.series["__name__"] = [1000.0]


def pods_changed(live: Live) -> None:
    for pod in live.objects["pods"]:
        for container in pod["spec"]["containers"]:
            for one in container["env"]:
                if one["name"] in ("UCX_TLS", "FI_PROVIDER"):
                    one["value"] = "tcp"


def no_gateway(live: Live) -> None:
    live.objects["services"] = []


def nobody_behind(live: Live) -> None:
    live.objects["endpointslices.discovery.k8s.io"] = []


def gateway_sick(live: Live) -> None:
    live.refused["/api/v1/namespaces/gateway/pods/gw-0"] = NotSeen("unreachable", "503")


def paged(live: Live) -> None:
    live.series["ALERTS"] = [{"alertname": "TierDown", "severity": "critical", "tier": "priority"}]


BROKEN: list[tuple[Callable[[Live], None], str, str, str]] = [
    (lose_nodes, "IF-VFY-002", "0 nodes of", "error"),
    (not_ready, "IF-VFY-002", "kubelet stopped", "error"),
    (other_machine, "IF-VFY-003", "is t3.micro, and p5", "error"),
    (older_kubelet, "IF-VFY-003", "runs Kubernetes 1.31, and 1.36", "warning"),
    (half_updated, "IF-VFY-003", "several launch template versions", "warning"),
    (no_efa, "IF-VFY-004", "0 vpc.amazonaws.com/efa allocatable", "error"),
    (no_gpus, "IF-VFY-004", "0 nvidia.com/gpu allocatable, and 8 planned", "error"),
    (graph_gone, "IF-VFY-005", "of another plan is there", "error"),
    (graph_pending, "IF-VFY-005", "1 of 3", "error"),
    (graph_of_before, "IF-VFY-005", "is not ready", "error"),
    (operator_down, "IF-VFY-006", "keda/keda-operator: 0 of 1", "error"),
    (model_half, "IF-VFY-007", "is whole on 1 of 2 nodes", "error"),
    (model_unplanned, "IF-VFY-007", "is not there", "error"),
    (tier_fails, "IF-VFY-008", "HTTP 404: ", "error"),
    (no_token, "IF-VFY-008", "without a token", "error"),
    (html, "IF-VFY-008", "no completion", "error"),
    (nothing_moved, "IF-VFY-009", "no KV cache was handed over", "error"),
    (over_tcp, "IF-VFY-009", "went another way", "error"),
    (pods_changed, "IF-VFY-009", "'tcp', and 'efa' was planned", "error"),
    (no_gateway, "IF-VFY-010", "no Service entrance", "error"),
    (nobody_behind, "IF-VFY-010", "no pod stands behind", "error"),
    (gateway_sick, "IF-VFY-010", "gw-0 does not say that it is ready", "error"),
    (paged, "IF-VFY-011", "TierDown fires (tier priority)", "error"),
]


@pytest.mark.parametrize(("break_it", "rule", "says", "severity"), BROKEN, ids=[b[0].__name__ for b in BROKEN])
def test_what_is_broken_is_found(break_it: Callable[[Live], None], rule: str, says: str, severity: str) -> None:
    """By its own rule, with the numbers, at a place of the environment file."""
    live = Live(copy.deepcopy(cell_of("prod")))
    break_it(live)
    found = look("prod", live)
    hits = [f for f in errors(found, rule) if says in f.what]
    assert hits, [(f.rule, f.what) for f in found.findings]
    assert hits[0].severity == severity
    assert hits[0].location.file.endswith("prod.yaml") and hits[0].location.line > 1
    assert found.ok == (severity == "warning")


def test_a_busy_tier_is_a_warning() -> None:
    """A lane that is full answers 429, Dynamo 529: neither is broken."""
    live = Live(cell_of("prod"))
    live.answers = lambda s, b: Answer(status=529, text="overloaded")
    found = look("prod", live)
    assert found.ok and len(errors(found, "IF-VFY-008")) == len(live.cell.serving.entries)


def unknowns() -> Iterator[tuple[str, str]]:
    for what in (
        "dynamographdeployments", "deployments", "daemonsets", "services", "/api/v1/namespaces/monitoring",
        cell_of("prod").serving.entries[0].service,
    ):  # fmt: skip
        yield what, "forbidden"


@pytest.mark.parametrize(("what", "kind"), list(unknowns()))
def test_what_is_not_seen_is_said(what: str, kind: Any) -> None:
    """A question that is not answered is a warning and stands under `unknown`, never silence."""
    live = Live(cell_of("prod"))
    live.refused[what] = NotSeen(kind, f"{what} is forbidden to you")
    found = look("prod", live)
    assert found.ok
    assert errors(found, "IF-VFY-012")
    assert any("is forbidden to you" in line for line in found.unknown)


def test_nics_that_nobody_exports_are_unknown() -> None:
    """That NIXL moved bytes is no proof of RDMA."""
    live = Live(cell_of("prod"))
    live.series["__name__"] = []
    found = look("prod", live)
    assert found.ok
    assert "nothing exports node_amazonefa_rdma_read_bytes" in errors(found, "IF-VFY-012")[0].what


def test_a_cluster_that_does_not_answer_is_an_error() -> None:
    """And nothing more is said about it."""
    live = Live(cell_of("prod"))
    live.refused["nodes"] = NotSeen("unreachable", "dial tcp: i/o timeout")
    for cluster in (live, NotSeen("unreachable", "dial tcp: i/o timeout")):
        found = look("prod", cluster)
        assert [f.rule for f in found.findings] == ["IF-VFY-001"]
        assert not found.ok and "i/o timeout" in found.findings[0].what


def test_no_operator() -> None:
    """A kind that the cluster does not know is the platform's absence."""
    live = Live(cell_of("prod"))
    live.refused["dynamographdeployments"] = NotSeen("no such kind", "doesn't have a resource type")
    assert "knows no DynamoGraphDeployment" in errors(look("prod", live), "IF-VFY-005")[0].what


def test_without_requests_nobody_is_asked() -> None:
    live = Live(cell_of("prod"))
    assert look("prod", live, requests=False).ok
    assert live.asked == []
    # Then nothing need have moved: that is unknown, not broken.
    live.series["vllm:nixl_bytes_transferred_sum"] = []
    found = look("prod", live, requests=False)
    assert found.ok and "nobody asked" in errors(found, "IF-VFY-012")[0].what


def test_it_waits_for_prometheus() -> None:
    """What a request moved is seen at the next scrape."""
    from inferfab.verify.metrics import look_at_transfers
    from inferfab.verify.seen import Seen

    live = Live(cell_of("prod"))
    live.series["vllm:nixl_bytes_transferred_sum"] = []
    naps: list[float] = []

    def nap(seconds: float) -> None:
        naps.append(seconds)
        if len(naps) == 3:
            live.series["vllm:nixl_bytes_transferred_sum"] = [1e6]

    seen = Seen(planned("prod")[1], live.cell)
    look_at_transfers(seen, live, wait_seconds=60, sleep=nap)
    assert naps == [5.0, 5.0, 5.0]
    assert seen.troubles == []
