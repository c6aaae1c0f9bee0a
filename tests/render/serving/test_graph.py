"""Graphs as their pods will be: ready only when they can answer, kept while they serve, never reading `$(…)` anew."""

import json
import subprocess
import sys
import threading
from functools import cache
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from inferfab.environment.loading import load_text
from inferfab.plan.fleet import FleetPlan, plan
from inferfab.render.google import google_files
from inferfab.render.serving import serving_files

ROOT = Path(__file__).resolve().parents[3]
ENVIRONMENTS = ("dev", "staging", "prod", "prod-gcp")


def fleet_of(text: str) -> FleetPlan:
    environment = load_text(text).environment
    assert environment is not None
    return plan(environment)


def shipped(name: str) -> str:
    return (ROOT / "environments" / f"{name}.yaml").read_text(encoding="utf-8")


@cache
def objects(name: str) -> tuple[dict[str, Any], ...]:
    fleet = fleet_of(shipped(name))
    files = [text for cell in fleet.cells for text in serving_files(fleet, cell).values()]
    return tuple(document for text in files for document in yaml.safe_load_all(text) if document)


def parts(name: str, *kinds: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Graphs with each of their components of some types."""
    graphs = [o for o in objects(name) if o["kind"] == "DynamoGraphDeployment"]
    return [(g, c) for g in graphs for c in g["spec"]["components"] if c.get("type") in kinds]


def main_of(component: dict[str, Any]) -> dict[str, Any]:
    (container,) = [c for c in component["podTemplate"]["spec"]["containers"] if c["name"] == "main"]
    return container


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_a_frontend_is_ready_when_its_model_is_listed(name: str) -> None:
    """Not before a worker has registered: `/health` of 1.6.1 answers 200 without any (seen with the real process)."""
    found = parts(name, "frontend")
    assert found
    for graph, component in found:
        get = main_of(component)["readinessProbe"]["httpGet"]
        assert get == {"path": f"/v1/models/{graph['metadata']['labels']['inferfab/model']}", "port": 8000}


def test_over_tiers_each_tier_is_asked_first() -> None:
    """The router lists the model before its pools have it: prod's tiers are 200 ms / 40 ms and 2,000 ms / 80 ms."""
    over = [(g, c) for g, c in parts("prod", "frontend") if "inferfab/pool" not in g["metadata"]["labels"]]
    assert len(over) == 3
    for _, component in over:
        command = main_of(component)["startupProbe"]["exec"]["command"]
        assert command == ["python3", "/etc/inferfab/ready.py", "llama-70b", "200,40", "2000,80"]
        assert {m["mountPath"] for m in main_of(component)["volumeMounts"]} == {"/etc/inferfab"}
    names = {g["metadata"]["name"] for g, _ in over}
    configs = [o for o in objects("prod") if o["kind"] == "ConfigMap" and "ready.py" in o["data"]]
    assert len([c for c in configs if c["metadata"]["labels"]["inferfab/graph"] in names]) == 3


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_frontend_is_asked_for_a_token_and_every_worker_asks_itself(name: str) -> None:
    """At the start a frontend; an idle worker again and again, which the runtime does only when told to."""
    configs = {o["metadata"]["name"]: o["data"] for o in objects(name) if o["kind"] == "ConfigMap"}
    for graph, component in parts(name, "frontend"):
        model = graph["metadata"]["labels"]["inferfab/model"]
        command = main_of(component)["startupProbe"]["exec"]["command"]
        assert command[:3] == ["python3", "/etc/inferfab/ready.py", model]
        volumes = component["podTemplate"]["spec"]["volumes"]
        (mounted,) = [v["configMap"]["name"] for v in volumes if "configMap" in v]
        assert "ready.py" in configs[mounted]
    for _, component in parts(name, "prefill", "decode", "worker"):
        env = {e["name"]: e.get("value") for e in main_of(component)["env"]}
        assert env["DYN_HEALTH_CHECK_ENABLED"] == "true"


def test_the_question_is_one_token(tmp_path: Path) -> None:
    """The rendered script against a frontend that notes what it is asked, and that has nothing behind it later."""
    asked: list[dict[str, Any]] = []
    script = next(o for o in objects("dev") if o["kind"] == "ConfigMap" and "ready.py" in o["data"])["data"]["ready.py"]

    class Frontend(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200 if len(asked) < 4 else 503)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Frontend) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        text = script.replace("127.0.0.1:8000", f"127.0.0.1:{server.server_address[1]}")
        assert text != script
        one = [sys.executable, "-c", text, "m"]
        assert subprocess.run(one, check=False).returncode == 0
        assert subprocess.run([*one, "200,40", "2000,80"], check=False).returncode == 0
        gone = subprocess.run(one, capture_output=True, text=True, check=False)
        server.shutdown()
    assert gone.returncode == 1 and "503" in gone.stderr
    plain = {"model": "m", "prompt": "ready", "max_tokens": 1}
    by = {"ttft_target": 200.0, "itl_target": 40.0}, {"ttft_target": 2000.0, "itl_target": 80.0}
    assert asked[:3] == [plain, *({**plain, "nvext": {"router": b}} for b in by)]


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_answers_in_flight_may_end(name: str) -> None:
    """As long as the gateways let a request take, and then a minute."""
    cells = fleet_of(shipped(name)).cells
    longest = max(t.timeout_seconds for cell in cells for t in cell.gateway.tiers)
    assert longest <= 3600 and {c.drain_seconds for c in cells} == {max(1800, longest + 60)}
    for _, component in parts(name, "frontend", "prefill", "decode", "worker"):
        grace = component["podTemplate"]["spec"]["terminationGracePeriodSeconds"]
        (told,) = [int(e["value"]) for e in main_of(component)["env"] if "GRACEFUL" in e["name"]]
        assert longest <= told == grace - 60


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_what_a_kept_graph_needs_is_kept_with_it(name: str) -> None:
    """Its configuration and its budgets: without them its next pod would not start, and a drain take all."""
    graphs = [o["metadata"]["name"] for o in objects(name) if o["kind"] == "DynamoGraphDeployment"]
    with_graph = [o for o in objects(name) if o["metadata"].get("labels", {}).get("inferfab/graph") in graphs]
    assert {o["kind"] for o in with_graph} == {"ConfigMap", "PodDisruptionBudget"}
    kept = [o for o in objects(name) if o["metadata"].get("annotations", {}).get("helm.sh/resource-policy") == "keep"]
    assert len(kept) == len(with_graph) + len(graphs)


def test_workers_stand_any_value_of_the_taint_of_gpus() -> None:
    """Google taints nodes with GPUs `nvidia.com/gpu=present`, eksctl and ours with `true`."""
    for name in ("dev", "prod-gcp"):
        for _, component in parts(name, "worker", "prefill", "decode"):
            tolerations = component["podTemplate"]["spec"]["tolerations"]
            assert {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"} in tolerations


def test_kubernetes_puts_nothing_into_arguments() -> None:
    """`$(POD_IP)` in an argument would become the pod's address: `$$(…)` is how Kubernetes is told not to."""
    tree = yaml.safe_load(shipped("dev"))
    tree["pools"]["chat"]["worker"]["flags"] = {"--reasoning-config": '{"x": "$(POD_IP)"}'}
    fleet = fleet_of(yaml.safe_dump(tree))
    text = serving_files(fleet, fleet.cells[0])["graphs/chat.yaml"]
    assert '"$$(POD_IP)"' in text and '"$(POD_IP)"' not in text


def test_models_come_by_pods_of_their_own() -> None:
    """staging's shared pool has two models: one that does not come holds up no other."""
    sets = [o for o in objects("staging") if o["kind"] == "DaemonSet"]
    models = sorted(o["metadata"]["labels"]["inferfab/model"] for o in sets)
    assert models == ["llama-70b", "llama-70b", "llama-8b", "qwen3-8b"], "the first on prefill and on decode nodes"
    assert len({o["metadata"]["name"] for o in sets}) == len(sets)


def test_nccl_between_google_nodes_takes_googles_plugin() -> None:
    """Workers of two nodes read it where the installer has put it; the image's own library path stays as it is."""
    tree = yaml.safe_load(shipped("prod-gcp"))
    # By networks: Dynamo's operator counts no GPUs of claims over several nodes (IF-SRV-005).
    tree["cells"]["usc1-c"]["fabric"] = {"kind": "roce", "attach": "networks"}
    tree["pools"]["chat"]["prefill"]["tensor_parallel"] = 8
    tree["pools"]["chat"]["decode"] |= {"tensor_parallel": 8, "pipeline_parallel": 2}
    fleet = fleet_of(yaml.safe_dump(tree))
    (graph,) = (
        o
        for o in yaml.safe_load_all(serving_files(fleet, fleet.cells[0])["graphs/chat.yaml"])
        if o["kind"] == "DynamoGraphDeployment"
    )
    by_name = {c["name"]: c for c in graph["spec"]["components"]}
    assert by_name["decode"]["multinode"] == {"nodeCount": 2}
    main = main_of(by_name["decode"])
    env = {e["name"]: e.get("value") for e in main["env"]}
    assert env["NCCL_NET"] == "gIB"
    assert env["NCCL_NET_PLUGIN"].startswith("/usr/local/gib/lib64/")
    assert "LD_LIBRARY_PATH" not in env
    assert main["command"][0] != "sh", "the operator adds ranks to a python command only"
    (mount,) = (m for m in main["volumeMounts"] if m["mountPath"] == "/usr/local/gib")
    assert mount["readOnly"] is True
    (volume,) = (v for v in by_name["decode"]["podTemplate"]["spec"]["volumes"] if v["name"] == mount["name"])
    installer = google_files(fleet.cells[0])["gib.yaml"]
    assert volume["hostPath"]["path"] in installer
    # Within a node NCCL needs none of it.
    alone = main_of(by_name["prefill"])
    assert not any(e["name"].startswith("NCCL_") for e in alone["env"])
