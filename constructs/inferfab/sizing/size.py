"""Sizing of an environment: each pool in each cell for its traffic in the worst hour."""

from collections.abc import Callable, Sequence
from pathlib import Path

from inferfab.environment.environment import Environment
from inferfab.performance.find import own_profiles
from inferfab.plan.fleet import FleetPlan
from inferfab.plan.pools import PoolPlan
from inferfab.plan.quantities import HOURS_PER_MONTH
from inferfab.simulate.demand import Reader, Source, cell_shares, demand, source_of
from inferfab.simulate.simulator import Simulator
from inferfab.sizing.explain import explained
from inferfab.sizing.machines import why_no_machine
from inferfab.sizing.result import Option, PoolSize, Sizing
from inferfab.sizing.search import Choice, search
from inferfab.sizing.shapes import TENSOR, shapes
from inferfab.sizing.shared import size_shared
from inferfab.sizing.trial import UTILIZATION

SEARCH_REQUESTS = 8_000
"""Of the busiest hour, the first so many: a p95 needs thousands, not all."""


def size(
    environment: Environment, fleet: FleetPlan, python: str, *, folder: Path, told: Source | None,
    cells: Sequence[str] = (), pools: Sequence[str] = (), gpus: Sequence[str] = (), machines: Sequence[str] = (),
    topologies: Sequence[str] = (), tensors: Sequence[int] = TENSOR, utilization: float = UTILIZATION,
    spare: int = 1, parts: bool = False, requests: int = SEARCH_REQUESTS,
    progress: Callable[[str], None] = lambda _: None,
) -> Sizing:  # fmt: skip
    """Size every pool of every cell, or those named.

    :param folder: of the environment file.
    :param parts: what is told stands for the traffic that the file names, and is dealt to pools as that is.
    :param spare: nodes of a role that may be away at once in the worst hour: 1 for a loss or maintenance, 2 for a loss
        during maintenance.
    :raises SimulatorFailed: if the simulator refuses; and what reading traffic and profiles raises.
    """
    own = own_profiles(folder)
    reader = Reader()
    models = {m.name: m for m in fleet.models}
    found: list[PoolSize] = []
    with Simulator(python) as simulator:
        for cell in fleet.cells:
            for pool in cell.pools:
                if (cells and cell.name not in cells) or (pools and pool.name not in pools):
                    continue
                head = _head(fleet, pool)
                source = source_of(fleet, pool, told, folder, parts=parts)
                if source is None:
                    found.append(_nothing(head, "neither the command nor the file names traffic for it"))
                    continue
                nowhere = why_no_machine(environment, cell, pool.name, gpus, spare)
                if nowhere:
                    found.append(_nothing(head, nowhere))
                    continue
                share = cell_shares(fleet, pool.name)[cell.name] * source[1]
                if pool.shared is not None:
                    by_model = {}
                    for name in pool.models:
                        part = share / len(pool.models)
                        each = demand(reader, source[0], cell, pool, part, models[name].context_tokens, name)
                        each = each.model_copy(update={"requests": each.requests[: requests // len(pool.models)]})
                        if len(each.requests) > 1:
                            by_model[name] = each
                    progress(f"{cell.name}: {pool.name}, {len(by_model)} models that share GPUs")
                    found.append(
                        size_shared(
                            simulator, environment, cell, pool, by_model, own, head, machines=machines,
                            utilization=utilization, spare=spare, progress=progress,
                        )
                    )  # fmt: skip
                    continue
                wanted = demand(reader, source[0], cell, pool, share, models[pool.models[0]].context_tokens)
                wanted = wanted.model_copy(update={"requests": wanted.requests[:requests]})
                if len(wanted.requests) < 2:
                    found.append(_nothing(head, "no request comes here that its context can take"))
                    continue
                progress(f"{cell.name}: {pool.name}, {wanted.rate_rps:.2f} requests/s of {wanted.words}")
                options, passed = shapes(
                    environment, fleet, cell, pool, own, gpus=gpus, machines=machines, topologies=topologies,
                    tensors=tensors,
                )  # fmt: skip
                result = search(
                    simulator, options, wanted, utilization=utilization, spare=spare, progress=progress
                )  # fmt: skip
                best = result.choices[0] if result.choices else None
                why = explained(simulator, best, wanted, utilization) if best else None
                found.append(
                    PoolSize(
                        **head,
                        traffic=wanted.words,
                        requests=len(wanted.requests),
                        rate_rps=wanted.rate_rps,
                        best=_option(best) if best else None,
                        others=tuple(_option(c) for c in result.choices[1:]),
                        passed=(*passed, *result.passed),
                        queueing=why.queueing if why else None,
                        curve=why.curve if why else (),
                        two_away_upto=why.two_away_upto if why else None,
                        trials=result.trials,
                        simulations=result.simulations,
                        exhausted=result.exhausted,
                    )
                )
    return Sizing(
        environment=fleet.ownership.name,
        engine=f"Dynamo {fleet.engine.dynamo} with vLLM {fleet.engine.vllm}",
        utilization=utilization,
        spare=spare,
        pools=tuple(found),
    )


def _head(fleet: FleetPlan, pool: PoolPlan) -> dict[str, object]:
    cell = next(c for c in fleet.cells if c.name == pool.cell)
    tier = next(t for t in fleet.tiers if t.name == pool.tier)
    return {
        "cell": pool.cell,
        "pool": pool.name,
        "tier": pool.tier,
        "model": ", ".join(pool.models),
        "promises": tuple(str(p) for p in tier.promises),
        "planned_gpus": sum(g.gpus.desired for g in cell.node_groups if g.pool == pool.name),
        "planned_usd_per_hour": pool.cost.desired.usd_per_hour.high,
    }


def _nothing(head: dict[str, object], why: str) -> PoolSize:
    return PoolSize.model_validate(
        {
            **head, "traffic": "", "requests": 0, "rate_rps": 0.0, "best": None, "others": (), "passed": (),
            "queueing": None, "curve": (), "trials": 0, "simulations": 0, "exhausted": False, "why": why,
        }
    )  # fmt: skip


def _option(choice: Choice) -> Option:
    shape = choice.shape
    roles = [r.role for r in shape.pool.roles]
    bases = {p.basis: p.engine_version for p in shape.profiles.values()}
    return Option(
        name=shape.name,
        instance=shape.instance,
        gpu=shape.gpu,
        topology=shape.topology,
        tensor=dict(shape.tensor),
        pipeline=shape.pipeline,
        batch=shape.batch,
        nodes=dict(zip(roles, choice.trial.nodes, strict=True)),
        workers={r: shape.workers(i, n) for i, (r, n) in enumerate(zip(roles, choice.trial.nodes, strict=True))},
        gpus=choice.gpus,
        usd_per_hour=choice.usd_per_hour,
        usd_per_month=None if choice.usd_per_hour is None else choice.usd_per_hour * HOURS_PER_MONTH,
        priced=shape.priced,
        limit=choice.limit,
        speed=", ".join(f"{basis} {version}".strip() for basis, version in bases.items()),
    )
