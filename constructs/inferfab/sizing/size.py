"""Sizing of an environment: each pool in each cell for its traffic in the worst hour."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from inferfab.environment.environment import Environment
from inferfab.performance.find import own_profiles
from inferfab.plan.fleet import FleetPlan
from inferfab.plan.pools import PoolPlan
from inferfab.plan.quantities import HOURS_PER_MONTH
from inferfab.simulate.demand import Demand, Reader, Source, cell_shares, demand, source_of
from inferfab.simulate.simulator import Simulator
from inferfab.sizing.result import CurvePoint, Option, PoolSize, Queueing, Sizing
from inferfab.sizing.search import Choice, search
from inferfab.sizing.shapes import TENSOR, shapes
from inferfab.sizing.trial import UTILIZATION, Bench
from inferfab.traffic.draw import write_replay
from inferfab.traffic.sketches import Windows

SEARCH_REQUESTS = 8_000
"""Of the busiest hour, the first so many: a p95 needs thousands, not all."""
CURVE = (0.25, 0.5, 0.75, 1.0, 1.15, 1.33, 1.6, 2.0)
"""Loads at which the chosen fleet is shown; 1.33 is where it was held against its promises."""


def size(
    environment: Environment, fleet: FleetPlan, python: str, *, folder: Path, told: Source | None,
    cells: Sequence[str] = (), pools: Sequence[str] = (), gpus: Sequence[str] = (), machines: Sequence[str] = (),
    topologies: Sequence[str] = (), tensors: Sequence[int] = TENSOR, utilization: float = UTILIZATION,
    requests: int = SEARCH_REQUESTS, progress: Callable[[str], None] = lambda _: None,
) -> Sizing:  # fmt: skip
    """Size every pool of every cell, or those named.

    :param folder: of the environment file.
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
                if pool.shared is not None:
                    found.append(_nothing(head, "parts of a GPU have no profile: nobody has measured one"))
                    continue
                source = source_of(fleet, pool, told, folder)
                if source is None:
                    found.append(_nothing(head, "neither the command nor the file names traffic for it"))
                    continue
                share = cell_shares(fleet, pool.name)[cell.name] * source[1]
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
                result = search(simulator, options, wanted, utilization=utilization, progress=progress)
                best = result.choices[0] if result.choices else None
                curve = _curve(simulator, best, wanted) if best else ()
                found.append(
                    PoolSize(
                        **head,
                        traffic=wanted.words,
                        requests=len(wanted.requests),
                        rate_rps=wanted.rate_rps,
                        best=_option(best) if best else None,
                        others=tuple(_option(c) for c in result.choices[1:]),
                        passed=(*passed, *result.passed),
                        queueing=_queueing(wanted, curve, best) if best else None,
                        curve=curve,
                        trials=result.trials,
                        simulations=result.simulations,
                        exhausted=result.exhausted,
                    )
                )
    return Sizing(
        environment=fleet.ownership.name,
        engine=f"Dynamo {fleet.engine.dynamo} with vLLM {fleet.engine.vllm}",
        utilization=utilization,
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
        tensor=shape.tensor,
        batch=shape.batch,
        nodes=dict(zip(roles, choice.trial.nodes, strict=True)),
        workers={
            r: n * shape.workers_per_node(i) for i, (r, n) in enumerate(zip(roles, choice.trial.nodes, strict=True))
        },
        gpus=choice.gpus,
        usd_per_hour=choice.usd_per_hour,
        usd_per_month=choice.usd_per_hour * HOURS_PER_MONTH,
        priced=shape.priced,
        limit=choice.limit,
        speed=", ".join(f"{basis} {version}".strip() for basis, version in bases.items()),
    )


def _curve(simulator: Simulator, best: Choice, wanted: Demand) -> tuple[CurvePoint, ...]:
    found = []
    with tempfile.TemporaryDirectory(prefix="inferfab-sizing-") as scratch:
        trace = Path(scratch) / "trace.jsonl"
        write_replay(wanted.requests, trace)
        bench = Bench(simulator, best.shape, wanted, trace, Path(scratch))
        for load in CURVE:
            outcome = bench.run(bench.workers(best.trial.nodes), load)
            found.append(
                CurvePoint(
                    load=load,
                    ttft_p50_ms=outcome.ttft_ms.get("50.0"),
                    ttft_p95_ms=outcome.ttft_ms.get("95.0"),
                    ttft_p99_ms=outcome.ttft_ms.get("99.0"),
                    itl_p95_ms=outcome.itl_ms.get("95.0"),
                    kept=not bench.broken(outcome),
                )
            )
    return tuple(found)


def _queueing(wanted: Demand, curve: tuple[CurvePoint, ...], best: Choice) -> Queueing:
    windows = Windows(10.0)
    for request in wanted.requests:
        windows.add(request.at_s)
    moments = windows.moments(wanted.requests[0].at_s, wanted.requests[-1].at_s)
    prompts = sorted(r.prompt_tokens for r in wanted.requests)
    broke = next((p.load for p in curve if not p.kept), None)
    return Queueing(
        dispersion_10s=moments[1] / moments[0] if moments and moments[0] else None,
        prompt_p50=prompts[len(prompts) // 2],
        prompt_p99=prompts[int(len(prompts) * 0.99)],
        breaks_at=broke,
        broke=best.limit,
    )
