"""Monitors, rules and routes against the closed schemas of prometheus-operator's own CRDs."""

from functools import cache
from typing import Any

import pytest
import yaml

from inferfab.environment.loading import load_text
from inferfab.plan.fleet import FleetPlan, plan
from inferfab.render.gateway.files import gateway_files
from inferfab.render.observability.files import observability_files
from inferfab.render.serving.files import serving_files
from render.observability.rules import ENVIRONMENTS, ROOT, fleet

from .closed_schema import closed, problems, validator
from .shared_folder import shared

FILES = {"PodMonitor": "podmonitors", "PrometheusRule": "prometheusrules", "AlertmanagerConfig": "alertmanagerconfigs"}
RECEIVERS = """
observability:
  efa_exporter_image: registry.example.com/efa:1
  grafana: {admin_secret: grafana-admin}
  receivers:
    night: {kind: pagerduty, secret: pagerduty}
    desk: {kind: slack, channel: '#gpu-fleet', secret: slack}
    beat: {kind: webhook, secret: heartbeat}
  route: {page: night, ticket: desk, dead_mans_switch: beat}
"""


class _Loader(yaml.SafeLoader):
    """YAML 1.1 gives a plain `=`, one of the kinds of matchers, a type of its own."""


_Loader.add_constructor("tag:yaml.org,2002:value", lambda loader, node: loader.construct_scalar(node))


@cache
def holder(kind: str, version: str) -> Any:
    file = shared(f"data/crds/prometheus-operator/monitoring.coreos.com_{FILES[kind]}.yaml")
    crd = yaml.load(file.read_text(), Loader=_Loader)
    found = next(v for v in crd["spec"]["versions"] if v["name"] == version)
    return validator(closed(found["schema"]["openAPIV3Schema"]["properties"]["spec"]))


@cache
def told() -> FleetPlan:
    text = (ROOT / "environments" / "prod.yaml").read_text() + RECEIVERS
    loaded = load_text(text)
    assert loaded.environment is not None, loaded.findings
    return plan(loaded.environment)


def documents(one: FleetPlan) -> list[Any]:
    return [d for c in one.cells for t in observability_files(one, c).values() for d in yaml.safe_load_all(t) if d]


@pytest.mark.parametrize("name", (*ENVIRONMENTS, "told"))
def test_prometheus_operator_takes_them(name: str) -> None:
    """Unknown keys are refused here, where the API server would drop them in silence."""
    judged = 0
    for document in documents(told() if name == "told" else fleet(name)):
        if document["kind"] in FILES:
            version = document["apiVersion"].split("/")[1]
            assert problems(holder(document["kind"], version), document["spec"]) == [], document["metadata"]["name"]
            judged += 1
    assert judged > 5


def test_a_wrong_key_would_be_found() -> None:
    """The proof can fail."""
    (monitor, *_) = [d for d in documents(fleet("dev")) if d["kind"] == "PodMonitor"]
    monitor["spec"]["podMetricsEndpoints"][0]["honourLabels"] = True
    assert problems(holder("PodMonitor", "v1"), monitor["spec"])


def test_routes_send_each_alert_to_one_receiver() -> None:
    """Pages to the pager, tickets to the desk, the heartbeat to who expects it; secrets by name only."""
    (config, *_) = [d for d in documents(told()) if d["kind"] == "AlertmanagerConfig"]
    routes = [(r["receiver"], r["matchers"][0]["value"]) for r in config["spec"]["route"]["routes"]]
    assert routes == [
        ("beat", "Watchdog"), ("_nobody", "Watchdog|InfoInhibitor"), ("night", "page|critical"),
        ("desk", "ticket|warning"),
    ]  # fmt: skip
    known = {r["name"] for r in config["spec"]["receivers"]}
    assert {receiver for receiver, _ in routes} <= known
    (pager,) = next(r for r in config["spec"]["receivers"] if r["name"] == "night")["pagerdutyConfigs"]
    assert pager["routingKey"] == {"name": "pagerduty", "key": "routing-key"}


def test_whatever_a_receiver_is_called_names_are_unique() -> None:
    """The operator refuses an AlertmanagerConfig with two of a name, and routes nothing then."""
    text = (ROOT / "environments" / "prod.yaml").read_text() + RECEIVERS.replace("desk", "nobody")
    loaded = load_text(text)
    assert loaded.environment is not None, loaded.findings
    configs = [d for d in documents(plan(loaded.environment)) if d["kind"] == "AlertmanagerConfig"]
    assert configs
    for config in configs:
        names = [r["name"] for r in config["spec"]["receivers"]]
        assert len(names) == len(set(names)) == 4


def _admitted(files: dict[str, str]) -> set[int]:
    """Ports that policies open to Prometheus."""
    policies = [d for t in files.values() for d in yaml.safe_load_all(t) if d and d["kind"] == "NetworkPolicy"]
    (rule,) = next(p for p in policies if p["metadata"]["name"] == "from-metrics")["spec"]["ingress"]
    return {one["port"] for one in rule["ports"]}


def test_what_is_scraped_is_let_in() -> None:
    """Each monitor's port, by the name that the container gives it, is open to Prometheus in its namespace.

    Of Envoy and the AI gateway: names and numbers of Envoy Gateway 1.9 (19001) and Envoy AI Gateway 1.1 (1064).
    """
    names = {"http": 8000, "system": 9090, "metrics": 9085}
    gateways = {"metrics": 19001, "aigw-admin": 1064}
    for one in (told(), fleet("prod"), fleet("prod-hybrid"), fleet("dev")):
        for cell in one.cells:
            files = observability_files(one, cell)
            found = [d for t in files.values() for d in yaml.safe_load_all(t) if d]
            exporters = [d for d in found if d["kind"] == "DaemonSet"]
            assert bool(exporters) == (one is told())
            for exporter in exporters:
                for port in exporter["spec"]["template"]["spec"]["containers"][0]["ports"]:
                    names |= {port["name"]: port["containerPort"]}
            monitors = [d for d in found if d["kind"] == "PodMonitor"]
            seen = set()
            for monitor in monitors:
                elsewhere = "namespaceSelector" in monitor["spec"]
                admitted = _admitted(gateway_files(cell) if elsewhere else serving_files(one, cell))
                for endpoint in monitor["spec"]["podMetricsEndpoints"]:
                    named = (gateways if elsewhere else names).get(endpoint.get("port", ""), 9090)
                    assert named in admitted, (cell.name, monitor["metadata"]["name"], named)
                    seen.add(named)
            assert {19001, 1064} <= seen
            # Nothing more is open than there is to see; NIXL's and the planner's ports are the same in every cell.
            assert _admitted(serving_files(one, cell)) <= seen | {9085, 9090, 19090}


def test_the_processors_port_may_be_an_init_containers() -> None:
    """As a native sidecar it is one, and what leaves init containers out would leave it out."""
    monitors = {d["metadata"]["name"]: d["spec"] for d in documents(fleet("dev")) if d["kind"] == "PodMonitor"}
    for name, spec in monitors.items():
        (endpoint,) = spec["podMetricsEndpoints"]
        dropped = [r for r in endpoint["relabelings"] if "container_init" in str(r.get("sourceLabels"))]
        assert bool(dropped) == (name != "inferfab-gateway-tokens"), name
        assert endpoint["path"] == ("/stats/prometheus" if name == "inferfab-gateway" else "/metrics")


def test_nobody_is_told_by_default() -> None:
    assert not [d for d in documents(fleet("prod")) if d["kind"] == "AlertmanagerConfig"]


def test_each_serving_pod_is_scraped_once() -> None:
    """Two monitors of one pod would make every sum twice as large; none would make it blind."""
    for name in ENVIRONMENTS:
        one = fleet(name)
        for cell in one.cells:
            monitors = [
                d for t in observability_files(one, cell).values() for d in yaml.safe_load_all(t)
                if d and d["kind"] == "PodMonitor"
            ]  # fmt: skip
            chosen = [m["spec"]["selector"]["matchExpressions"][0] for m in monitors]
            parts = {p.name for g in cell.serving.graphs for p in g.components}
            for part in parts:
                hits = [c for c in chosen if c["key"] == "inferfab/component" and part in c["values"]]
                assert len(hits) == 1, (name, part)


def test_monitors_give_the_planner_its_label() -> None:
    """It sums frontends by dynamo_namespace, which only the pod's label knows."""
    for document in documents(fleet("prod")):
        if document["kind"] == "PodMonitor" and document["metadata"]["name"] == "inferfab-frontends":
            (endpoint,) = document["spec"]["podMetricsEndpoints"]
            assert endpoint["honorLabels"] is True
            assert {
                "action": "replace",
                "sourceLabels": ["__meta_kubernetes_pod_label_nvidia_com_dynamo_namespace"],
                "targetLabel": "dynamo_namespace",
            } in endpoint["relabelings"]
            targets = {r.get("targetLabel") for r in endpoint["relabelings"]}
            assert {"cell", "tier", "pool", "route", "component"} <= targets
