"""How long the command line, the checks and the plan take, and how that grows with the fleet.

Run with ``make bench``. Each figure is the median of several runs in one process or, for commands, of whole
processes on a warm disk. The base is `python -c pass`, so that ratios carry over to other machines.
"""

import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.environments import environment_text
from inferfab import check, load_text, plan

ROOT = Path(__file__).parent.parent


def seconds(run: Callable[[], object], times: int) -> float:
    """Median wall-clock seconds."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def command(*words: str) -> Callable[[], object]:
    return lambda: subprocess.run(words, cwd=ROOT, capture_output=True, check=False)


def commands(console: Console) -> None:
    table = Table("command", "seconds", "times `python -c pass`", title="Whole processes, warm disk")
    base = seconds(command(sys.executable, "-c", "pass"), 9)
    inferfab = str(Path(sys.executable).with_name("inferfab"))
    table.add_row("python -c pass", f"{base:.3f}", "1")
    rows = [(inferfab, "--version"), *((inferfab, "check", e) for e in ("dev", "prod")), (inferfab, "plan", "prod")]
    rows += [(inferfab, "plan", "prod", "--format", f) for f in ("json", "svg")]
    for row in rows:
        command(*row)()  # warm
        taken = seconds(command(*row), 9)
        table.add_row(" ".join(("inferfab", *row[1:])), f"{taken:.3f}", f"{taken / base:.1f}")
    console.print(table)


def growth(console: Console) -> None:
    table = Table("cells", "pools", "KiB", "read", "plan", "read and check", title="In one process, seconds")
    for cells, pools in ((1, 10), (4, 40), (10, 100), (40, 400)):
        text = environment_text(cells, pools)
        loaded = load_text(text)
        environment = loaded.environment
        assert environment is not None, loaded.findings[:3]
        table.add_row(
            str(cells),
            str(pools),
            f"{len(text) / 1024:.0f}",
            f"{seconds(lambda t=text: load_text(t), 3):.3f}",
            f"{seconds(lambda e=environment: plan(e), 3):.3f}",
            f"{seconds(lambda t=text: check(load_text(t)), 3):.3f}",
        )
    console.print(table)
    console.print(f"peak memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    out = Console(width=100)
    commands(out)
    growth(out)
