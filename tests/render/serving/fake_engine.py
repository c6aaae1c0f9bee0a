"""An engine with vLLM's endpoints for sleep, which answers for its model only while awake: MODEL PORT LOG."""

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

MODEL, PORT, LOG = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])


class State:
    """As vLLM starts: awake, with its weights on the GPU."""

    awake = True
    running = 0


def note(what: str) -> None:
    with LOG.open("a", encoding="utf-8") as log:
        log.write(f"{MODEL} {what}\n")


class Handler(BaseHTTPRequestHandler):
    """`/health`, `/sleep`, `/wake_up`, and anything else as a request to the model."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path == "/metrics":
            # Lines as vLLM has them; other series of like names do not count.
            self._send(
                200,
                "# TYPE vllm:num_requests_running gauge\n"
                f'vllm:num_requests_running{{engine="0",model_name="{MODEL}"}} {float(State.running)}\n'
                f'vllm:num_requests_waiting{{engine="0",model_name="{MODEL}"}} 0.0\n'
                f'vllm:kv_cache_usage_perc{{engine="0",model_name="{MODEL}"}} 0.5\n'.encode(),
            )
            return
        self._answer(200, {})

    def do_POST(self) -> None:
        asked = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path.startswith("/sleep"):
            State.awake = False
            note(f"asleep {self.path.partition('?')[2]}")
            self._answer(200, {})
        elif self.path == "/wake_up":
            State.awake = True
            note("awake")
            self._answer(200, {})
        else:
            if b'"slow"' in asked:
                State.running += 1
                time.sleep(3)
                State.running -= 1
            self._answer(200 if State.awake else 500, {"model": MODEL})

    def _answer(self, status: int, body: object) -> None:
        self._send(status, json.dumps(body).encode())

    def _send(self, status: int, data: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Quiet."""


note("loaded")
ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
