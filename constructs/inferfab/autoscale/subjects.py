"""Pools of a plan as the back-test sees them."""

from collections.abc import Callable

from inferfab.autoscale.backtest import Role, Subject
from inferfab.autoscale.policies import Fleet
from inferfab.autoscale.settings import ForecastSettings
from inferfab.plan.autoscaling.autoscaling import PoolAutoscaling
from inferfab.plan.autoscaling.provisioning import REACTION_SECONDS
from inferfab.plan.autoscaling.workers import RoleScaling
from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.plan.placement import nodes_for


def candidates(
    fleet: FleetPlan, cells: tuple[str, ...], pools: tuple[str, ...]
) -> tuple[list[tuple[CellPlan, PoolAutoscaling]], list[tuple[str, str]]]:
    """Pools to try, each in the first cell that has it unless cells are named; and those left out, with the reason."""
    found: dict[tuple[str, str], tuple[CellPlan, PoolAutoscaling]] = {}
    passed: dict[str, str] = {}
    for cell in fleet.cells:
        if cells and cell.name not in cells:
            continue
        for pool in cell.autoscaling.pools if cell.autoscaling else ():
            if pools and pool.pool not in pools:
                continue
            why = _unfit(pool)
            if why:
                passed[pool.pool] = why
                continue
            found.setdefault((pool.pool, cell.name if cells else ""), (cell, pool))
    return list(found.values()), list(passed.items())


def _unfit(pool: PoolAutoscaling) -> str:
    if pool.forecast is None:
        return "; ".join(pool.remarks) or "nothing tells its demand"
    if pool.mode == "fixed":
        return "fixed: it has no room to scale (min = max)"
    if any(not role.requests_per_second for role in pool.roles):
        return "what one of its workers serves is not known"
    return ""


def subject(cell: CellPlan, pool: PoolAutoscaling, interval_s: int) -> Subject:
    """:raises AssertionError: for a pool that :func:`candidates` leaves out."""
    assert pool.forecast is not None
    assert pool.provisioning is not None
    waits = pool.provisioning.total_seconds + REACTION_SECONDS
    settings = pool.forecast.at_resolution(interval_s)
    return Subject(
        cell=cell.name,
        pool=pool.pool,
        tier=pool.tier,
        model=pool.model,
        mode=pool.mode,
        roles=tuple(_role(cell, pool, role, interval_s, waits) for role in pool.roles),
        settings=settings,
        remarks=_rounded(pool.forecast, settings),
    )


def _rounded(asked: ForecastSettings, used: ForecastSettings) -> tuple[str, ...]:
    if asked.horizon_s == used.horizon_s:
        return ()
    return (f"the horizon of {asked.horizon_s} s is tried as {used.horizon_s} s, whole windows of {used.interval_s} s",)


def _role(cell: CellPlan, pool: PoolAutoscaling, role: RoleScaling, interval_s: int, waits: int) -> Role:
    planned = next(r for p in cell.pools if p.name == pool.pool for r in p.roles if r.role == role.role)
    group = cell.node_group(planned.node_group)
    return Role(
        name=role.role,
        fleet=Fleet(
            requests_per_second=role.requests_per_second,
            spare=role.spare,
            least=role.workers.min,
            most=role.workers.max,
            # What is known when a window ends serves from the beginning of a later one.
            delay=1 + -(-waits // interval_s),
            hold=-(-pool.scale_in_seconds // interval_s),
            step=max(1, round(role.scale_in_step * interval_s / role.scale_in_period_seconds)),
        ),
        gpus_of=_gpus(group.gpus_per_node, planned.parallelism.gpus),
    )


def _gpus(on_node: int, of_worker: int) -> Callable[[int], int]:
    return lambda workers: nodes_for(workers, on_node, of_worker) * on_node
