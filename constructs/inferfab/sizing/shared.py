"""Sizing of a shared pool: the fewest nodes on which every model of it keeps the tier's promises."""

from collections.abc import Callable, Mapping, Sequence

from inferfab.catalog.gpus import gpus
from inferfab.catalog.instances import InstanceType
from inferfab.environment.capacity import OnDemand
from inferfab.environment.environment import Environment
from inferfab.environment.pools import Replicas, SharedPool
from inferfab.performance.profile import PerformanceProfile
from inferfab.plan.fleet import CellPlan, plan
from inferfab.plan.pools import PoolPlan
from inferfab.plan.quantities import HOURS_PER_MONTH
from inferfab.simulate.demand import Demand
from inferfab.simulate.pool import PILED_UP_MS, judged
from inferfab.simulate.shared import SharedInputs, lanes_of, run_shared, shared_inputs, without_a_node
from inferfab.simulate.simulator import Simulator
from inferfab.sizing.machines import machines_for, no_more, nodes_there, priced_in_words
from inferfab.sizing.result import Option, PoolSize
from inferfab.sizing.shapes import Passed

MOST_NODES = 24


def size_shared(
    simulator: Simulator, environment: Environment, cell: CellPlan, pool: PoolPlan, demand: Mapping[str, Demand],
    own: tuple[PerformanceProfile, ...], head: dict[str, object], *, machines: Sequence[str] = (),
    utilization: float, spare: int, progress: Callable[[str], None] = lambda _: None,
) -> PoolSize:  # fmt: skip
    """On the pool's own machine type, and on the cheapest of each GPU that can be shared the same way.

    :param demand: of each model that has any.
    :raises SimulatorFailed: if the simulator refuses.
    """
    asked = environment.pools[pool.name]
    assert isinstance(asked, SharedPool)
    before = simulator.runs
    options: list[Option] = []
    passed: list[Passed] = []
    trials = 0
    there = nodes_there(cell, pool.name)
    most = MOST_NODES if there is None else min(there, MOST_NODES)
    for machine in machines or machines_for(environment, cell, asked, able=lambda m: _able(asked, m)):
        limit = ""
        for nodes in range(1 + spare if demand else most + 1, most + 1):
            inputs, price, priced = _variant(environment, cell, asked, pool.name, machine, nodes, own)
            limit_now = _stands(inputs, demand) or (priced if price is None and there is None else "")
            if not limit_now:
                if options and nodes * (price or 0.0) > min(o.cost for o in options):
                    limit = limit or "not cheaper than what was found"
                    break
                trials += 1
                progress(f"{machine}: {nodes} nodes")
                limit_now = _broken(simulator, inputs, demand, utilization, spare)
            if not limit_now:
                options.append(_option(inputs, machine, nodes, price, priced, limit or _fewest(spare)))
                limit = ""
                break
            limit = limit_now
            if price is None and there is None:
                break
        if limit:
            limit += f"; {no_more(there)}" if there is not None and there <= MOST_NODES else ""
            passed.append(Passed(shape=f"{machine} {asked.sharing}", why=limit))
    options.sort(key=lambda o: (o.cost, o.gpus))
    one = next(iter(demand.values()), None)
    return PoolSize.model_validate(
        {
            **head,
            "traffic": f"{one.words}, {len(demand)} models alike" if one else "",
            "requests": sum(len(d.requests) for d in demand.values()),
            "rate_rps": sum(d.rate_rps for d in demand.values()),
            "best": options[0] if options else None,
            "others": tuple(options[1:]),
            "passed": tuple(passed),
            "queueing": None,
            "curve": (),
            "trials": trials,
            "simulations": simulator.runs - before,
            "exhausted": False,
            "why": "" if demand else "no request comes here",
        }
    )


def _fewest(spare: int) -> str:
    return f"the fewest of which {'one' if spare == 1 else spare} may be away"


def _able(asked: SharedPool, machine: InstanceType) -> bool:
    return asked.sharing != "mig" or bool(gpus()[machine.gpu].mig_profiles)


def _variant(
    environment: Environment, cell: CellPlan, asked: SharedPool, name: str, machine: str, nodes: int,
    own: tuple[PerformanceProfile, ...],
) -> tuple[SharedInputs, float | None, str]:  # fmt: skip
    """The plan of this pool alone on so many nodes; what a node costs an hour, and how that is known."""
    here = environment.cells[cell.name]
    placed = here.pools.get(name) if asked.instance == machine else None
    built = asked.model_copy(
        update={
            "instance": machine,
            "gpu": None,
            "nodes": Replicas(desired=nodes),
            "capacity": asked.capacity if asked.instance == machine else OnDemand(),
        }
    )
    fleet = plan(
        environment.model_copy(
            update={
                "pools": {name: built},
                "cells": {
                    cell.name: here.model_copy(
                        update={
                            "pools": {name: placed.model_copy(update={"nodes": None}) if placed else None},
                            "traffic_share": None,
                        }
                    )
                },
            }
        )
    )
    pool = fleet.cells[0].pools[0]
    return shared_inputs(fleet, fleet.cells[0], pool, own), pool.price.usd.high, priced_in_words(pool.price)


def _stands(inputs: SharedInputs, demand: Mapping[str, Demand]) -> str:
    """Why it cannot be tried; empty if it can."""
    if inputs.shared.unplanned:
        return inputs.shared.unplanned
    for name in demand:
        if inputs.shared.packing.unserved.get(name):
            return f"{name} does not fit {'a part of its GPUs' if inputs.shared.mode == 'mig' else 'beside the others'}"
        if name not in inputs.profiles:
            return f"no speed of {name} on it is known"
    return ""


def _broken(
    simulator: Simulator, inputs: SharedInputs, demand: Mapping[str, Demand], utilization: float, spare: int
) -> str:
    """What is broken first: at the load over the utilisation, or with the fullest nodes away."""
    left = without_a_node(inputs, spare)
    words = f"without {'a node' if spare == 1 else f'{spare} nodes'}"
    cases = (
        (lanes_of(inputs.shared.packing), 1 / utilization, f"at {utilization:.0%} utilisation"),
        (left, 1.0, words),
    )
    for lanes, load, name in cases:
        gone = next((m for m in demand if not any(m in lane for lane in lanes)), None)
        if gone:
            return f"{name} nothing of {gone} is left"
        for model, outcome in run_shared(simulator, inputs, demand, lanes, load).items():
            if inputs.tier.promises:
                for p in judged(inputs.tier.promises, outcome):
                    if not p.kept:
                        return f"{name}: {model}: {p.promise} ({p.share:.1%} inside)"
            else:
                late = outcome.ttft_ms.get("95.0")
                if late is None or late > PILED_UP_MS or outcome.completed < outcome.requests * 0.95:
                    return f"{name}: {model}: work piles up"
    return ""


def _option(inputs: SharedInputs, machine: str, nodes: int, price: float | None, priced: str, limit: str) -> Option:
    (group,) = (g for g in inputs.cell.node_groups if g.pool == inputs.pool.name)
    bases = dict.fromkeys(f"{p.basis} {p.engine_version}".strip() for p in inputs.profiles.values())
    return Option(
        name=f"{machine} {inputs.shared.mode}",
        instance=machine,
        gpu=inputs.gpu,
        topology=f"shared, {inputs.shared.mode}",
        tensor={},
        pipeline=1,
        batch=max(int(i.engine.value_of("--max-num-seqs") or 1) for i in inputs.shared.instances),
        nodes={"shared": nodes},
        workers={"shared": inputs.shared.packing.total},
        gpus=nodes * group.gpus_per_node,
        usd_per_hour=None if price is None else nodes * price,
        usd_per_month=None if price is None else nodes * price * HOURS_PER_MONTH,
        priced=priced,
        limit=limit,
        speed=", ".join(bases) + (", divided by each part's share of a GPU" if inputs.shared.mode == "mig" else ""),
    )
