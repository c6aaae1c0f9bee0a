"""The simulator through losses: a node of each role, and each cell of a fleet with several."""

from datetime import date
from pathlib import Path

from inferfab.plan.fleet import FleetPlan
from inferfab.simulate.demand import Source
from inferfab.simulate.result import Simulation
from inferfab.simulate.simulate import simulate


def simulate_losses(
    fleet: FleetPlan, python: str, *, folder: Path, told: Source | None, as_of: date
) -> tuple[Simulation, ...]:
    """As planned with a node of each role lost in the run, then each cell gone.

    :raises SimulatorFailed: if the simulator refuses; and what :func:`simulate` raises of its inputs.
    """

    def run(scenario: str, *, lose_node: bool = False, lost_cell: str | None = None) -> Simulation:
        return simulate(
            fleet,
            python,
            folder=folder,
            told=told,
            as_of=as_of,
            lose_node=lose_node,
            lost_cell=lost_cell,
            scenario=scenario,
            find_knee=False,
        )

    cells = [cell.name for cell in fleet.cells] if len(fleet.cells) > 1 else []
    return (run("a node", lose_node=True), *(run(f"cell {name}", lost_cell=name) for name in cells))
