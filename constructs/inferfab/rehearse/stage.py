"""A cast on loopback: started, waited for, asked."""

import http.client
import json
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from inferfab.record import Record
from inferfab.rehearse.cast import Actor
from inferfab.rehearse.processes import Launch, Processes, Running, free_ports, listening

READY_SECONDS = 45.0
_ANSWER_SECONDS = 10.0
_SAYS_REQUEST = "request received"
"""A line of the mock engine's log, once for each request (dynamo.mocker 1.6.1)."""


class NotReady(Exception):
    """A frontend did not offer its model in time; the message says which."""


class Reply(Record):
    """One streamed answer."""

    status: int
    chunks: int
    """Events of the stream that carried text."""
    problem: str
    milliseconds: float

    @property
    def ok(self) -> bool:
        return self.status == 200 and self.chunks > 0 and not self.problem


class Stage:
    """Processes of one cell, by actor."""

    def __init__(self, python: str, actors: Sequence[Actor], work: Path, processes: Processes) -> None:
        self.actors, self.processes = actors, processes
        (work / "discovery").mkdir()
        (work / "home").mkdir()
        self.ports = dict(zip((a.name for a in actors), free_ports(len(actors)), strict=True))
        self.running: dict[str, Running] = {}
        self.dead: list[Running] = []
        base = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "TMPDIR")}
        base |= {
            "HOME": str(work / "home"),
            "DYN_DISCOVERY_BACKEND": "file",
            "DYN_FILE_KV": str(work / "discovery"),
            "DYN_TCP_RPC_HOST": "127.0.0.1",
            "DYN_TCP_RESPONSE_STREAM_HOST": "127.0.0.1",
            "HF_HUB_OFFLINE": "1",
            "TRANSFORMERS_OFFLINE": "1",
            # Sixteen processes on a laptop: a thread for each core in each of them is only memory.
            "OMP_NUM_THREADS": "1",
            "MALLOC_ARENA_MAX": "2",
        }
        for actor in actors:
            self.running[actor.name] = processes.start(
                Launch(name=actor.name, argv=(python, *self._argv(actor)), env=base | self._env(actor),
                       folder=actor.folder)
            )  # fmt: skip

    def _argv(self, actor: Actor) -> tuple[str, ...]:
        if actor.part != "frontend":
            return actor.argv
        return (*actor.argv, "--http-host", "127.0.0.1", "--http-port", str(self.ports[actor.name]))

    def _env(self, actor: Actor) -> dict[str, str]:
        """One machine has one port 9090; its pods have one each."""
        own = {"DYN_SYSTEM_PORT": str(self.ports[actor.name])} if actor.part != "frontend" else {}
        return {k: v for k, v in actor.env.items() if k != "DYN_SYSTEM_PORT"} | own | {"DYN_SYSTEM_HOST": "127.0.0.1"}

    def wait(self) -> float:
        """Until each frontend offers its model and answers; seconds that it took.

        :raises NotReady: if one does not in time.
        :raises ProcessDied: if a process ends.
        """
        start = time.monotonic()
        waiting = [a for a in self.actors if a.part == "frontend"]
        while waiting:
            self.processes.check(self.dead)
            waiting = [a for a in waiting if not self._offers(a) or not self.ask(a, tokens=2).ok]
            if time.monotonic() - start > READY_SECONDS:
                names = ", ".join(a.route for a in waiting)
                raise NotReady(f"no answer from {names} within {READY_SECONDS:g} s")
            time.sleep(0.2)
        return time.monotonic() - start

    def _offers(self, frontend: Actor) -> bool:
        try:
            status, body = self._get(frontend, "/v1/models")
        except OSError:
            return False
        return status == 200 and any(m.get("id") == frontend.model for m in json.loads(body).get("data", ()))

    def _get(self, frontend: Actor, path: str) -> tuple[int, bytes]:
        link = http.client.HTTPConnection("127.0.0.1", self.ports[frontend.name], timeout=2)
        try:
            link.request("GET", path)
            answer = link.getresponse()
            return answer.status, answer.read()
        finally:
            link.close()

    def ask(
        self,
        frontend: Actor,
        *,
        text: str = "ready?",
        tokens: int = 8,
        nvext: dict[str, Any] | None = None,
        smuggled: dict[str, Any] | None = None,
    ) -> Reply:
        """Stream one chat completion.

        :param smuggled: a second ``nvext`` in the same body, which JSON does not forbid.
        """
        body = {
            "model": frontend.model,
            "messages": [{"role": "user", "content": text}],
            "max_tokens": tokens,
            "stream": True,
            **({"nvext": nvext} if nvext else {}),
        }
        sent = json.dumps(body)
        if smuggled is not None:
            sent = f'{sent[:-1]}, "nvext": {json.dumps(smuggled)}}}'
        start = time.monotonic()
        link = http.client.HTTPConnection("127.0.0.1", self.ports[frontend.name], timeout=_ANSWER_SECONDS)
        status, chunks, problem = 0, 0, ""
        try:
            link.request("POST", "/v1/chat/completions", sent, {"content-type": "application/json"})
            answer = link.getresponse()
            status = answer.status
            if status != 200:
                problem = answer.read(300).decode("utf-8", "replace")
            else:
                for event in _events(answer):
                    problem = problem or (json.dumps(event)[:300] if "error" in event else "")
                    choices = event.get("choices") or [{}]
                    chunks += bool((choices[0].get("delta") or {}).get("content"))
        except (OSError, http.client.HTTPException, ValueError) as error:
            problem = f"{type(error).__name__}: {error}"
        finally:
            link.close()
        return Reply(status=status, chunks=chunks, problem=problem, milliseconds=(time.monotonic() - start) * 1000)

    def requests_of(self, actor: Actor) -> int:
        return self.running[actor.name].count(_SAYS_REQUEST)

    def kill(self, actor: Actor) -> None:
        """As a node that is gone: without a word."""
        one = self.running[actor.name]
        self.dead.append(one)
        one.process.kill()
        one.process.wait(timeout=5)

    def memory_bytes(self) -> int:
        return sum(one.memory_bytes() for one in self.running.values())

    def ports_in_use(self) -> list[int]:
        return [port for port in self.ports.values() if listening(port)]


def _events(answer: http.client.HTTPResponse) -> Iterator[dict[str, Any]]:
    """Events of a stream, up to ``[DONE]``."""
    for line in answer:
        text = line.decode("utf-8", "replace").strip()
        if text.startswith("event: error"):
            yield {"error": text}
        if not text.startswith("data:"):
            continue
        data = text.removeprefix("data:").strip()
        if data == "[DONE]":
            return
        yield json.loads(data)
