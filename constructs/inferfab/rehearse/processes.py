"""Processes on loopback: started together, watched, and all gone at the end, whatever happened in between."""

import contextlib
import ctypes
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
_GRACE_SECONDS = 3.0
_DIE_WITH_PARENT = 1
"""PR_SET_PDEATHSIG of prctl(2)."""


class ProcessDied(Exception):
    """A process ended before it should; the message has the end of its log."""


@dataclass(frozen=True)
class Launch:
    """What to start."""

    name: str
    argv: Sequence[str]
    env: Mapping[str, str]
    folder: Path


class Running:
    """One process and its log."""

    def __init__(self, launch: Launch, log: Path, process: "subprocess.Popen[bytes]") -> None:
        self.launch, self.log, self.process = launch, log, process

    @property
    def name(self) -> str:
        return self.launch.name

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def text(self) -> str:
        """Its log so far, without colours."""
        return _ESCAPES.sub("", self.log.read_text(encoding="utf-8", errors="replace"))

    def count(self, words: str) -> int:
        """Lines of its log that hold ``words``."""
        return sum(1 for line in self.text().splitlines() if words in line)

    def memory_bytes(self) -> int:
        """Its own memory and its part of what it shares (PSS); 0 where the system does not say."""
        try:
            text = Path(f"/proc/{self.process.pid}/smaps_rollup").read_text(encoding="ascii")
        except OSError:
            return 0
        found = re.search(r"^Pss:\s+(\d+) kB", text, re.MULTILINE)
        return int(found[1]) * 1024 if found else 0


class Processes:
    """A group of processes; leaving the block ends them all."""

    def __init__(self, logs: Path) -> None:
        self.logs = logs
        self.running: list[Running] = []
        self._before: dict[signal.Signals, object] = {}
        self._deferring = False
        self._asked = False

    def __enter__(self) -> "Processes":
        # A plain kill of us ends like Ctrl-C: through __exit__.
        with contextlib.suppress(ValueError):  # not the main thread
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._interrupted)
        return self

    def _interrupted(self, number: int, frame: object) -> None:
        """Not while a process is between started and known to us, nor while we end them: it would be left."""
        self._asked = True
        if not self._deferring:
            raise KeyboardInterrupt

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._deferring = True
        self.stop()
        for number, before in self._before.items():
            signal.signal(number, before)  # type: ignore[arg-type]
        if self._asked and error is None:
            raise KeyboardInterrupt

    def start(self, launch: Launch) -> Running:
        log = self.logs / f"{launch.name}.log"
        self._deferring = True
        with log.open("wb") as stream:
            process = subprocess.Popen(
                list(launch.argv),
                cwd=launch.folder,
                env=dict(launch.env),
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                # Ctrl-C is ours to hear: a child of the terminal's group would die before it can be asked.
                start_new_session=True,
                # We have one thread when we start them.
                preexec_fn=_die_with_parent if sys.platform == "linux" else None,  # noqa: PLW1509
            )
        found = Running(launch, log, process)
        self.running.append(found)
        self._deferring = False
        if self._asked:
            raise KeyboardInterrupt
        return found

    def check(self, expected_dead: Iterable[Running] = ()) -> None:
        """:raises ProcessDied: if one has ended that should not have."""
        dead = next((r for r in self.running if not r.alive and r not in expected_dead), None)
        if dead is not None:
            tail = "\n".join(dead.text().splitlines()[-12:])
            raise ProcessDied(f"{dead.name} ended with code {dead.process.returncode}:\n{tail}")

    def stop(self) -> None:
        """End all: first politely, after three seconds without asking."""
        for one in self.running:
            _signal(one, signal.SIGTERM)
        end = time.monotonic() + _GRACE_SECONDS
        while time.monotonic() < end and any(r.alive for r in self.running):
            time.sleep(0.05)
        for one in self.running:
            _signal(one, signal.SIGKILL)
        for one in self.running:
            with contextlib.suppress(subprocess.TimeoutExpired):
                one.process.wait(timeout=5)


def _signal(one: Running, number: signal.Signals) -> None:
    if one.alive:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(one.process.pid, number)


def _die_with_parent() -> None:
    """Even a SIGKILL of ours leaves none of them behind."""
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGTERM)


_LOWEST_PORT, _HIGHEST_PORT = 12_000, 32_000
"""Dynamo reads DYN_SYSTEM_PORT as a signed 16-bit number, which ends at 32,767 (1.6.1)."""


def free_ports(count: int) -> list[int]:
    """Ports of loopback that nobody listens on now.

    :raises OSError: if there are not that many.
    """
    found: list[int] = []
    for port in random.sample(range(_LOWEST_PORT, _HIGHEST_PORT), min(50 * count, _HIGHEST_PORT - _LOWEST_PORT)):
        if len(found) == count:
            break
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            found.append(port)
    if len(found) < count:
        raise OSError(f"there are no {count} free ports between {_LOWEST_PORT} and {_HIGHEST_PORT}")
    return found


def listening(port: int) -> bool:
    """Whether somebody answers on that port of loopback."""
    with socket.socket() as probe:
        probe.settimeout(0.2)
        return probe.connect_ex(("127.0.0.1", port)) == 0
