"""A whole environment on the simulator."""

from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path

from inferfab.performance.find import own_profiles
from inferfab.plan.fleet import FleetPlan
from inferfab.simulate.demand import Reader, Source, cell_shares, demand, source_of
from inferfab.simulate.pool import simulate_pool
from inferfab.simulate.result import PoolResult, Simulation
from inferfab.simulate.shared import shared_inputs, simulate_shared
from inferfab.simulate.simulator import Simulator


def simulate(
    fleet: FleetPlan,
    python: str,
    *,
    folder: Path,
    told: Source | None,
    as_of: date,
    only: Sequence[str] = (),
    lose_node: bool = False,
    lost_cell: str | None = None,
    scenario: str = "as planned",
    find_knee: bool = True,
    progress: Callable[[str], None] = lambda _: None,
) -> Simulation:
    """Every pool of every cell, or those named.

    :param folder: of the environment file: paths of traffic profiles begin there, and ``performance/`` in it holds the
        team's own profiles.
    :raises SimulatorFailed: if the simulator refuses.
    :raises UnusableTrace, UnreadableProfile, Undrawable, UnreadablePerformance: for what cannot be read.
    """
    own = own_profiles(folder)
    reader = Reader()
    models = {m.name: m for m in fleet.models}
    found: list[PoolResult] = []
    with Simulator(python) as simulator:
        for cell in fleet.cells:
            if cell.name == lost_cell:
                continue
            for pool in cell.pools:
                if only and pool.name not in only:
                    continue
                head = {"cell": cell.name, "pool": pool.name, "tier": pool.tier, "model": ", ".join(pool.models)}
                source = source_of(fleet, pool, told, folder)
                if source is None:
                    why = "neither the command nor the file names traffic for it"
                    found.append(PoolResult(**head, fabric="", status="no traffic", why=why))
                    continue
                progress(f"{cell.name}: {pool.name}")
                share = cell_shares(fleet, pool.name, lost_cell)[cell.name] * source[1]
                if pool.shared is not None:
                    parts = {
                        n: demand(reader, source[0], cell, pool, share / len(pool.models), models[n].context_tokens, n)
                        for n in pool.models
                    }
                    inputs = shared_inputs(fleet, cell, pool, own)
                    found += simulate_shared(simulator, inputs, parts, lose_node=lose_node)
                    continue
                wanted = demand(reader, source[0], cell, pool, share, models[pool.models[0]].context_tokens)
                found.append(
                    simulate_pool(
                        simulator,
                        fleet,
                        cell,
                        pool,
                        wanted,
                        own,
                        as_of=as_of,
                        lose_node=lose_node,
                        find_knee=find_knee,
                    )
                )
    return Simulation(
        environment=fleet.ownership.name,
        engine=f"Dynamo {fleet.engine.dynamo} with vLLM {fleet.engine.vllm}",
        scenario=scenario,
        pools=tuple(found),
    )
