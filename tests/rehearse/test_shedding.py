"""Under the same overload the last tier refuses first and the first one last: real Dynamo, with mock engines."""

import collections
import json
import os
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from inferfab.plan.serving.admission import queue_limit
from inferfab.plan.serving.router_policy import router_policy
from inferfab.rehearse.processes import Launch, Processes, free_ports
from inferfab.rehearse.tiny_model import write_tiny_model
from inferfab.render.templates import render

from .dynamo_python import dynamo_python

PLACES = 2
BURST = 8
"""At once, to one engine: one is read, and the first tier's queue of 4 x 2 places holds the rest."""


def statuses(tier: str, rank: int, folder: Path, python: str) -> "collections.Counter[int]":
    """How a burst ends at a frontend with the tier's rendered policy."""
    folder.mkdir()
    write_tiny_model(folder / "tiny", 4096)
    policy = router_policy(
        tier, prefix_caching=True, routers=1, prefill_only=False, queue_limit=queue_limit(None, rank, PLACES)
    )
    (folder / "policy.yaml").write_text(render("dynamo/router_policy.yaml.j2", policy=policy), encoding="utf-8")
    (port,) = free_ports(1)
    env = {
        **os.environ,
        "DYN_DISCOVERY_BACKEND": "file", "DYN_FILE_KV": str(folder / "kv"), "DYN_REQUEST_PLANE": "tcp",
        "DYN_EVENT_PLANE": "zmq", "DYN_TCP_RPC_HOST": "127.0.0.1", "DYN_TCP_RESPONSE_STREAM_HOST": "127.0.0.1",
        "HF_HUB_OFFLINE": "1",
    }  # fmt: skip
    frontend = (
        python, "-m", "dynamo.frontend", "--http-host", "127.0.0.1", "--http-port", str(port), "--router-mode", "kv",
        "--router-policy-config", str(folder / "policy.yaml"),
    )  # fmt: skip
    engine = (
        # Slow enough that a whole burst arrives while the first prompt is read.
        python, "-m", "dynamo.mocker", "--model-path", str(folder / "tiny"), "--model-name", "tiny", "--speedup-ratio",
        "0.3", "--max-model-len", "4096", "--max-num-seqs", str(PLACES), "--max-num-batched-tokens", "256",
    )  # fmt: skip
    with Processes(folder) as processes:
        processes.start(Launch("frontend", frontend, env, folder))
        processes.start(Launch("engine", engine, env, folder))
        _ready(port)
        found: collections.Counter[int] = collections.Counter()
        threads = [threading.Thread(target=_ask, args=(port, n, found)) for n in range(BURST)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return found


def _ready(port: int) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=2) as answer:
                if b"tiny" in answer.read():
                    break
        except OSError:
            pass
        time.sleep(0.2)
    first: collections.Counter[int] = collections.Counter()
    _ask(port, 900, first)
    assert first == {200: 1}


def _ask(port: int, number: int, found: "collections.Counter[int]") -> None:
    # No two begin alike: a cached beginning would be no work.
    words = " ".join(f"w{300 + number * 600 + i}" for i in range(400))
    body = {"model": "tiny", "max_tokens": 4, "messages": [{"role": "user", "content": words}]}
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            found[answer.status] += 1
    except urllib.error.HTTPError as error:
        found[error.code] += 1


@pytest.mark.slow
def test_the_last_tier_sheds_first(tmp_path: Path) -> None:
    """Places 2: queues of 8, 4 and 2. A burst of 8: one is read at once, so 0, 3 and 5 are too many."""
    python = dynamo_python()
    tiers = {"priority": 1, "standard": 2, "batch": 3}
    found = {tier: statuses(tier, rank, tmp_path / tier, python) for tier, rank in tiers.items()}
    assert found["priority"] == {200: 8}
    # While a burst arrives a prompt may end and make room: no more are refused than that, and some are.
    assert 1 <= found["standard"][529] <= 3 and sum(found["standard"].values()) == BURST
    assert found["standard"][529] < found["batch"][529] <= 5
    assert set(found["batch"]) == {200, 529}
