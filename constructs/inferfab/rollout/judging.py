"""One step judged: counts from each cell's Prometheus, the rules from the plan."""

from collections.abc import Mapping

from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.plan.rollout.judgement import Counts, Judgement, Verdict, judge
from inferfab.plan.rollout.plan import JudgePlan
from inferfab.plan.rollout.signals import is_promised, judged_models, planned_frontends, promises_of, signals
from inferfab.prometheus_http import NoAnswer
from inferfab.rollout.prometheus import Querier, buckets, number

NOBODY = Counts(started=0, failed=0, ttft={}, itl={})


def judge_step(
    fleet: FleetPlan,
    cell: CellPlan,
    changed: Querier,
    others: Mapping[str, Querier],
    rules: JudgePlan,
    *,
    since_minutes: int,
) -> Verdict:
    """A cell that does not answer is no cell that fails: the step waits.

    :param changed: of the cell that changed.
    :param others: by cell, of those that did not. Of a model that none of them serves, the
        cell as it was before is the base.
    :param since_minutes: how long the step has been serving.
    """
    models = judged_models(cell)
    if not models:
        why = "no model of the cell has frontends that could be judged"
        return Verdict(cell=cell.name, judgements=(), notes=(why,))
    try:
        mine = {m: counts(changed, m, rules.judge_minutes, planned_frontends(cell, m)) for m in models}
        base = dict.fromkeys(models, NOBODY)
        cells = {c.name: c for c in fleet.cells}
        for model in models:
            serving = [querier for name, querier in others.items() if model in judged_models(cells[name])]
            for querier in serving:
                base[model] = _sum(base[model], counts(querier, model, rules.judge_minutes))
            if not serving:
                base[model] = counts(changed, model, rules.judge_minutes, ago_minutes=since_minutes)
    except NoAnswer as error:
        silent = Judgement(
            model=models[0], metric="errors", against="Prometheus", outcome="hold", words=f"no judgement: {error}"
        )
        return Verdict(cell=cell.name, judgements=(silent,))
    return judge(
        cell.name,
        mine,
        base,
        {m: promises_of(fleet, cell, m) for m in models},
        rules,
        promised=frozenset(m for m in models if is_promised(fleet, cell, m)),
    )


def counts(querier: Querier, model: str, minutes: int, pods: str | None = None, *, ago_minutes: int = 0) -> Counts:
    """What one cell's frontends counted of a model.

    :raises NoAnswer: if Prometheus gives none.
    """
    asked = signals(model, minutes, pods, ago_minutes=ago_minutes)
    started = number(querier.query(asked.started))
    if started is None:
        return NOBODY
    # A series of failures is there from the first one on: none of it beside requests is none of them.
    failed = number(querier.query(asked.failed)) or 0.0
    return Counts(
        started=max(0.0, started),
        failed=max(0.0, failed),
        ttft=buckets(querier.query(asked.ttft)),
        itl=buckets(querier.query(asked.itl)),
    )


def _sum(a: Counts, b: Counts) -> Counts:
    """Of two cells; only edges that both have, since a cumulative count has no part of another's edge."""

    def joined(x: dict[float, float], y: dict[float, float]) -> dict[float, float]:
        if not x or not y:
            return x or y
        return {edge: x[edge] + y[edge] for edge in set(x) & set(y)}

    return Counts(
        started=a.started + b.started, failed=a.failed + b.failed, ttft=joined(a.ttft, b.ttft), itl=joined(a.itl, b.itl)
    )
