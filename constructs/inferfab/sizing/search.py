"""The search: cheapest first over all shapes and whole nodes, so the first that keeps everything is the cheapest.

Trials are saved where the answer is known: a shape that failed with so many nodes fails with fewer of each role, and
what the lower bounds rule out is never tried. Prefill and decode of different tensor parallelism are tried only as
long as they would be cheaper than what was found. So the result is the optimum of the grid, up to the simulator's own
fluctuation between neighbouring sizes.
"""

import heapq
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from inferfab.record import Record
from inferfab.simulate.demand import Demand
from inferfab.simulate.simulator import Simulator
from inferfab.sizing.bounds import fewest_nodes, too_slow
from inferfab.sizing.machines import no_more
from inferfab.sizing.shapes import Passed, Shape
from inferfab.sizing.trial import UTILIZATION, Bench, Trial
from inferfab.traffic.draw import write_replay

MOST_NODES = 64
"""Of one role in one cell."""
RUNNERS_UP = 1.6
"""Other shapes are followed up to so many times the cheapest's price."""
MOST_TRIALS = 200


class Choice(Record):
    """The cheapest number of nodes of one shape."""

    shape: Shape
    trial: Trial
    cost: float
    """What was made least: dollars an hour, or nodes where no price is known."""
    limit: str
    """What a node less breaks: why it is not smaller."""

    @property
    def usd_per_hour(self) -> float | None:
        return None if self.shape.usd_per_node_hour is None else self.cost

    @property
    def gpus(self) -> int:
        return sum(n * g.gpus_per_node for n, g in zip(self.trial.nodes, self.shape.groups, strict=True))


class Found(Record):
    """What a search came to."""

    choices: tuple[Choice, ...]
    """One a shape, the cheapest first; empty if nothing keeps every promise."""
    passed: tuple[Passed, ...]
    trials: int
    simulations: int
    exhausted: bool
    """The search ended because it had tried as much as it may; cheaper ones of other shapes may exist."""


def search(
    simulator: Simulator,
    shapes: Sequence[Shape],
    demand: Demand,
    *,
    utilization: float = UTILIZATION,
    spare: int = 1,
    most_trials: int = MOST_TRIALS,
    runners_up: float = RUNNERS_UP,
    progress: Callable[[str], None] = lambda _: None,
) -> Found:
    """:raises SimulatorFailed: if the simulator refuses."""
    passed = [Passed(shape=s.name, why=why) for s in shapes if (why := too_slow(s, demand))]
    open_ = [s for s in shapes if not too_slow(s, demand)]
    before = simulator.runs
    with tempfile.TemporaryDirectory(prefix="inferfab-sizing-") as scratch:
        trace = Path(scratch) / "trace.jsonl"
        write_replay(demand.requests, trace)
        run = _Search(simulator, open_, demand, trace, Path(scratch), utilization, spare, progress)
        run.all(most_trials, runners_up)
    choices = sorted(run.choices.values(), key=_best_first)
    for index in range(len(open_)):
        if index not in run.choices:
            passed.append(Passed(shape=open_[index].name, why=run.why_not(index)))
    return Found(
        choices=tuple(choices),
        passed=tuple(passed),
        trials=run.trials,
        simulations=simulator.runs - before,
        exhausted=run.exhausted,
    )


def _best_first(choice: Choice) -> tuple[float, int, float, str]:
    """By price; of equal ones the one with the shortest wait."""
    late = choice.trial.ttft_p95_ms
    return choice.cost, choice.gpus, late if late is not None else float("inf"), choice.shape.name


class _Search:
    def __init__(
        self, simulator: Simulator, shapes: Sequence[Shape], demand: Demand, trace: Path, folder: Path,
        utilization: float, spare: int, progress: Callable[[str], None],
    ) -> None:  # fmt: skip
        self.shapes, self.progress, self.utilization, self.spare = shapes, progress, utilization, spare
        self.benches = [Bench(simulator, s, demand, trace, folder) for s in shapes]
        self.heap: list[tuple[float, int, tuple[int, ...]]] = []
        self.seen: set[tuple[int, tuple[int, ...]]] = set()
        self.failed: dict[int, list[tuple[int, ...]]] = {}
        self.last: dict[int, str] = {}
        self.limits: dict[tuple[int, tuple[int, ...]], str] = {}
        self.choices: dict[int, Choice] = {}
        self.trials = 0
        self.exhausted = False
        self.full: set[int] = set()
        """Shapes that would have grown beyond the servers that are there."""
        for index, shape in enumerate(shapes):
            self._push(index, fewest_nodes(shape, demand, 1 / utilization, spare))

    def _cost(self, index: int, nodes: tuple[int, ...]) -> float:
        return self.shapes[index].cost(sum(nodes))

    def _push(self, index: int, nodes: tuple[int, ...]) -> None:
        there = self.shapes[index].nodes_there
        if there is not None and sum(nodes) > there:
            self.full.add(index)
            return
        if (index, nodes) not in self.seen and max(nodes) <= MOST_NODES:
            self.seen.add((index, nodes))
            heapq.heappush(self.heap, (self._cost(index, nodes), index, nodes))

    def all(self, most_trials: int, runners_up: float) -> None:
        best: float | None = None
        while self.heap:
            cost, index, nodes = heapq.heappop(self.heap)
            if best is not None and cost > best * runners_up:
                return
            if index in self.choices or (best is not None and self.shapes[index].mixed and cost >= best):
                continue
            for role in range(len(nodes)):
                more = self.shapes[index].step(role)
                self._push(index, tuple(n + (more if i == role else 0) for i, n in enumerate(nodes)))
            if any(all(n <= f for n, f in zip(nodes, done, strict=True)) for done in self.failed.get(index, ())):
                continue
            if self.trials >= most_trials:
                self.exhausted = True
                return
            trial = self._try(index, nodes, cost)
            if trial.kept:
                best = cost if best is None else min(best, cost)
                self.choices[index] = Choice(
                    shape=self.shapes[index], trial=trial, cost=cost, limit=self._why_not_smaller(index, nodes)
                )

    def _try(self, index: int, nodes: tuple[int, ...], cost: float) -> Trial:
        self.trials += 1
        words = " + ".join(str(n) for n in nodes)
        price = "" if self.shapes[index].usd_per_node_hour is None else f", ${cost:,.2f} an hour"
        self.progress(f"{self.shapes[index].name}: {words} nodes{price}")
        trial = self.benches[index].trial(nodes, self.utilization, self.spare)
        if not trial.kept:
            self.failed.setdefault(index, []).append(nodes)
            self.last[index] = trial.limit
            self.limits[index, nodes] = trial.limit
        return trial

    def why_not(self, index: int) -> str:
        """What kept a shape without a choice from having one."""
        there = self.shapes[index].nodes_there
        if index in self.full and there is not None:
            broke = self.last.get(index)
            return f"{broke}; {no_more(there)}" if broke else f"the work alone takes more: {no_more(there)}"
        return self.last.get(index, "not cheaper than what was found, by its fewest nodes alone")

    def _why_not_smaller(self, index: int, nodes: tuple[int, ...]) -> str:
        steps = [self.shapes[index].step(role) for role in range(len(nodes))]
        fewer = [tuple(n - (steps[i] if i == role else 0) for i, n in enumerate(nodes)) for role in range(len(nodes))]
        known = [self.limits[index, f] for f in fewer if (index, f) in self.limits]
        if known:
            return known[0]
        if any(n == (1 + self.spare) * step for n, step in zip(nodes, steps, strict=True)):
            return f"the fewest of which {'one' if self.spare == 1 else self.spare} may be away"
        return "work alone would take longer than there is time"
