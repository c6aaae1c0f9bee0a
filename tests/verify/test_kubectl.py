"""kubectl between `inferfab verify` and an API server: the real program against a server on loopback that answers in
the API's shapes, and a stand-in for what needs a kubelet (port-forward).
"""

import json
import shutil
import stat
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml
from live import TOKEN, Live

from inferfab import check, load
from inferfab.cli.main import main
from inferfab.verify.cluster import Kubectl, NotSeen, context_of

ROOT = Path(__file__).resolve().parents[2]
EKS = "arn:aws:eks:us-east-1:111122223333:cluster/prod-use1-a"
KINDS = {
    "v1": ["nodes", "services", "pods"],
    "apps/v1": ["deployments", "statefulsets", "daemonsets"],
    "discovery.k8s.io/v1": ["endpointslices"],
    "nvidia.com/v1beta1": ["dynamographdeployments"],
}


class Api(BaseHTTPRequestHandler):
    """Discovery, lists and proxies of an API server, and a frontend behind a port-forward."""

    live: Live
    asked: list[str]

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        self.asked.append(self.path)
        if path == "/api":
            return self._json({"kind": "APIVersions", "versions": ["v1"]})
        if path == "/apis":
            groups = [v for v in KINDS if "/" in v]
            return self._json(
                {
                    "kind": "APIGroupList",
                    "apiVersion": "v1",
                    "groups": [
                        {
                            "name": v.split("/")[0],
                            "versions": [{"groupVersion": v, "version": v.split("/")[1]}],
                            "preferredVersion": {"groupVersion": v, "version": v.split("/")[1]},
                        }
                        for v in groups
                    ],
                }
            )
        for version, kinds in KINDS.items():
            root = f"/api/{version}" if version == "v1" else f"/apis/{version}"
            if path == root:
                resources = [
                    {"name": k, "singularName": k[:-1], "namespaced": k != "nodes", "kind": k[:-1].title(),
                     "verbs": ["get", "list"]}
                    for k in kinds
                ]  # fmt: skip
                return self._json({"kind": "APIResourceList", "groupVersion": version, "resources": resources})
            if path.startswith(root) and path.rpartition("/")[2] in kinds:
                kind = path.rpartition("/")[2]
                if kind == "statefulsets":
                    return self._status(403, "Forbidden", 'statefulsets.apps is forbidden: User "me" cannot list')
                group = version.partition("/")[0] if "/" in version else ""
                (selector,) = parse_qs(urlsplit(self.path).query).get("labelSelector", [""])
                items = self.live.list(f"{kind}.{group}" if group else kind, None, selector)
                body = [{"apiVersion": version, "kind": kind[:-1].title(), **one} for one in items]
                return self._json({"apiVersion": version, "kind": f"{kind[:-1].title()}List", "items": body})
        if "/proxy" in path:
            return self._text(200, self.live.raw(self.path))
        return self._status(404, "NotFound", "the server could not find the requested resource")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.headers["Content-Type"] != "application/json":
            # As axum's extractor does.
            return self._text(415, "Expected request with `Content-Type: application/json`")
        return self._text(200 if body["max_tokens"] == 1 else 400, TOKEN)

    def _json(self, body: Any) -> None:
        self._text(200, json.dumps(body))

    def _status(self, code: int, reason: str, message: str) -> None:
        body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message,
                "code": code}  # fmt: skip
        self._text(code, json.dumps(body))

    def _text(self, code: int, text: str) -> None:
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Not on stderr."""


@pytest.fixture
def server() -> Iterator[tuple[int, Live, list[str]]]:
    plan = check(load(ROOT / "environments" / "prod.yaml")).plan
    assert plan is not None
    live, asked = Live(plan.cells[0]), []  # type: ignore[var-annotated]
    handler = type("OfThis", (Api,), {"live": live, "asked": asked})
    http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=http.serve_forever, daemon=True)
    thread.start()
    yield http.server_address[1], live, asked
    http.shutdown()
    http.server_close()


@pytest.fixture
def kubeconfig(server: tuple[int, Live, list[str]], tmp_path: Path) -> Path:
    port, live, _ = server
    name = f"arn:aws:eks:us-east-1:111122223333:cluster/{live.cell.cluster}"
    file = tmp_path / "kubeconfig"
    file.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "here", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
                "contexts": [{"name": name, "context": {"cluster": "here", "user": "me"}}],
                "users": [{"name": "me", "user": {}}],
            }
        )
    )
    return file


@pytest.fixture
def program(server: tuple[int, Live, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The real kubectl on the PATH, but for port-forward, which stands for one to the server."""
    real = shutil.which("kubectl")
    if real is None:
        pytest.skip("no kubectl on this machine")
    file = tmp_path / "bin" / "kubectl"
    file.parent.mkdir()
    file.write_text(
        f"#!{sys.executable}\nimport os, sys, time\n"
        "if 'port-forward' not in sys.argv:\n"
        f"    os.execv({real!r}, [{real!r}, *sys.argv[1:]])\n"
        f"print('Forwarding from 127.0.0.1:{server[0]} -> 8000', flush=True)\n"
        "time.sleep(60)\n"
    )
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{file.parent}:/usr/bin:/bin")
    monkeypatch.setenv("HOME", str(tmp_path))
    return file


def test_questions_through_the_real_program(
    kubeconfig: Path, program: Path, server: tuple[int, Live, list[str]]
) -> None:
    """Lists, proxies, and each way to be refused."""
    live = server[1]
    cluster = Kubectl(
        kubeconfig=str(kubeconfig), context=f"arn:aws:eks:us-east-1:111122223333:cluster/{live.cell.cluster}"
    )
    nodes = cluster.list("nodes", selector="inferfab/cell=use1-a")
    assert [n["metadata"]["name"] for n in nodes] == [n["metadata"]["name"] for n in live.objects["nodes"]]
    assert any("labelSelector=inferfab%2Fcell%3Duse1-a" in path for path in server[2])
    graphs = cluster.list("dynamographdeployments.nvidia.com", "serving")
    assert len(graphs) == len(live.cell.serving.graphs)
    assert any("/namespaces/serving/dynamographdeployments" in path for path in server[2])
    assert cluster.raw("/api/v1/namespaces/gateway/pods/gw-0:19003/proxy/ready") == "ok"
    answer = cluster.post("serving", "priority-llama", 8000, "/v1/chat/completions", {"max_tokens": 1})
    assert (answer.status, answer.text) == (200, TOKEN)
    assert cluster.post("serving", "x", 8000, "/", {"max_tokens": 2}).status == 400
    for kind, expected in (("statefulsets.apps", "forbidden"), ("resourceslices.resource.k8s.io", "no such kind")):
        with pytest.raises(NotSeen) as error:
            cluster.list(kind)
        assert error.value.kind == expected, error.value


def test_no_server_and_no_program(tmp_path: Path, program: Path) -> None:
    """Neither is a traceback."""
    file = tmp_path / "dead"
    file.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters: [{name: a, cluster: {server: 'http://127.0.0.1:9'}}]\n"
        "contexts: [{name: a, context: {cluster: a, user: a}}]\nusers: [{name: a, user: {}}]\n"
    )
    for cluster in (Kubectl(kubeconfig=str(file)), Kubectl(program="kubectl-that-is-not-there")):
        with pytest.raises(NotSeen) as error:
            cluster.list("nodes")
        assert error.value.kind == "unreachable"
    with pytest.raises(NotSeen, match="there is no"):
        Kubectl(program="kubectl-that-is-not-there").post("a", "b", 1, "/", {})


@pytest.mark.parametrize(
    ("known", "found"),
    [
        (["prod-use1-a", "other"], "prod-use1-a"),
        ([EKS], EKS),
        (["gke_project_us-central1-c_prod-use1-a"], "gke_project_us-central1-c_prod-use1-a"),
        (["arn:aws:eks:us-east-1:111122223333:cluster/not-prod-use1-a"], None),
        (["prod-use1-a", EKS], None),
        ([], None),
    ],
)  # fmt: skip
def test_the_context_of_a_cluster(known: list[str], found: str | None) -> None:
    """By the names that the clouds' tools give; two that fit are none."""
    assert context_of("prod-use1-a", known) == found


def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    monkeypatch.setattr("sys.argv", ["inferfab", "verify", *words])
    code = 0
    try:
        main()
    except SystemExit as stop:
        code = int(stop.code or 0)
    return code, *capsys.readouterr()


def test_the_command(
    kubeconfig: Path, program: Path, server: tuple[int, Live, list[str]], monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """Finds the context by the cluster's name; JSON, SARIF and text as `check` has them; 1 where something is wrong."""
    prod = str(ROOT / "environments" / "prod.yaml")
    words = (prod, "--cell", "use1-a", "--kubeconfig", str(kubeconfig), "--wait", "0")
    code, out, _ = command(monkeypatch, capsys, *words, "--format", "json")
    body = json.loads(out)
    # Stateful sets are forbidden here: said, and no error.
    assert (code, [f["what"] for f in body["findings"] if f["severity"] == "error"]) == (0, [])
    assert [f["rule"] for f in body["findings"]] == ["IF-VFY-012"]
    assert any("models of tiers answered" in line for line in body["seen"])
    assert any("statefulsets" in line for line in body["unknown"])
    server[1].objects["services"] = []
    code, out, _ = command(monkeypatch, capsys, *words)
    assert code == 1
    assert "IF-VFY-010" in out and "unknown  use1-a: statefulsets" in out
    code, out, _ = command(monkeypatch, capsys, *words, "--format", "sarif")
    assert code == 1
    assert {r["ruleId"] for r in json.loads(out)["runs"][0]["results"]} == {"IF-VFY-010", "IF-VFY-012"}


def test_a_rule_that_the_environment_lowers(
    kubeconfig: Path,
    program: Path,
    server: tuple[int, Live, list[str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """As in `check`, which does not call it useless: only a running cluster knows."""
    tree = yaml.safe_load((ROOT / "environments" / "prod.yaml").read_text(encoding="utf-8"))
    tree["checks"] = [
        {"rule": "IF-VFY-010", "severity": "warning", "reason": "The gateway comes next month."},
        {"rule": "IF-VFY-012", "severity": "off", "reason": "Stateful sets are another team's."},
    ]
    file = tmp_path / "prod.yaml"
    file.write_text(yaml.safe_dump(tree))
    assert not [f for f in check(load(file)).findings if "IF-VFY" in f.what]
    server[1].objects["services"] = []
    words = (str(file), "--cell", "use1-a", "--kubeconfig", str(kubeconfig), "--wait", "0", "--format", "json")
    code, out, _ = command(monkeypatch, capsys, *words)
    body = json.loads(out)
    assert code == 0
    assert [(f["rule"], f["severity"], f["lowered_from"]) for f in body["findings"]] == [
        ("IF-VFY-010", "warning", "error")
    ]
    assert [f["rule"] for f in body["switched_off"]] == ["IF-VFY-012"]


def test_wrong_usage(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A cell that is not there; one context for several cells; a cluster without a context."""
    prod = str(ROOT / "environments" / "prod.yaml")
    assert command(monkeypatch, capsys, prod, "--cell", "nowhere")[0] == 2
    assert command(monkeypatch, capsys, prod, "--context", "a")[0] == 2
    (tmp_path / "empty").write_text("apiVersion: v1\nkind: Config\n")
    code, out, _ = command(monkeypatch, capsys, prod, "--cell", "use1-a", "--kubeconfig", str(tmp_path / "empty"))
    assert code == 1
    assert "aws eks update-kubeconfig --name prod-use1-a --region us-east-1" in out
