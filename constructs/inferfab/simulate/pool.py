"""One pool in one cell on the simulator."""

import tempfile
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from inferfab.catalog.instances import instances
from inferfab.performance.find import profile_for
from inferfab.performance.profile import PerformanceProfile, beside_pair, too_old
from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.plan.placement import Role
from inferfab.plan.pools import PoolPlan
from inferfab.plan.provisioning import provisioning
from inferfab.plan.tiers import PromisePlan, TierPlan
from inferfab.simulate.demand import Demand
from inferfab.simulate.engines import engine, write_timing
from inferfab.simulate.result import Busy, Knee, LossResult, PoolResult, PromiseResult
from inferfab.simulate.simulator import Outcome, Simulator
from inferfab.traffic.draw import BLOCK_TOKENS, write_replay

NEVER_SECONDS = 7 * 86_400.0
"""Longer than any run: what is lost does not come back."""
PILED_UP_MS = 60_000.0
"""Where a tier promises nothing, load is too high when one request in twenty waits a minute for its first token."""
_KNEE_REQUESTS = 6_000
_FACTORS = (1.25, 1.6, 2.0, 2.8, 4.0, 6.0, 9.0, 14.0, 20.0)
_BELOW = (0.8, 0.6, 0.4, 0.25, 0.1)


class Inputs:
    """A pool's engines and requests as files; profiles as they were found."""

    def __init__(
        self, fleet: FleetPlan, cell: CellPlan, pool: PoolPlan, own: tuple[PerformanceProfile, ...], folder: Path
    ) -> None:
        """:raises LookupError: if a GPU cannot do the checkpoint's arithmetic at all."""
        self.fleet, self.pool, self.cell, self.folder = fleet, pool, cell, folder
        self.model = next(m for m in fleet.models if m.name == pool.models[0])
        self.tier: TierPlan = next(t for t in fleet.tiers if t.name == pool.tier)
        self.vllm = fleet.engine.vllm
        self.profiles: dict[Role, PerformanceProfile] = {}
        for role in pool.roles:
            group = cell.node_group(role.node_group)
            found = profile_for(self.model, role, instances(group.cloud)[group.instance].gpu, own)
            if found is None:
                raise LookupError(f"no speed of {self.model.name} on {group.instance} is known, not even a bound")
            self.profiles[role.role] = found
            write_timing(found, folder / f"{role.role}.npz")

    def job(self, trace: Path, *, speedup: float, startup_seconds: float | None = None) -> dict[str, Any]:
        """What the simulator is asked."""
        engines = {
            role.role: engine(
                role,
                self.folder / f"{role.role}.npz",
                self.pool.kv_transfer,
                prefix_caching=self.model.prefix_caching,
                startup_seconds=startup_seconds,
            )
            for role in self.pool.roles
        }
        workers = {role.role: role.workers.desired for role in self.pool.roles}
        return simulator_job(trace, engines, workers, promises_of(self.tier), speedup=speedup)


def promises_of(tier: TierPlan) -> tuple[PromisePlan, ...]:
    return tier.promises


def simulator_job(
    trace: Path,
    engines: dict[Role, dict[str, Any]],
    workers: dict[Role, int],
    promises: Sequence[PromisePlan],
    *,
    speedup: float = 1.0,
) -> dict[str, Any]:
    """A job from engines by role."""
    body: dict[str, Any] = {
        "trace": str(trace),
        "trace_block_tokens": BLOCK_TOKENS,
        "speedup": speedup,
        "promises": [p.model_dump() for p in promises],
    }
    if "prefill" in engines:
        return body | {
            "prefill_engine": engines["prefill"],
            "prefill_workers": workers["prefill"],
            "engine": engines["decode"],
            "workers": workers["decode"],
        }
    return body | {"engine": engines["worker"], "workers": workers["worker"]}


def judged(promises: Sequence[PromisePlan], outcome: Outcome) -> tuple[PromiseResult, ...]:
    """Each promise against what was simulated."""
    found = []
    for promise, kept in zip(promises, outcome.promises, strict=True):
        seen = {"ttft": outcome.ttft_ms, "itl": outcome.itl_ms}.get(promise.metric, {})
        found.append(
            PromiseResult(
                promise=str(promise),
                percentile=promise.percentile,
                share=kept.share,
                seen_ms=seen.get(str(float(promise.percentile))),
                kept=kept.share >= promise.percentile / 100,
            )
        )
    return tuple(found)


def busy_of(
    pool: PoolPlan, profiles: dict[Role, PerformanceProfile], demand: Demand, outcome: Outcome, speedup: float
) -> Busy:
    """How full the workers were on average over the run."""
    reads = next(r for r in pool.roles if r.role != "decode")
    writes = next(r for r in pool.roles if r.role != "prefill")
    span = max(outcome.duration_ms, 1.0)
    fresh = 1 - outcome.reused_tokens / outcome.prompt_tokens if outcome.prompt_tokens else 1.0
    work = sum(profiles[reads.role].ttft_ms(r.prompt_tokens * fresh) for r in demand.requests)
    arrivals = (demand.requests[-1].at_s - demand.requests[0].at_s) * 1000 / speedup if demand.requests else span
    kv = writes.memory.kv_capacity_tokens * writes.workers.desired
    batch = writes.batch.max_sequences * writes.parallelism.data * writes.workers.desired
    return Busy(
        prefill=work / max(arrivals, 1.0) / reads.workers.desired / reads.parallelism.data,
        kv=outcome.decode_kv_token_ms / span / kv if kv else 0.0,
        batch=outcome.decode_sequence_ms / span / batch if batch else 0.0,
    )


def simulate_pool(
    simulator: Simulator,
    fleet: FleetPlan,
    cell: CellPlan,
    pool: PoolPlan,
    demand: Demand,
    own: tuple[PerformanceProfile, ...],
    *,
    as_of: date,
    lose_node: bool = False,
    find_knee: bool = True,
) -> PoolResult:
    """Run one pool.

    :raises SimulatorFailed: if the simulator refuses.
    """
    gpus = sum(cell.node_group(r.node_group).gpus.desired for r in pool.roles)
    head: dict[str, Any] = {
        "cell": cell.name,
        "pool": pool.name,
        "tier": pool.tier,
        "model": pool.models[0],
        "fabric": pool.roles[0].fabric.kind,
        "traffic": demand.words,
        "gpus": gpus,
        "too_long": demand.too_long,
    }
    if len(demand.requests) < 2:
        why = f"{demand.too_long} requests, all longer than the context" if demand.too_long else "no request comes here"
        return PoolResult(**head, status="no traffic", why=why)
    if any(r.workers.desired == 0 for r in pool.roles):
        return PoolResult(**head, status="not simulated", why="no worker at the desired size")
    with tempfile.TemporaryDirectory(prefix="inferfab-simulation-") as scratch:
        folder = Path(scratch)
        try:
            inputs = Inputs(fleet, cell, pool, own, folder)
        except LookupError as error:
            return PoolResult(**head, status="not simulated", why=str(error))
        trace = folder / "trace.jsonl"
        write_replay(demand.requests, trace)
        outcome = simulator.run(inputs.job(trace, speedup=demand.speedup))
        promises = judged(inputs.tier.promises, outcome)
        knee = _knee(simulator, inputs, demand, all(p.kept for p in promises)) if find_knee else None
        losses = _losses(simulator, inputs, demand, trace) if lose_node else ()
    seconds = outcome.duration_ms / 1000
    hours = seconds / 3600
    usd = pool.cost.desired.usd_per_hour.times(hours)
    tokens = outcome.output_tokens
    return PoolResult(
        **head,
        status="simulated",
        requests=outcome.requests,
        rate_rps=demand.rate_rps,
        good_rps=outcome.good / seconds,
        ttft_ms=outcome.ttft_ms,
        itl_ms=outcome.itl_ms,
        promises=promises,
        busy=busy_of(pool, inputs.profiles, demand, outcome, demand.speedup),
        reused_share=outcome.reused_tokens / outcome.prompt_tokens if outcome.prompt_tokens else 0.0,
        gpu_hours=gpus * hours,
        usd_per_million_output_tokens=usd.times(1e6 / tokens) if tokens else None,
        usd_per_million_total_tokens=usd.times(1e6 / (tokens + outcome.prompt_tokens)) if tokens else None,
        knee=knee,
        losses=losses,
        simulated_per_second=outcome.requests / max(outcome.wall_ms / 1000, 1e-3),
        notes=_notes(inputs, as_of),
    )


def _notes(inputs: Inputs, as_of: date) -> tuple[str, ...]:
    found = []
    for role, profile in inputs.profiles.items():
        counts = ", ".join(f"{n} {how}" for how, n in profile.counted.items())
        found.append(f"{role}: speed from {profile.basis} ({counts} points)")
        found += [f"{role}: {note}" for note in (beside_pair(profile, inputs.vllm), too_old(profile, as_of)) if note]
    return tuple(dict.fromkeys(found))


def _breaks(inputs: Inputs, outcome: Outcome) -> str:
    """The first promise that does not hold; of a tier without any, that work piles up."""
    if inputs.tier.promises:
        return next((p.promise for p in judged(inputs.tier.promises, outcome) if not p.kept), "")
    late = outcome.ttft_ms.get("95.0")
    return "work piles up (TTFT p95 above a minute)" if late is None or late > PILED_UP_MS else ""


def _knee(simulator: Simulator, inputs: Inputs, demand: Demand, kept: bool) -> Knee | None:
    """The load at which the first promise breaks, to about a tenth.

    On the first so many requests: the load is what varies, and a run of thousands tells a p95.
    """
    part = demand.model_copy(update={"requests": demand.requests[:_KNEE_REQUESTS]})
    trace = inputs.folder / "knee.jsonl"
    write_replay(part.requests, trace)

    def at(factor: float) -> tuple[str, str]:
        speedup = demand.speedup * factor
        outcome = simulator.run(inputs.job(trace, speedup=speedup))
        busy = busy_of(inputs.pool, inputs.profiles, part, outcome, speedup)
        name, full = busy.fullest
        return _breaks(inputs, outcome), f"{name} {full:.0%}"

    good, bad, broke, fullest = (1.0, None, "", "") if kept else (0.0, 1.0, "", "")
    for factor in _FACTORS if kept else _BELOW:
        broke_here, full_here = at(factor)
        if kept and broke_here:
            bad, broke, fullest = factor, broke_here, full_here
            break
        if not kept and not broke_here:
            good = factor
            break
        if not kept:
            bad, broke, fullest = factor, broke_here, full_here
        good = factor if kept else good
        fullest = full_here if not broke else fullest
    if bad is None:
        return Knee(factor=good, broke="", fullest=fullest)
    if not broke:
        broke, fullest = at(bad)
    for _ in range(2):
        if good <= 0:
            break
        middle = (good * bad) ** 0.5
        broke_here, full_here = at(middle)
        if broke_here:
            bad, broke, fullest = middle, broke_here, full_here
        else:
            good = middle
    return Knee(factor=max(good, 0.05), broke=broke or "a promise", fullest=fullest)


def _losses(simulator: Simulator, inputs: Inputs, demand: Demand, trace: Path) -> tuple[LossResult, ...]:
    """For each role: one node's workers are taken away, what they were at is broken off, and another node comes.

    A worker over several nodes is lost whole with any one of them.
    """
    found = []
    span = (demand.requests[-1].at_s - demand.requests[0].at_s) / demand.speedup
    for role in inputs.pool.roles:
        group = inputs.cell.node_group(role.node_group)
        lost = min(role.workers.desired, max(1, group.workers_per_node))
        if lost >= role.workers.desired:
            found.append(LossResult(role=role.role, workers=lost, outage=True, promises=()))
            continue
        comes = provisioning(inputs.fleet, inputs.cell, inputs.pool.name)
        job = inputs.job(trace, speedup=demand.speedup, startup_seconds=comes.replacement_seconds or NEVER_SECONDS)
        key = "prefill" if role.role == "prefill" else "decode"
        job["loss"] = {"at_ms": span * 250, "workers": {key: lost}}
        outcome = simulator.run(job)
        found.append(
            LossResult(
                role=role.role,
                workers=lost,
                provision_seconds=comes.replacement_seconds,
                provision_how=comes.replacement_how,
                broken_off=outcome.broken_off,
                outage=False,
                promises=judged(inputs.tier.promises, outcome),
            )
        )
    return tuple(found)
