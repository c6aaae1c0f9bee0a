"""Four ways to size a pool on three traces, all judged by the same replay on Dynamo's simulator.

Run with ``make bench``, or ``python -m benchmarks.sizing`` with the folder of the traces in ``TRACES`` (Azure's and
Mooncake's, as they are published). Ours searches. The exhaustive optimum tries every fleet of the same small grid.
The static peak takes the busiest minute over the plan's own estimate of a worker. aiconfigurator's ``recommend`` is
asked for the mean lengths and the busiest minute's rate, where ``AICONFIGURATOR_PYTHON`` is; it knows neither nodes
nor a spare, so its workers are rounded up to whole nodes, and a spare node of each role is added. Within the grid
ours must be the optimum.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from inferfab import check, load_text
from inferfab.catalog.facts import DATA
from inferfab.extras import AICONFIGURATOR, DYNAMO, ExtraMissing, python_of
from inferfab.simulate.demand import Demand, busiest
from inferfab.simulate.simulator import Simulator
from inferfab.sizing.search import search
from inferfab.sizing.shapes import Shape, shapes
from inferfab.sizing.trial import Bench, Trial
from inferfab.traffic.draw import write_replay
from inferfab.traffic.sketches import Windows

ROOT = Path(__file__).parent.parent
MOST_AGGREGATED, MOST_OF_A_ROLE = 7, 4
"""The grid: so many nodes at most."""
ENVIRONMENT = """
name: bench
owner: bench
accounts: {aws: {account_id: "111122223333"}}
engine: {dynamo: 1.6.1}
models:
  m: {catalog: llama-3.1-70b-instruct, revision: 3a5f5b0b2c1d4e6f8a9b0c1d2e3f4a5b6c7d8e9f, context_tokens: 131072,
      quantization: fp8, kv_cache_dtype: fp8}
tiers:
  t:
    promises: [{metric: ttft, percentile: 95, at_most_ms: TTFT}, {metric: itl, percentile: 95, at_most_ms: 50}]
    workload: {prompt_tokens: PROMPT, output_tokens: OUTPUT}
pools:
  p: {topology: aggregated, tier: t, model: m, instance: p5en.48xlarge,
      worker: {tensor_parallel: 4, replicas: {desired: 2}}}
cells:
  c: {cloud: aws, region: us-east-1, zone: us-east-1a, network: {kind: new, cidr: 10.16.0.0/16}, pools: {p: {}}}
"""


class Case(NamedTuple):
    """One trace, how much of it, and the TTFT that is promised for it."""

    name: str
    file: str
    scale: float
    ttft_ms: int
    requests: int
    """The first so many of the busiest hour, in every replay."""


CASES = (
    Case("Azure code 2023", "AzureLLMInferenceTrace_code_2023.csv", 4, 2000, 5000),
    Case("Azure conversation 2023", "AzureLLMInferenceTrace_conv_2023.csv", 20, 500, 5000),
    Case("Mooncake conversation", "mooncake_conversation_trace.jsonl", 2, 10_000, 1500),
)


class Row(NamedTuple):
    method: str
    fleet: str
    trial: Trial | None
    gpus: int
    usd_per_hour: float
    seconds: float
    at_load: str = ""
    """What is broken at the load itself, without headroom and with every node; empty if nothing is."""


def bench(case: Case, folder: Path, console: Console) -> bool:
    """All methods on one trace; whether ours was the optimum."""
    fitting = (r for r in busiest(folder / case.file) if r.prompt_tokens + r.output_tokens <= 131_072)
    requests = tuple(fitting)[: case.requests]
    demand = Demand(requests=requests, speedup=case.scale, too_long=0, words=case.name)
    prompt = round(sum(r.prompt_tokens for r in requests) / len(requests))
    output = round(sum(r.output_tokens for r in requests) / len(requests))
    text = ENVIRONMENT.replace("TTFT", str(case.ttft_ms)).replace("PROMPT", str(prompt)).replace("OUTPUT", str(output))
    loaded = load_text(text)
    fleet = check(loaded).plan
    assert fleet is not None, check(loaded).findings
    assert loaded.environment is not None
    cell = fleet.cells[0]
    grid, _ = shapes(loaded.environment, fleet, cell, cell.pools[0], (), machines=("p5en.48xlarge",), tensors=(2, 4))
    # What others recommend may lie outside the grid; it is judged all the same.
    known, _ = shapes(loaded.environment, fleet, cell, cell.pools[0], (), machines=("p5en.48xlarge",))
    rows: list[Row] = []
    with Simulator(python_of(DYNAMO)) as simulator, tempfile.TemporaryDirectory() as scratch:
        start = time.monotonic()
        found = search(simulator, grid, demand, runners_up=1.0)
        ours = found.choices[0] if found.choices else None
        taken = time.monotonic() - start
        if ours:
            rows.append(_row("inferfab size", ours.shape, ours.trial, taken))
        trace = Path(scratch) / "trace.jsonl"
        write_replay(requests, trace)
        start = time.monotonic()
        best = _exhaustive(simulator, grid, demand, trace, Path(scratch))
        if best:
            rows.append(_row("exhaustive", *best, time.monotonic() - start))
        peak = _peak(demand)
        rows.append(_static(simulator, grid, demand, trace, Path(scratch), peak))
        rows += _recommended(simulator, known, demand, trace, Path(scratch), case, prompt, output, peak)
    table = Table(
        "method", "fleet", "with headroom and a spare", "at the load itself", "GPUs", "$ an hour", "seconds",
        title=(
        f"{case.name} × {case.scale:g}, {len(requests):,} requests: {demand.rate_rps:.1f} requests/s, {prompt:,} in / "
        f"{output} out; TTFT p95 ≤ {case.ttft_ms:,} ms, ITL p95 ≤ 50 ms"
    ))  # fmt: skip
    for row in rows:
        kept = "-" if row.trial is None else "kept" if row.trial.kept else f"broken: {row.trial.limit}"
        plain = "-" if row.trial is None else f"broken: {row.at_load}" if row.at_load else "kept"
        table.add_row(
            row.method, row.fleet, kept, plain, str(row.gpus), f"{row.usd_per_hour:,.2f}", f"{row.seconds:.0f}"
        )
    console.print(table)
    return (ours is None and best is None) or (
        ours is not None and best is not None
        and abs(ours.usd_per_hour - best[0].cost(sum(best[1].nodes))) < 1e-6
    )  # fmt: skip


def _row(method: str, shape: Shape, trial: Trial, seconds: float, one: Bench | None = None) -> Row:
    gpus = sum(n * g.gpus_per_node for n, g in zip(trial.nodes, shape.groups, strict=True))
    words = f"{shape.name}, {' + '.join(map(str, trial.nodes))} nodes"
    at_load = one.broken(one.run(one.workers(trial.nodes), 1.0)) if one and not trial.kept else ""
    return Row(method, words, trial, gpus, shape.cost(sum(trial.nodes)), seconds, at_load)


def _exhaustive(
    simulator: Simulator, grid: list[Shape], demand: Demand, trace: Path, folder: Path
) -> tuple[Shape, Trial] | None:
    """Every fleet of the grid, without bounds or order."""
    best: tuple[Shape, Trial] | None = None
    for shape in grid:
        one = Bench(simulator, shape, demand, trace, folder)
        roles = len(shape.pool.roles)
        sizes = product(range(1, (MOST_AGGREGATED if roles == 1 else MOST_OF_A_ROLE) + 1), repeat=roles)
        for nodes in sizes:
            trial = one.trial(nodes)
            cost = shape.cost(sum(nodes))
            if trial.kept and (best is None or cost < best[0].cost(sum(best[1].nodes))):
                best = shape, trial
    return best


def _peak(demand: Demand) -> float:
    """Requests a second in the busiest minute."""
    windows = Windows(60.0 * demand.speedup)
    for request in demand.requests:
        windows.add(request.at_s)
    return max(windows.counts.values()) / 60.0


def _static(simulator: Simulator, grid: list[Shape], demand: Demand, trace: Path, folder: Path, peak: float) -> Row:
    """The spreadsheet: busiest minute over what the estimate says of one worker, and a spare node."""
    shape = next(s for s in grid if s.topology == "aggregated" and s.tensor == {"worker": 4})
    role = shape.pool.roles[0]
    workers = peak / role.performance.requests_per_second.low
    nodes = (max(1, -int(-workers // max(1, shape.groups[0].workers_per_node))) + 1,)
    one = Bench(simulator, shape, demand, trace, folder)
    return _row("static peak", shape, one.trial(nodes), 0.0, one)


_TOP = re.compile(r"^\|\s+1\s+\|.*", re.MULTILINE)


def _recommended(
    simulator: Simulator, known: list[Shape], demand: Demand, trace: Path, folder: Path, case: Case, prompt: int,
    output: int, peak: float,
) -> list[Row]:  # fmt: skip
    try:
        python = python_of(AICONFIGURATOR)
    except ExtraMissing:
        return [Row("aiconfigurator recommend", "not here (make aiconfigurator)", None, 0, 0.0, 0.0)]
    start = time.monotonic()
    run = subprocess.run(
        [str(Path(python).parent / "aiconfigurator"), "cli", "recommend", "--model-path",
         "nvidia/Llama-3.1-70B-Instruct-FP8", "--system", "h200_sxm", "--backend", "vllm", "--isl", str(prompt),
         "--osl", str(max(2, output)), "--ttft", str(case.ttft_ms), "--tpot", "50", "--target-request-rate",
         f"{peak:.2f}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    seconds = time.monotonic() - start
    rows = []
    for line in _TOP.findall(run.stdout + run.stderr):
        cells = [c.strip() for c in line.strip("|").split("|")]
        apart = len(cells) > 15
        try:
            replicas = int(cells[9])
            counts = [int(cells[11]) * replicas, int(cells[15]) * replicas] if apart else [replicas]
            tensor = int(re.findall(r"tp(\d+)", cells[13] if apart else cells[12])[0])
        except (IndexError, ValueError):
            continue
        kind = "disaggregated" if apart else "aggregated"
        shape = next((s for s in known if s.topology == kind and set(s.tensor.values()) == {tensor}), None)
        if shape is None:
            rows.append(Row("aiconfigurator recommend", f"{kind} TP{tensor}: does not fit", None, 0, 0.0, seconds))
            continue
        nodes = tuple(-(-n // max(1, shape.groups[i].workers_per_node)) + 1 for i, n in enumerate(counts))
        one = Bench(simulator, shape, demand, trace, folder)
        rows.append(_row(f"aiconfigurator recommend ({kind})", shape, one.trial(nodes), seconds, one))
    return rows or [Row("aiconfigurator recommend", "no answer for this", None, 0, 0.0, seconds)]


def main() -> None:
    """All traces; exit code 1 if ours was not the optimum of a grid."""
    console = Console(width=200)
    folder = Path(os.environ.get("TRACES", ""))
    if not all((folder / case.file).is_file() for case in CASES):
        console.print(f"benchmarks.sizing: set TRACES to the folder with {', '.join(c.file for c in CASES)}")
        return
    assert DATA.is_dir()
    start = time.monotonic()
    right = [bench(case, folder, console) for case in CASES]
    console.print(f"all in {(time.monotonic() - start) / 60:.1f} minutes")
    if not all(right):
        console.print("inferfab size is not the optimum of the grid: that is a bug")
        sys.exit(1)


if __name__ == "__main__":
    main()
