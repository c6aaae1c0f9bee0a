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
            timing = folder / f"{shape.instance}-{shape.topology}-{shape.tensor}-{role.role}.npz"
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
            r.role: n * self.shape.workers_per_node(i)
            for i, (r, n) in enumerate(zip(self.shape.pool.roles, nodes, strict=True))
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

    def trial(self, nodes: tuple[int, ...], utilization: float = UTILIZATION) -> Trial:
        """Every promise at the load over the utilisation, and at the load with a node less of each role in turn.

        One spare node is enough for a loss or for maintenance, one at a time.
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
            fewer = tuple(n - (i == index) for i, n in enumerate(nodes))
            if min(fewer) == 0:
                return Trial(**found, kept=False, limit=f"without a node of {role.role} nothing is left")
            broke = self.broken(self.run(self.workers(fewer), 1.0))
            if broke:
                return Trial(**found, kept=False, limit=f"without a node of {role.role}: {broke}")
        return Trial(**found, kept=True, limit="")
