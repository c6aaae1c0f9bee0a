"""A Prometheus on loopback that answers questions about frontends from counts, and notes what it was asked."""

import json
import re
import threading
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer

Series = dict[str, float]
"""Metric name to value; of a histogram, ``name{le}``."""


@dataclass
class Fake:
    """One cell: series by model."""

    models: dict[str, Series]
    asked: list[str] = field(default_factory=list)
    broken: bool = False
    url: str = ""

    def result(self, question: str) -> list[dict[str, object]]:
        # What a question joins by comes second.
        name = re.findall(r"dynamo_\w+", question)[0]
        series = self.models.get(re.findall(r'model="([^"]+)"', question)[0], {})
        if not name.endswith("_bucket"):
            return [{"metric": {}, "value": [0, str(series[name])]}] if name in series else []
        found = {k: v for k, v in series.items() if k.startswith(name + "{")}
        return [{"metric": {"le": k.partition("{")[2].rstrip("}")}, "value": [0, str(v)]} for k, v in found.items()]


@contextmanager
def serving(fake: Fake) -> Iterator[Fake]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            text = self.rfile.read(int(self.headers["content-length"])).decode()
            question = urllib.parse.parse_qs(text)["query"][0]
            fake.asked.append(question)
            body = {"status": "success", "data": {"resultType": "vector", "result": fake.result(question)}}
            told = b"<html>gateway</html>" if fake.broken else json.dumps(body).encode()
            self.send_response(200 if self.path == "/api/v1/query" else 404)
            self.send_header("content-length", str(len(told)))
            self.end_headers()
            self.wfile.write(told)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        fake.url = f"http://127.0.0.1:{server.server_address[1]}"
        yield fake
        server.shutdown()


def series(started: int, *, failed: int = 0, slow: float = 0.02) -> Series:
    """Half of the first tokens within half a second; ``slow`` of them beyond two. Gaps are even."""
    first = started - failed
    ttft, itl = (
        "dynamo_frontend_time_to_first_token_seconds_bucket",
        "dynamo_frontend_inter_token_latency_seconds_bucket",
    )
    found = {
        "dynamo_frontend_requests_started_total": started,
        f"{ttft}{{0.5}}": first / 2, f"{ttft}{{2.0}}": (1 - slow) * first, f"{ttft}{{+Inf}}": first,
        f"{itl}{{0.03}}": 99 * first, f"{itl}{{0.06}}": 100 * first, f"{itl}{{+Inf}}": 100 * first,
    }  # fmt: skip
    # The series comes with the first failure.
    return found | ({"dynamo_frontend_requests_total": failed} if failed else {})
