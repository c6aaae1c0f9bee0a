"""A lane on loopback: what is rendered for it, with engines that answer only while they are awake.

With llama-swap itself where it is on this machine (LLAMA_SWAP); vLLM's own sleeping is not proven here.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.error import URLError

import pytest

from inferfab.plan.serving.lanes import LaneEngine, LanePlan
from inferfab.render.serving.lanes import llama_swap_config
from inferfab.render.templates import render
from programs import tool

pytestmark = pytest.mark.slow  # it waits for processes
ENGINE = Path(__file__).with_name("fake_engine.py")


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def until(holds: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come true in time"
        time.sleep(0.05)


class Lane:
    """The rendered script with fake engines; ``swap`` is the program that takes llama-swap's place, or itself."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.log, self.script = folder, folder / "log", folder / "lane.py"
        self.script.write_text(render("dynamo/lane.py.j2"), encoding="utf-8")
        self.ports = dict(zip(("a", "b"), free_ports(2), strict=True))
        self.awake_ports = dict(zip(("a", "b"), free_ports(2), strict=True))
        (self.listen,) = free_ports(1)
        self.started: list[subprocess.Popen[bytes]] = []

    def start(self, *swap: str) -> subprocess.Popen[bytes]:
        engines = [
            {"model": m, "port": p, "argv": [sys.executable, str(ENGINE), m, str(p), str(self.log)]}
            for m, p in self.ports.items()
        ]
        settings = {
            "load_timeout_seconds": 20,
            "drain_looks": 2,
            "drain_look_seconds": 0.1,
            "engines": engines,
            "swap": list(swap),
        }
        (self.folder / "lane.json").write_text(json.dumps(settings), encoding="utf-8")
        return self.run("start", str(self.folder / "lane.json"))

    def run(self, *arguments: str) -> subprocess.Popen[bytes]:
        # A session of its own, so that nothing of it outlives a test that fails.
        process = subprocess.Popen([sys.executable, str(self.script), *arguments], start_new_session=True)
        self.started.append(process)
        return process

    def noted(self) -> list[str]:
        return self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []

    def end(self) -> None:
        for process in self.started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture
def lane(tmp_path: Path) -> Iterator[Lane]:
    made = Lane(tmp_path)
    yield made
    made.end()


def ask(port: int, model: str, prompt: str = "x") -> str:
    """The name of the model that answered."""
    body = json.dumps({"model": model, "prompt": prompt}).encode()
    url = f"http://127.0.0.1:{port}/v1/completions"
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        found: str = json.load(answer)["model"]
    return found


def answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
            return True
    except (URLError, OSError):
        return False


LOADED = ["a loaded", "a asleep level=1", "b loaded", "b asleep level=1"]
"""The second engine starts only when the first has left the GPU's memory."""


def test_engines_load_one_after_the_other(lane: Lane) -> None:
    lane.start("sleep", "1000")
    until(lambda: lane.noted() == LOADED)


def test_only_an_awake_engine_answers_on_its_second_port(lane: Lane) -> None:
    """Its own health is good while it sleeps, so llama-swap looks at the second port."""
    lane.start("sleep", "1000")
    until(lambda: lane.noted() == LOADED)
    second = lane.awake_ports["a"]
    assert answers(lane.ports["a"]) and not answers(second)
    passing = lane.run("wake", str(lane.ports["a"]), str(second))
    until(lambda: answers(second))
    assert ask(second, "a") == "a"
    assert lane.run("sleep", str(lane.ports["a"]), str(passing.pid)).wait(10) == 0
    passing.wait(10)
    assert not answers(second)
    assert lane.noted()[4:] == ["a awake", "a asleep level=1"]


def test_half_a_lane_is_none(lane: Lane) -> None:
    """Where one process ends, the lane does, so that Kubernetes starts it anew."""
    started = lane.start("sleep", "3")
    until(lambda: lane.noted() == LOADED)
    assert started.wait(30) == 1
    assert not answers(lane.ports["a"]) and not answers(lane.ports["b"])


@pytest.mark.parametrize("when", [1, 4])
def test_asked_to_end_it_ends_its_engines(lane: Lane, when: int) -> None:
    """While it loads, and when it serves."""
    started = lane.start("sleep", "1000")
    until(lambda: len(lane.noted()) >= when)
    started.terminate()
    assert started.wait(30) == 0
    assert not answers(lane.ports["a"]) and not answers(lane.ports["b"])


def test_a_pod_that_goes_waits_for_answers_in_flight(lane: Lane) -> None:
    """What preStop runs ends when the slow answer has, and soon where nothing is asked."""
    lane.start("sleep", "1000")
    until(lambda: lane.noted() == LOADED)
    file = str(lane.folder / "lane.json")
    assert lane.run("drain", file).wait(10) == 0
    urllib.request.urlopen(
        urllib.request.Request(f"http://127.0.0.1:{lane.ports['b']}/wake_up", b"{}"), timeout=5
    ).close()
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(ask, lane.ports["b"], "b", "slow")
        time.sleep(0.3)
        waiting = lane.run("drain", file)
        assert slow.result(20) == "b"
        assert waiting.poll() is None, "it did not wait"
        assert waiting.wait(10) == 0


def plan_of(lane: Lane) -> LanePlan:
    engines = tuple(
        LaneEngine(
            model=model,
            folders=(model,),
            port=lane.ports[model],
            awake_port=lane.awake_ports[model],
            arguments=(),
            env=(),
            max_requests=50,
            wake_seconds=1,
            cold_load_seconds=1,
        )
        for model in lane.ports
    )
    return LanePlan(
        name="lane",
        pool="p",
        tier="t",
        priority_class="t",
        node_group="g",
        replicas=1,
        image="i",
        swap_image="s",
        engines=engines,
        cpu_millis=1,
        memory_request_bytes=1,
        memory_limit_bytes=1,
        shm_bytes=1,
    )


def test_llama_swap_wakes_what_a_request_asks_for(lane: Lane) -> None:
    """Requests for both models at once: each gets its own model's answer, and the two are never awake together."""
    program = tool("llama-swap")
    text = (
        llama_swap_config(plan_of(lane)).replace("/etc/inferfab", str(lane.folder)).replace("python3", sys.executable)
    )
    (lane.folder / "swap.yaml").write_text(text, encoding="utf-8")
    lane.start(program, "-config", str(lane.folder / "swap.yaml"), "-listen", f"127.0.0.1:{lane.listen}")
    until(lambda: answers(lane.listen))
    assert lane.noted() == LOADED, "nothing wakes before it is asked for"
    assert ask(lane.listen, "a") == "a"
    asked = ["a", "b"] * 10
    with ThreadPoolExecutor(len(asked)) as pool:
        assert list(pool.map(lambda model: ask(lane.listen, model), asked)) == asked
    awake: set[str] = set()
    for model, what in (line.split(" ", 1) for line in lane.noted()[4:]):
        awake = awake | {model} if what == "awake" else awake - {model}
        assert len(awake) <= 1, lane.noted()
