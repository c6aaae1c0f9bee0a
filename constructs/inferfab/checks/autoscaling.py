"""Rules on following demand: who sets a number, how far ahead, and what it may come to."""

from collections.abc import Iterator

import inferfab.checks.serving.scaling  # noqa: F401 - enters IF-SCL-002, which judges plans too
from inferfab.checks.facts import Facts
from inferfab.checks.money import dollars
from inferfab.checks.registry import Problem, on_plan, rule
from inferfab.findings import YamlPath
from inferfab.plan.autoscaling.autoscaling import PoolAutoscaling
from inferfab.plan.fleet import CellPlan

_TOO_LATE = 0.95
"""Share of a promise from which on there is no time left to act."""


def _scaled(facts: Facts) -> Iterator[tuple[CellPlan, PoolAutoscaling]]:
    for cell in facts.fleet.cells:
        for pool in cell.autoscaling.pools if cell.autoscaling else ():
            yield cell, pool


def _stated(facts: Facts, pool: str, field: str) -> YamlPath | None:
    """Where the file says a field of scaling: in the pool, or for all; None where it is a default."""
    asked = facts.asked(pool).scaling
    if asked is not None and getattr(asked, field) is not None:
        return ("pools", pool, "scaling", field)
    if field in facts.environment.autoscaling.model_fields_set:
        return ("autoscaling", field)
    return None


@on_plan("IF-SCL-002")
def modes_never_mixed(facts: Facts) -> Iterator[Problem]:
    """A component that KEDA scales has no planner beside it that does more than advise, and the other way round."""
    for cell, pool in _scaled(facts):
        planned = next(p for p in cell.pools if p.name == pool.pool)
        for graph in cell.serving.of_pool(pool.pool):
            acts = graph.planner is not None and not graph.planner.advisory
            if acts and planned.scaling.replicas_owner != "dynamo-planner":
                yield Problem(
                    ("pools", pool.pool),
                    f"graph {graph.name} of `{pool.pool}` in {cell.name} has a planner that acts, and its workers "
                    f"belong to {planned.scaling.replicas_owner}",
                    "leave them to one of the two: `scaling: {mode: planner}` or `scaling: {mode: keda}`",
                    of_key=True,
                )


@rule(
    "IF-SCL-007",
    "a horizon shorter than provisioning",
    joins=("environment", "cluster"),
    why="what is asked for serves only after its node and its model are there, so a forecast for an earlier moment "
    "comes too late for it.",
    do="leave `horizon_seconds` out, or write at least what provisioning takes.",
    source="kaito-project/kaito#2325 (966 s from node request to serving); the plan's provisioning times",
)
def horizon_covers_provisioning(facts: Facts) -> Iterator[Problem]:
    seen: set[YamlPath] = set()
    for cell, pool in _scaled(facts):
        path = _stated(facts, pool.pool, "horizon_seconds")
        times = pool.provisioning
        if path is None or times is None or pool.mode == "fixed" or path in seen:
            continue
        if times.horizon_seconds < times.total_seconds:
            seen.add(path)
            parts = (
                f"{times.node_seconds} s for a node, {times.start_seconds} s to start, {times.weights_seconds} s for "
                "weights"
                if times.basis == "catalog"
                else "as stated under `provisioning_seconds`"
            )
            yield Problem(
                path,
                f"a worker of `{pool.pool}` in {cell.name} takes {times.total_seconds} s to come ({parts}), and demand "
                f"is forecast {times.horizon_seconds} s ahead",
                f"remove it, or write at least {times.total_seconds}",
            )


@rule(
    "IF-SCL-008",
    "scaling in to where none may fail",
    severity="warning",
    joins=("environment", "engine"),
    why="in a quiet hour the last worker of a role carries the whole promise, and another one takes a quarter of an "
    "hour to come.",
    do="write `min: 2` or more, or accept it with a reason under `checks`.",
    source="N+1: one worker beside those that demand needs; kaito-project/kaito#2325 for the time",
)
def never_below_spare(facts: Facts) -> Iterator[Problem]:
    seen: set[YamlPath] = set()
    tiers = {t.name: t for t in facts.fleet.tiers}
    for at in facts.roles():
        bounds, path = at.role.workers, at.replicas_path(facts)
        scales = at.pool.scaling.replicas_owner != "terraform" and bounds.min != bounds.max
        # Of none at all IF-SCL-005 speaks.
        if not scales or bounds.min != 1 or not tiers[at.pool.tier].promises or path in seen:
            continue
        seen.add(path)
        yield Problem(
            path,
            f"{at.where} may scale in to one worker, and tier `{at.pool.tier}` has promises",
            "write `min: 2` or more",
            of_key=True,
        )


@rule(
    "IF-SCL-009",
    "room that brings nothing",
    severity="warning",
    joins=("environment", "cluster", "cost"),
    why="placeholders make the autoscaler bring nodes early; where every node is there already, or paid for anyway, "
    "there is none to bring.",
    do="remove `placeholders: true`, or buy that capacity by use.",
    source="the plan: bounds of node groups and how their capacity is bought",
)
def room_brings_nodes(facts: Facts) -> Iterator[Problem]:
    seen: set[YamlPath] = set()
    for cell, pool in _scaled(facts):
        # Asked for in this pool: for all pools it means those in which it helps.
        asked = facts.asked(pool.pool).scaling
        if asked is None or asked.placeholders is not True or pool.placeholders:
            continue
        path: YamlPath = ("pools", pool.pool, "scaling", "placeholders")
        if path in seen:
            continue
        seen.add(path)
        why = next((r for r in pool.remarks if r.startswith("no placeholders: ")), "no placeholders: nothing scales it")
        yield Problem(
            path,
            f"`{pool.pool}` in {cell.name} gets no placeholders: {why.removeprefix('no placeholders: ')}",
            "remove `placeholders: true`",
        )


@rule(
    "IF-SCL-010",
    "scaling of what nothing scales",
    severity="warning",
    joins=("environment", "engine"),
    why="a fixed pool has no room, and models that share GPUs have no series of their own that tells their demand, so "
    "the setting is never read.",
    do="give its workers a `max` above `min`, or remove `scaling`.",
    source="the plan: bounds of workers; ai-dynamo 1.6.1 metrics (lanes have no Dynamo frontend)",
)
def scaling_is_read(facts: Facts) -> Iterator[Problem]:
    fixed = {p.pool: p for _, p in _scaled(facts) if p.mode == "fixed"}
    scales = {p.pool for _, p in _scaled(facts) if p.mode != "fixed"}
    for name, pool in facts.environment.pools.items():
        if name in scales or name not in fixed or pool.scaling is None:
            continue
        shared = pool.topology == "shared"
        yield Problem(
            ("pools", name, "scaling"),
            f"`{name}` says how to follow demand, and "
            + ("its models share GPUs, so nothing scales it" if shared else "has as many workers at least as at most"),
            "remove `scaling`" + ("" if shared else ", or give `replicas` a `max` above `min`"),
            of_key=True,
        )


@rule(
    "IF-SCL-011",
    "more workers when it is too late",
    severity="warning",
    joins=("environment", "engine"),
    why="KEDA adds workers from this share of the promised latency on, and they serve a quarter of an hour later: at "
    "the promise itself it is broken by then.",
    do="write `latency_share: 0.8` or less.",
    source="KEDA: prometheus scaler, threshold; the plan's provisioning times",
)
def threshold_before_promise(facts: Facts) -> Iterator[Problem]:
    seen: set[YamlPath] = set()
    for _, pool in _scaled(facts):
        path = _stated(facts, pool.pool, "latency_share")
        if path is None or pool.mode != "keda" or path in seen:
            continue
        for role in pool.roles:
            late = role.latency
            if late is not None and late.at_ms > late.promise_ms * _TOO_LATE:
                seen.add(path)
                yield Problem(
                    path,
                    f"`{pool.pool}` gets more workers from {late.metric.upper()} p{late.percentile:g} of "
                    f"{late.at_ms:g} ms on, and {late.promise_ms:g} ms are promised",
                    "write 0.8 or less",
                )
                break


@rule(
    "IF-SCL-012",
    "scaling without a ceiling on its cost",
    severity="warning",
    joins=("environment", "cost"),
    why="the forecast may ask for every pool's largest fleet at once, and the budget says nothing of what that costs.",
    do="write `budget.usd_per_month_at_max`, or lower `max` of the pools.",
    source="budget of the environment; cost at the maximum in the plan",
)
def ceiling_at_max(facts: Facts) -> Iterator[Problem]:
    budget, most = facts.environment.budget, facts.fleet.cost.total.maximum.usd_per_month
    if budget is None or budget.usd_per_month_at_max is not None or not any(p.forecast for _, p in _scaled(facts)):
        return
    highest = most.high if most.high is not None else most.low
    scales = sorted({p.pool for _, p in _scaled(facts) if p.mode != "fixed"})
    if scales and highest > budget.usd_per_month:
        yield Problem(
            ("budget",),
            f"with {', '.join(f'`{name}`' for name in scales)} at the maximum GPU nodes cost "
            f"{'at least ' if most.high is None else ''}{dollars(highest, budget.usd_per_month)} a month, and the "
            f"ceiling of {dollars(budget.usd_per_month, highest)} is for the desired size",
            "add `usd_per_month_at_max`",
            of_key=True,
        )
