"""Models that take turns on whole GPUs (sleep mode). Dynamo's simulator has no engine that sleeps, so turns are ours.

llama-swap's rule, as plan/serving/lanes.py has it: a request for the awake model goes to it; one for another model
waits until the awake one's answers have ended and both models' weights have moved, and so does all that comes behind
it: first come, first served. Beyond the lane's limit for a model a request is refused (HTTP 429). An engine reads one
prompt at a time, whole, while its answers wait, and then writes a token of each; times are the profile's.
"""

import random
import zlib
from bisect import bisect_left
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from inferfab.performance.profile import PerformanceProfile
from inferfab.record import Record
from inferfab.traffic.rows import Request


class LaneModel(Record):
    """One model of a lane."""

    name: str
    profile: PerformanceProfile
    max_sequences: int
    max_requests: int
    """Running and waiting, on one lane; more are refused."""
    move_seconds: float
    """Weights between GPU and CPU memory, one way."""


class Turns(Record):
    """What became of all requests of all lanes."""

    requests: dict[str, tuple[dict[str, Any], ...]]
    """By model, as the simulator's answer has them."""
    swaps: int
    duration_ms: float


def take_turns(
    lanes: Sequence[tuple[str, ...]], models: Mapping[str, LaneModel], demand: Mapping[str, Sequence[Request]]
) -> Turns:
    """Requests go to the lanes that hold their model at random, as a Service deals them; the same way every time.

    :param lanes: models of each lane.
    :param demand: requests of each model, times in seconds from one common start.
    """
    dealt: list[list[tuple[Request, str]]] = [[] for _ in lanes]
    for name, requests in demand.items():
        homes = [at for at, lane in enumerate(lanes) if name in lane]
        generator = random.Random(zlib.crc32(name.encode()))
        for request in requests:
            dealt[generator.choice(homes)].append((request, name))
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in demand}
    swaps, end = 0, 0.0
    speeds = {name: _Speed(models[name].profile) for name in demand}
    for lane in dealt:
        run = _Lane(models, speeds)
        run.all(sorted(lane, key=lambda pair: pair[0].at_s))
        swaps += run.swaps
        end = max(end, run.now)
        for name, record in run.done:
            found[name].append(record)
    return Turns(requests={n: tuple(r) for n, r in found.items()}, swaps=swaps, duration_ms=end)


class _Speed:
    """A profile's two figures, quickly: between points on a line."""

    def __init__(self, profile: PerformanceProfile) -> None:
        self.profile = profile
        contexts = sorted({p.context_tokens for p in profile.decode})
        self.contexts = contexts
        self.rows = {
            c: sorted((p.kv_tokens, p.itl_ms) for p in profile.decode if p.context_tokens == c) for c in contexts
        }

    def step_ms(self, kv_tokens: float, context_tokens: float) -> float:
        row = self.rows[self.contexts[min(bisect_left(self.contexts, context_tokens), len(self.contexts) - 1)]]
        at = bisect_left(row, (kv_tokens,))
        if at == 0:
            return row[0][1]
        if at == len(row):
            return row[-1][1] * max(1.0, kv_tokens / row[-1][0])
        (x0, y0), (x1, y1) = row[at - 1], row[at]
        return y0 + (y1 - y0) * (kv_tokens - x0) / (x1 - x0)


class _Answer:
    __slots__ = ("arrived", "first", "left", "request", "tokens")

    def __init__(self, request: Request, arrived: float) -> None:
        self.request, self.arrived = request, arrived
        self.first = 0.0
        self.tokens = request.prompt_tokens
        self.left = max(1, request.output_tokens)


class _Lane:
    """One GPU. Times in milliseconds."""

    def __init__(self, models: Mapping[str, LaneModel], speeds: Mapping[str, _Speed]) -> None:
        self.models, self.speeds = models, speeds
        self.now = 0.0
        self.awake = ""
        self.unread: deque[_Answer] = deque()
        self.writing: list[_Answer] = []
        self.behind: deque[tuple[_Answer, str]] = deque()
        """Waiting for a turn: the first of them is for a model that sleeps."""
        self.done: list[tuple[str, dict[str, Any]]] = []
        self.swaps = 0

    def all(self, requests: Sequence[tuple[Request, str]]) -> None:
        coming = deque(requests)
        while coming or self.unread or self.writing or self.behind:
            if not (self.unread or self.writing or self.behind):
                self.now = max(self.now, coming[0][0].at_s * 1000)
            while coming and coming[0][0].at_s * 1000 <= self.now:
                self._arrive(*coming.popleft())
            if self.unread and len(self.writing) < self.models[self.awake].max_sequences:
                self._read(self.unread.popleft())
            elif self.writing:
                self._write(coming[0][0].at_s * 1000 if coming else None)
            elif self.behind:
                self._swap()

    def _arrive(self, request: Request, name: str) -> None:
        answer = _Answer(request, request.at_s * 1000)
        here = sum(n == name for _, n in self.behind)
        if name == self.awake:
            here += len(self.unread) + len(self.writing)
        if here >= self.models[name].max_requests:
            self.done.append((name, {**_head(request), "terminal_status": "refused", "ttft_ms": None}))
        elif name == self.awake and not self.behind:
            self.unread.append(answer)
        else:
            self.behind.append((answer, name))

    def _swap(self) -> None:
        name = self.behind[0][1]
        if name != self.awake:
            moved = self.models[self.awake].move_seconds if self.awake else 0.0
            self.now += (moved + self.models[name].move_seconds) * 1000
            self.awake = name
            self.swaps += 1
        while self.behind and self.behind[0][1] == name:
            self.unread.append(self.behind.popleft()[0])

    def _read(self, answer: _Answer) -> None:
        self.now += self.models[self.awake].profile.ttft_ms(answer.request.prompt_tokens)
        answer.first = self.now
        answer.left -= 1
        answer.tokens += 1
        if answer.left:
            self.writing.append(answer)
        else:
            self._end(answer)

    def _write(self, next_ms: float | None) -> None:
        """As many steps as change nothing: until an answer ends, or the next request comes."""
        tokens = sum(a.tokens for a in self.writing)
        fewest = min(a.left for a in self.writing)
        count = len(self.writing)
        step = self.speeds[self.awake].step_ms(tokens + count * fewest / 2, tokens / count + fewest / 2)
        steps = fewest
        if next_ms is not None and next_ms > self.now:
            steps = max(1, min(fewest, int((next_ms - self.now) / step) + 1))
        self.now += step * steps
        for answer in self.writing:
            answer.left -= steps
            answer.tokens += steps
        for answer in [a for a in self.writing if a.left == 0]:
            self._end(answer)
        self.writing = [a for a in self.writing if a.left]

    def _end(self, answer: _Answer) -> None:
        written = max(1, answer.request.output_tokens)
        self.done.append(
            (
                self.awake,
                {
                    **_head(answer.request),
                    "terminal_status": "completed",
                    "ttft_ms": answer.first - answer.arrived,
                    "itl_ms": (self.now - answer.first) / (written - 1) if written > 1 else None,
                    "e2e_latency_ms": self.now - answer.arrived,
                },
            )
        )


def _head(request: Request) -> dict[str, Any]:
    return {"input_length": request.prompt_tokens, "output_length": max(1, request.output_tokens)}
