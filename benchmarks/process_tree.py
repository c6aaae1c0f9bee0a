"""Seconds and peak memory of a command with all its children: CDKTF is half Python, half Node."""

import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_EVERY_SECONDS = 0.03


@dataclass(frozen=True)
class Measured:
    """One run."""

    seconds: float
    mib_by_program: Mapping[str, float]
    """Each program's own peak resident memory, all its processes together; empty where there is no /proc."""

    @property
    def mib(self) -> float:
        """The peaks together: an upper bound, for they need not fall on one moment."""
        return sum(self.mib_by_program.values())


def measure(command: Sequence[str], cwd: Path, environment: Mapping[str, str]) -> Measured:
    """Run once.

    :raises RuntimeError: if the command fails: half a run is no measurement.
    """
    with tempfile.TemporaryFile() as said:
        start = time.perf_counter()
        process = subprocess.Popen(command, cwd=cwd, env=dict(environment), stdout=said, stderr=said)
        peaks: dict[int, tuple[str, float]] = {}
        over = threading.Event()
        watcher = threading.Thread(target=_watch, args=(process.pid, peaks, over))
        watcher.start()
        code = process.wait()
        seconds = time.perf_counter() - start
        over.set()
        watcher.join()
        if code:
            said.seek(0)
            raise RuntimeError(f"{' '.join(command)}: {said.read().decode()[-2000:]}")
    by_program: dict[str, float] = {}
    for program, mib in peaks.values():
        by_program[program] = by_program.get(program, 0) + mib
    return Measured(seconds, by_program)


def _watch(root: int, peaks: dict[int, tuple[str, float]], over: threading.Event) -> None:
    """The kernel keeps each process's highest; looking often only makes sure of the last look before it ends."""
    while not over.wait(_EVERY_SECONDS):
        pending = [root]
        while pending:
            process = pending.pop()
            try:
                status = Path(f"/proc/{process}/status").read_text()
                pending += [
                    int(child)
                    for task in Path(f"/proc/{process}/task").iterdir()
                    for child in (task / "children").read_text().split()
                ]
            except OSError:
                continue
            fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
            if "VmHWM" in fields:
                mib = int(fields["VmHWM"].split()[0]) / 1024
                name = fields["Name"].strip()
                peaks[process] = ("node" if name.startswith(("node", "MainThread")) else "python", mib)
