"""Cells in order, the shares by which each takes its traffic back, and the rules of judgement."""

from pydantic import PositiveFloat, PositiveInt

from inferfab.environment.environment import Environment
from inferfab.environment.rollout import Rollout
from inferfab.plan.routing import traffic_shares
from inferfab.record import Record

WHOLE = 100


class RolloutStep(Record):
    """One step of a cell: what DNS is told before it is judged."""

    share_percent: PositiveInt
    """Of the cell's own share."""
    traffic_shares: dict[str, float]
    """By cell; together 1."""


class CellRollout(Record):
    """One cell's part of a rollout."""

    cell: str
    steps: tuple[RolloutStep, ...]
    others: tuple[str, ...]
    """Cells that take the rest of its traffic; empty where none can, and then the cell changes under all of it."""


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


def plan_rollout(environment: Environment) -> RolloutPlan | None:
    """None where the file has no ``rollout``."""
    asked = environment.rollout
    if asked is None:
        return None
    shares = traffic_shares(environment)
    order = rollout_order(environment, asked)
    return RolloutPlan(
        cells=tuple(_cell(environment, asked, cell, shares) for cell in order),
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


def _cell(environment: Environment, asked: Rollout, cell: str, shares: dict[str, float]) -> CellRollout:
    others = _takers(environment, cell)
    percents = asked.share_percent_steps if others else (WHOLE,)
    return CellRollout(
        cell=cell,
        steps=tuple(RolloutStep(share_percent=p, traffic_shares=_moved(shares, cell, others, p)) for p in percents),
        others=others,
    )


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


def _moved(shares: dict[str, float], cell: str, others: tuple[str, ...], percent: int) -> dict[str, float]:
    """The cell keeps ``percent`` of its share; the rest goes to the others in proportion to theirs."""
    rest = shares[cell] * (1 - percent / WHOLE)
    whole = sum(shares[name] for name in others)
    found = dict(shares)
    found[cell] -= rest
    for name in others:
        found[name] += rest * (shares[name] / whole if whole else 1 / len(others))
    return {name: round(share, 6) for name, share in found.items()}
