"""As what real frontends count a worker that dies in the middle of answers: what objectives and rollouts read."""

import http.client
import json
import re
import threading
import time
from pathlib import Path

import pytest

from inferfab import check, load
from inferfab.plan.observability.slos import BEHIND_ROUTER
from inferfab.rehearse.cast import Actor, cast_of
from inferfab.rehearse.processes import Processes
from inferfab.rehearse.stage import Stage

from .dynamo_python import dynamo_python

PROD = Path(__file__).resolve().parents[2] / "environments" / "prod.yaml"
STREAMS = 16


def stream(port: int, model: str, nvext: dict[str, object], number: int, found: list[tuple[int, list[int]]]) -> None:
    """Status, and codes of the error events that came after it."""
    body = {
        "model": model, "messages": [{"role": "user", "content": f"a long answer, {number}"}], "stream": True,
        "max_tokens": 20_000, "nvext": nvext,
    }  # fmt: skip
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        link.request("POST", "/v1/chat/completions", json.dumps(body), {"content-type": "application/json"})
        answer = link.getresponse()
        events = [line.removeprefix("data: ") for line in answer.read().decode().splitlines()]
        errors = [json.loads(e)["error"]["code"] for e in events if e.startswith('{"error"')]
        found.append((answer.status, errors))
    finally:
        link.close()


def counted(stage: Stage, front: Actor) -> dict[tuple[str, str], int]:
    """(metric, reason or error type): count, of what failed."""
    link = http.client.HTTPConnection("127.0.0.1", stage.ports[front.name], timeout=5)
    link.request("GET", "/metrics")
    text = link.getresponse().read().decode()
    link.close()
    lines = re.findall(r"dynamo_frontend_(failures|requests)_total\{(.*)\} (\d+)", text)
    found: dict[tuple[str, str], int] = {}
    for name, labels, count in lines:
        kind = re.findall(r'(?:reason|error_type)="([^"]*)"', labels)[0]
        if kind:
            found[name, kind] = found.get((name, kind), 0) + int(count)
    return found


@pytest.mark.slow
@pytest.mark.xdist_group("rehearse")
@pytest.mark.parametrize("behind", [True, False], ids=["behind a router over tiers", "alone"])
def test_a_worker_dies_in_the_middle_of_answers(tmp_path: Path, *, behind: bool) -> None:
    python = dynamo_python()
    fleet = check(load(PROD)).plan
    assert fleet is not None
    cell = fleet.cells[0]
    over = next(g for g in cell.serving.graphs if g.global_router)
    assert over.global_router is not None
    target = next(t for t in over.global_router.targets if t.pool == "chat-priority")
    pool, part = ("chat-priority", "decode") if behind else ("documents", "worker")
    tag = {"router": {"ttft_target": target.ttft_ms, "itl_target": target.itl_ms}} if behind else {}
    (tmp_path / "logs").mkdir()
    found: list[tuple[int, list[int]]] = []
    with Processes(tmp_path / "logs") as processes:
        stage = Stage(python, cast_of(fleet, cell, tmp_path).actors, tmp_path, processes)
        stage.wait()
        mine = [a for a in stage.actors if a.part == "frontend"]
        front = next(a for a in mine if (a.graph == over.name if behind else a.pool == pool))
        before = counted(stage, front)
        asked = [
            threading.Thread(target=stream, args=(stage.ports[front.name], front.model, tag, n, found))
            for n in range(STREAMS)
        ]
        for one in asked:
            one.start()
        time.sleep(0.4)
        stage.kill([a for a in stage.actors if a.pool == pool and a.part == part][-1])
        for one in asked:
            one.join()
        time.sleep(0.5)
        new = {k: n - before.get(k, 0) for k, n in counted(stage, front).items() if n > before.get(k, 0)}
    broken = [codes for _, codes in found if codes]
    # All began with 200, so whoever counts status codes sees nothing.
    assert len(found) == STREAMS and {status for status, _ in found} == {200}
    assert broken and {code for codes in broken for code in codes} == {400 if behind else 503}
    kind = ("failures", BEHIND_ROUTER) if behind else ("requests", "unavailable")
    assert new[kind] == len(broken)
    assert ("requests", "validation") in new if behind else ("failures", BEHIND_ROUTER) not in new
