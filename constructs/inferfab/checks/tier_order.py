"""Tiers of one model in the order of the file, which is their rank."""

import math
from collections.abc import Iterator
from itertools import combinations

from inferfab.checks.facts import Facts
from inferfab.checks.registry import Problem, rule
from inferfab.checks.remedies import plain
from inferfab.environment.tiers import Metric
from inferfab.findings import Severity
from inferfab.plan.tiers import TierPlan

_METRICS: tuple[Metric, ...] = ("ttft", "itl")


@rule(
    "IF-PRM-010",
    "tiers of one model that are not in the order of their promises",
    joins=("environment", "engine", "promise"),
    why="the order in the file is the rank: pods of an earlier tier take the place of a later one's, and the router "
    "over tiers has keys that rise with it, so a client who sends the promise of a faster tier reaches a slower pool.",
    do="write tiers fastest first.",
    source="the plan's PriorityClasses and router keys; ai-dynamo 1.6.1 dynamo/global_router/pool_selection.py",
)
def tiers_fastest_first(facts: Facts) -> Iterator[Problem]:
    sold: dict[str, set[str]] = {}
    for pool in facts.fleet.pools:
        for model in pool.models:
            sold.setdefault(model, set()).add(pool.tier)
    said: set[tuple[str, str]] = set()
    for model, names in sold.items():
        tiers = sorted((facts.tier(name) for name in names), key=lambda tier: tier.rank)
        for first, second in combinations(tiers, 2):
            if (first.name, second.name) in said:
                continue
            for problem in _reversed(first, second, model):
                said.add((first.name, second.name))
                yield problem
    yield from _made_up(facts, {second for _, second in said})


def _reversed(first: TierPlan, second: TierPlan, model: str) -> Iterator[Problem]:
    bounds = {metric: (first.strictest_ms(metric), second.strictest_ms(metric)) for metric in _METRICS}
    wrong = [m for m, (one, other) in bounds.items() if one is not None and other is not None and one > other]
    if not wrong:
        return
    ttft = bounds["ttft"]
    # Where the times to the first token are in order, that order holds, and only decode is chosen wrongly.
    right = ttft[0] is not None and ttft[1] is not None and ttft[0] < ttft[1]
    severity: Severity = "warning" if right else "error"
    shown = " and ".join(
        f"{m.upper()} {plain(bounds[m][1] or 0)} ms after {plain(bounds[m][0] or 0)} ms" for m in wrong
    )
    yield Problem(
        ("tiers", second.name),
        f"`{second.name}` stands after `{first.name}`, both sell `{model}`, and it promises {shown}",
        f"promise no less in `{first.name}` than in `{second.name}`" if right else "write tiers fastest first",
        severity=severity,
        of_key=True,
    )


def _made_up(facts: Facts, told: set[str]) -> Iterator[Problem]:
    """Keys of the router that no promise gave, of tiers that requests have to ask for.

    :param told: tiers that are out of order; their keys follow from it.
    """
    routers = [(g.model, g.global_router) for c in facts.fleet.cells for g in c.serving.graphs if g.global_router]
    for model, router in routers:
        for target in router.targets:
            tier, keys = facts.tier(target.tier), {"ttft": target.ttft_ms, "itl": target.itl_ms}
            # Requests without targets go to the last tier, so it needs no key of its own.
            last = target is router.targets[-1]
            differ = [m for m in _METRICS if not _promised(tier.strictest_ms(m), keys[m], last=last)]
            if not differ or target.tier in told:
                continue
            told.add(target.tier)
            yield Problem(
                ("tiers", target.tier),
                f"requests for `{model}` reach `{target.tier}` by keys that it does not promise: "
                f"{' and '.join(f'{m.upper()} {keys[m]} ms' for m in differ)}",
                "send them as targets, or promise TTFT and ITL in each tier, rising",
                severity="info",
                of_key=True,
            )


def _promised(stated_ms: float | None, key_ms: int, *, last: bool) -> bool:
    return last if stated_ms is None else math.ceil(stated_ms) == key_ms
