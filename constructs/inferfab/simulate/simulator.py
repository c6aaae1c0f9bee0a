"""Dynamo's simulator as a process that answers jobs."""

import json
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any

from inferfab.record import Record

PROBE = Path(__file__).parent / "simulator_probe.py"


class SimulatorFailed(Exception):
    """The simulator refused a job or ended; the message has its words."""


class Kept(Record):
    """One promise: requests that it speaks of, and how many were inside."""

    inside: int
    of: int

    @property
    def share(self) -> float:
        return self.inside / self.of if self.of else 1.0


class Outcome(Record):
    """What one simulation came to."""

    requests: int
    completed: int
    good: int
    """Inside every promise of a percentile of 90 or more."""
    broken_off: int = 0
    """Answers that a lost worker was at."""
    duration_ms: float
    wall_ms: float
    prompt_tokens: int
    output_tokens: int
    reused_tokens: int
    ttft_ms: dict[str, float | None]
    """By percentile."""
    itl_ms: dict[str, float | None]
    """The same of each request's mean time between tokens."""
    mean_ttft_ms: float | None
    mean_itl_ms: float | None
    decode_sequence_ms: float
    decode_kv_token_ms: float
    promises: tuple[Kept, ...]
    prompts: tuple[tuple[int, int], ...] = ()
    """(prompt, reused) of each request, where asked for."""


class Simulator:
    """Leaving the block ends the process."""

    def __init__(self, python: str) -> None:
        self.python = python
        self.runs = 0
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> "Simulator":
        self._process = subprocess.Popen(
            [self.python, str(PROBE)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        if self._process.poll() is None:
            self._process.kill()
        self._process.communicate()

    def run(self, job: dict[str, Any]) -> Outcome:
        """:raises SimulatorFailed: if it refuses the job, or is no simulator."""
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(job) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except OSError:
            line = ""
        if not line:
            _, said = process.communicate()
            last = said.strip().splitlines()[-1:]
            why = f": {last[0][:400]}" if last else f" without a word; is {self.python} the Python with Dynamo in it?"
            raise SimulatorFailed(f"Dynamo's simulator ended with exit code {process.returncode}{why}")
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise SimulatorFailed(f"Dynamo's simulator answers with something else: {line.strip()[:100]!r}")
        if "error" in answer:
            raise SimulatorFailed(f"Dynamo's simulator refused: {answer['error']}")
        self.runs += 1
        return Outcome.model_validate(answer)
