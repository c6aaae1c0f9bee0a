"""The router over the tiers of one model: which pool a request's targets and priority lead to.

Grid semantics: dynamo/global_router/pool_selection.py of ai-dynamo 1.6.1. A target falls into cell
``int((target - min) / step)``, held within the grid; a priority range, where it matches, wins over the grid. Prefill
is chosen by TTFT and decode by ITL, each on its own, so the grids rise together: whoever tags a request sets both.
"""

import math
from typing import Literal

from pydantic import NonNegativeInt, PositiveInt

from inferfab.plan.serving.planner import itl_target_ms
from inferfab.plan.tiers import TierPlan
from inferfab.record import Record

MOST_CELLS = 2_000
"""Of a grid's axis. Where edges would need more, they are rounded up: some requests get a better pool than they need.
"""
PRIORITY_STEP = 10
"""Priorities of a tier; requests within it may be told apart."""
HIGHEST_PRIORITY = 1_000_000
"""Upper end of the best tier's range."""


class TierTarget(Record):
    """What a request of one tier carries, and where it goes.

    ``nvext.router.{ttft_target, itl_target}`` in milliseconds and ``nvext.agent_hints.priority``. Targets are routing
    keys, whole milliseconds: the tier's strictest promises, rounded up, where these tell it from the tier before, else
    twice that tier's.
    """

    tier: str
    pool: str
    ttft_ms: PositiveInt
    itl_ms: PositiveInt
    min_priority: NonNegativeInt
    max_priority: NonNegativeInt


class Axis(Record):
    """One axis of a grid, from 0 to ``max_ms`` in equal cells, each with the index of a pool."""

    max_ms: PositiveInt
    cells: tuple[NonNegativeInt, ...]


class GlobalRouterPlan(Record):
    """Pools in the order of their tiers, the most important first."""

    mode: Literal["disagg", "agg"]
    model: str
    targets: tuple[TierTarget, ...]
    prefill_namespaces: tuple[str, ...]
    """Dynamo namespaces of the pools' prefill workers; empty where pools are aggregated."""
    decode_namespaces: tuple[str, ...]
    """The same of decode workers, or of workers that do both."""
    ttft: Axis
    itl: Axis
    context_tokens: PositiveInt

    @property
    def default(self) -> TierTarget:
        """Where requests without any target go: who asks for nothing gets no precedence."""
        return self.targets[-1]


def tier_targets(pools: tuple[tuple[TierPlan, str], ...]) -> tuple[TierTarget, ...]:
    """:param pools: tier and pool, the most important tier first."""
    found: list[TierTarget] = []
    for position, (tier, pool) in enumerate(pools):
        before = found[-1] if found else None
        worse = len(pools) - 1 - position
        found.append(
            TierTarget(
                tier=tier.name,
                pool=pool,
                ttft_ms=_rising(tier.strictest_ms("ttft"), before.ttft_ms if before else None, 200),
                itl_ms=_rising(itl_target_ms(tier), before.itl_ms if before else None, 20),
                min_priority=worse * PRIORITY_STEP,
                max_priority=(worse + 1) * PRIORITY_STEP - 1 if position else HIGHEST_PRIORITY,
            )
        )
    return tuple(found)


def _rising(promised_ms: float | None, before: int | None, first: int) -> int:
    """A tier's key: above the one before it, or nothing could tell the two apart.

    :param first: for the most important tier, where it promises nothing.
    """
    promised = math.ceil(promised_ms) if promised_ms is not None else None
    if before is None:
        return promised or first
    return promised if promised is not None and promised > before else 2 * before


def axis(targets: tuple[int, ...]) -> Axis:
    """Equal cells such that each target is the lower edge of its pool's range; below the first lies the first pool's.

    :param targets: rising, in milliseconds.
    """
    edges = targets[1:]
    if not edges:
        return Axis(max_ms=targets[0], cells=(0,))
    step = max(math.gcd(*edges), math.ceil(edges[-1] / (MOST_CELLS - len(edges))))
    at: list[int] = []
    for edge in edges:
        at.append(max(math.ceil(edge / step), at[-1] + 1 if at else 1))
    count = at[-1] + 1
    cells = tuple(sum(1 for first in at if first <= position) for position in range(count))
    return Axis(max_ms=count * step, cells=cells)


def plan_global_router(
    model: str,
    pools: tuple[tuple[TierPlan, str], ...],
    *,
    prefill_namespaces: tuple[str, ...],
    decode_namespaces: tuple[str, ...],
    context_tokens: int,
) -> GlobalRouterPlan:
    targets = tier_targets(pools)
    return GlobalRouterPlan(
        mode="disagg" if prefill_namespaces else "agg",
        model=model,
        targets=targets,
        prefill_namespaces=prefill_namespaces,
        decode_namespaces=decode_namespaces,
        ttft=axis(tuple(t.ttft_ms for t in targets)),
        itl=axis(tuple(t.itl_ms for t in targets)),
        context_tokens=context_tokens,
    )
