"""One shape with so many nodes, tried on the simulator."""

from pathlib import Path
from typing import Any

from inferfab.plan.placement import Role
from inferfab.record import Record
from inferfab.simulate.demand import Demand
from inferfab.simulate.engines import engine, write_timing
from inferfab.simulate.pool import PILED_UP_MS, judged, simulator_job
from inferfab.simulate.simulator import Outcome, Simulator
from inferfab.sizing.shapes import Shape

UTILIZATION = 0.75
"""Of what the promises allow, at the peak: between the 70 and 80 % at which fleets are planned."""


LOADS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
"""Parts of the worst hour's load at which maintenance is looked at."""


class Trial(Record):
    """What came of it."""

    nodes: tuple[int, ...]
    """By role."""
    kept: bool
    limit: str
    """What was broken first, and when; empty if nothing was."""
    ttft_p95_ms: float | None = None
    ttft_p99_ms: float | None = None
    itl_p95_ms: float | None = None


class Bench:
    """A shape's engines, written once; runs are counted by the simulator."""

    def __init__(self, simulator: Simulator, shape: Shape, demand: Demand, trace: Path, folder: Path) -> None:
        self.simulator, self.shape, self.demand, self.trace = simulator, shape, demand, trace
        self.engines: dict[Role, dict[str, Any]] = {}
        for role in shape.pool.roles:
            timing = folder / f"{shape.instance}-{role.role}-{shape.tensor[role.role]}-{shape.pipeline}.npz"
            write_timing(shape.profiles[role.role], timing)
            self.engines[role.role] = engine(
                role, timing, shape.pool.kv_transfer, prefix_caching=shape.model.prefix_caching
            )

    def run(self, workers: dict[Role, int], load: float) -> Outcome:
        """At ``load`` times the demand."""
        job = simulator_job(
            self.trace, self.engines, workers, self.shape.tier.promises, speedup=self.demand.speedup * load
        )
        return self.simulator.run(job)

    def workers(self, nodes: tuple[int, ...]) -> dict[Role, int]:
        return {
            r.role: self.shape.workers(i, n) for i, (r, n) in enumerate(zip(self.shape.pool.roles, nodes, strict=True))
        }

    def broken(self, outcome: Outcome) -> str:
        """The first promise that is not kept; where there is none, that work piles up."""
        if self.shape.tier.promises:
            return next(
                (
                    f"{p.promise} ({p.share:.1%} inside)"
                    for p in judged(self.shape.tier.promises, outcome)
                    if not p.kept
                ),
                "",
            )
        late = outcome.ttft_ms.get("95.0")
        return "work piles up" if late is None or late > PILED_UP_MS else ""

    def trial(self, nodes: tuple[int, ...], utilization: float = UTILIZATION, spare: int = 1) -> Trial:
        """Every promise at the load over the utilisation, and at the load with so many nodes of each role away in turn.

        :param spare: nodes that are away at once. 1: lost, or in maintenance. 2: one lost while another is in
            maintenance. A worker that spans nodes goes whole.
        """
        outcome = self.run(self.workers(nodes), 1 / utilization)
        found = {
            "nodes": nodes,
            "ttft_p95_ms": outcome.ttft_ms.get("95.0"),
            "ttft_p99_ms": outcome.ttft_ms.get("99.0"),
            "itl_p95_ms": outcome.itl_ms.get("95.0"),
        }
        broke = self.broken(outcome)
        if broke:
            return Trial(**found, kept=False, limit=f"at {utilization:.0%} utilisation: {broke}")
        for index, role in enumerate(self.shape.pool.roles):
            words = f"without {'a node' if spare == 1 else f'{spare} nodes'} of {role.role}"
            left = self.without(nodes, index, spare)
            if left is None:
                return Trial(**found, kept=False, limit=f"{words} nothing is left")
            broke = self.broken(self.run(self.workers(left), 1.0))
            if broke:
                return Trial(**found, kept=False, limit=f"{words}: {broke}")
        return Trial(**found, kept=True, limit="")

    def without(self, nodes: tuple[int, ...], index: int, away: int) -> tuple[int, ...] | None:
        """What is left with so many nodes of a role away; None where that is no worker."""
        left = tuple(n - (away * self.shape.step(i) if i == index else 0) for i, n in enumerate(nodes))
        return left if min(left) > 0 else None

    def holds_up_to(self, nodes: tuple[int, ...], away: int) -> float:
        """The largest of :data:`LOADS` at which every promise holds with so many nodes of any one role away; 0 if none.

        When a node may be taken out for maintenance so that another may be lost meanwhile.
        """
        for load in LOADS:
            for index in range(len(nodes)):
                left = self.without(nodes, index, away)
                if left is None:
                    return 0.0
                if self.broken(self.run(self.workers(left), load)):
                    break
            else:
                return load
        return 0.0
