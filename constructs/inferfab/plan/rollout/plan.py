"""Cells in order, the shares by which each takes its traffic back, and the rules of judgement."""

import math
from collections.abc import Sequence

from pydantic import PositiveFloat, PositiveInt

from inferfab.environment.environment import Environment
from inferfab.environment.rollout import Rollout
from inferfab.plan.cell_load import FULL, CellLoad, cell_loads
from inferfab.plan.pools import PoolPlan
from inferfab.plan.routing import traffic_shares
from inferfab.record import Record

WHOLE = 100
READY_MINUTES = 45
"""For graphs to be ready: a cold start is some 14 minutes, and nodes come first."""
AROUND_MINUTES = 30
"""Installing, applying and names, of one cell."""


class RolloutStep(Record):
    """One step of a cell: what DNS is told before it is judged."""

    share_percent: PositiveInt
    """Of the cell's own share."""
    asked_percent: PositiveInt | None = None
    """What the file says, where the others cannot take that much of its traffic. None: as asked."""
    traffic_shares: dict[str, float]
    """By cell; together 1."""


class CellRollout(Record):
    """One cell's part of a rollout."""

    cell: str
    steps: tuple[RolloutStep, ...]
    others: tuple[str, ...]
    """Cells that take the rest of its traffic; empty where none can, and then the cell changes under all of it."""
    raised: str = ""
    """Why steps are larger than asked: what the first would be; empty where all are as asked."""


class JudgePlan(Record):
    """By what a step is judged."""

    judge_minutes: PositiveInt
    longest_minutes: PositiveInt
    least_requests: PositiveInt
    confidence_percent: PositiveFloat
    slower_percent: PositiveFloat
    failed_percent: PositiveFloat


class RolloutPlan(Record):
    """How a change reaches the cells."""

    cells: tuple[CellRollout, ...]
    """In order."""
    judge: JudgePlan


def plan_rollout(environment: Environment, pools: Sequence[PoolPlan] = ()) -> RolloutPlan | None:
    """None where the file has no ``rollout``.

    :param pools: what the cells can take. Default: nobody looks, and steps are as asked.
    """
    asked = environment.rollout
    if asked is None:
        return None
    shares = traffic_shares(environment)
    order = rollout_order(environment, asked)
    return RolloutPlan(
        cells=tuple(_cell(environment, asked, cell, shares, pools) for cell in order),
        judge=JudgePlan(
            judge_minutes=asked.judge_minutes,
            longest_minutes=asked.longest_minutes,
            least_requests=asked.least_requests,
            confidence_percent=asked.confidence_percent,
            slower_percent=asked.slower_percent,
            failed_percent=asked.failed_percent,
        ),
    )


def rollout_order(environment: Environment, asked: Rollout) -> tuple[str, ...]:
    """As stated, or the cell with the least traffic first; names decide between equals. A rule sees that an order is
    complete; what it leaves out comes last here.
    """
    shares = traffic_shares(environment)
    stated = [cell for cell in dict.fromkeys(asked.order) if cell in environment.cells]
    rest = sorted(set(environment.cells) - set(stated), key=lambda cell: (shares[cell], cell))
    return (*stated, *rest)


def _cell(
    environment: Environment, asked: Rollout, cell: str, shares: dict[str, float], pools: Sequence[PoolPlan]
) -> CellRollout:
    """Steps at which no cell gets more than it can take: a smaller one is raised to the least that is possible."""
    others = _takers(environment, cell)
    steps: list[RolloutStep] = []
    raised = ""
    if _over(pools, shares):
        pools = ()  # too much already, as a rule says; steps do not mend it
    for wanted in asked.share_percent_steps if others else (WHOLE,):
        fitting = (p for p in range(wanted, WHOLE) if not _over(pools, _moved(shares, cell, others, p, pools)))
        percent = next(fitting, WHOLE)
        if percent != wanted and not raised:
            load = _over(pools, _moved(shares, cell, others, wanted, pools))
            raised = f"at {wanted} % of `{cell}`'s traffic {load}"
        if not steps or percent > steps[-1].share_percent:
            moved = _moved(shares, cell, others, percent, pools)
            was = wanted if percent != wanted else None
            steps.append(RolloutStep(share_percent=percent, asked_percent=was, traffic_shares=moved))
        elif percent == wanted:
            # Asked for as it is; that smaller ones were raised to it is in `raised`.
            steps[-1] = steps[-1].model_copy(update={"asked_percent": None})
    return CellRollout(cell=cell, steps=tuple(steps), others=others, raised=raised)


def _over(pools: Sequence[PoolPlan], shares: dict[str, float]) -> CellLoad | None:
    """The busiest of the cells that get more than they can take."""
    loads = [load for load in _loads(pools, shares) if load.busy > FULL]
    return max(loads, key=lambda load: load.busy, default=None)


def _loads(pools: Sequence[PoolPlan], shares: dict[str, float]) -> list[CellLoad]:
    return [load for tier in sorted({pool.tier for pool in pools}) for load in cell_loads(pools, tier, shares)]


def _takers(environment: Environment, cell: str) -> tuple[str, ...]:
    """Cells to which a weight in DNS moves this one's requests: of each tier that both serve, all of its models.

    A tier that no other serves stays, as it has a hostname of its own. Under latency and geoproximity routing weights
    count among the cells of one region (plan/routing.py).
    """
    if environment.routing is None:
        return ()
    own = environment.cells[cell]
    served = _served(environment, cell)
    return tuple(
        name
        for name, other in environment.cells.items()
        if name != cell
        and (environment.routing.policy == "weighted" or (other.cloud, other.region) == (own.cloud, own.region))
        and _takes(served, _served(environment, name))
    )


def _takes(mine: set[tuple[str, str]], other: set[tuple[str, str]]) -> bool:
    common = {tier for tier, _ in mine} & {tier for tier, _ in other}
    return bool(common) and {pair for pair in mine if pair[0] in common} <= other


def _served(environment: Environment, cell: str) -> set[tuple[str, str]]:
    """(tier, model) pairs that a cell serves."""
    found = set()
    for name in environment.cells[cell].pools:
        pool = environment.pools[name]
        models = (m.model for m in pool.models) if pool.topology == "shared" else (pool.model,)
        found |= {(pool.tier, model) for model in models}
    return found


def _moved(
    shares: dict[str, float], cell: str, others: tuple[str, ...], percent: int, pools: Sequence[PoolPlan]
) -> dict[str, float]:
    """The cell keeps ``percent`` of its share; the rest goes to the others in proportion to theirs, to none of them
    more than it can take as long as another has room.
    """
    rest = shares[cell] * (1 - percent / WHOLE)
    found = dict(shares)
    found[cell] -= rest
    open_ = set(others)
    for _ in others:
        trial = _spread(found, shares, open_, rest)
        full: dict[str, float] = {}
        for load in _loads(pools, trial):
            if load.cell in open_ and load.busy > FULL:
                # Rounded down: shares have six digits.
                most = math.floor(trial[load.cell] / load.busy * 1e6) / 1e6
                full[load.cell] = min(full.get(load.cell, most), most)
        if not full or len(full) == len(open_):
            break
        for name, limit in full.items():
            most = max(limit, shares[name])
            rest -= most - found[name]
            found[name] = most
        open_ -= set(full)
    return {name: round(share, 6) for name, share in _spread(found, shares, open_, rest).items()}


def _spread(found: dict[str, float], shares: dict[str, float], to: set[str], rest: float) -> dict[str, float]:
    """``rest`` on top of what the cells ``to`` have, in proportion to their shares."""
    whole = sum(shares[name] for name in to)
    return {
        name: share + (rest * (shares[name] / whole if whole else 1 / len(to)) if name in to else 0.0)
        for name, share in found.items()
    }
