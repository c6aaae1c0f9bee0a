"""Promises that go wrong by themselves: unknown, without headroom, contradicting."""

from collections.abc import Iterator

from inferfab.checks.facts import Facts
from inferfab.checks.promises import exactly
from inferfab.checks.registry import Problem, rule
from inferfab.checks.remedies import plain
from inferfab.environment.pools import SharedPool
from inferfab.environment.tiers import Promise
from inferfab.findings import YamlPath


@rule(
    "IF-PRM-007",
    "a promise of which nothing is known",
    severity="warning",
    joins=("engine", "promise"),
    why="how fast models are that share GPUs depends on what runs beside them; the plan works out no times for them.",
    do="measure before relying on it, serve promised tiers from pools of one model, or promise nothing there.",
    source="scope of the plan: rooflines are of workers that have their GPUs alone",
)
def shared_promises_known(facts: Facts) -> Iterator[Problem]:
    for name, pool in facts.environment.pools.items():
        tier = facts.tier(pool.tier)
        if isinstance(pool, SharedPool) and tier.promises:
            yield Problem(
                ("pools", name, "tier"),
                f"tier `{tier.name}` promises {'; '.join(map(str, tier.promises))}, and `{name}` is shared",
                "serve the tier from an aggregated or disaggregated pool, or name a tier without promises",
            )


@rule(
    "IF-PRM-008",
    "a plan without headroom",
    severity="warning",
    joins=("environment", "promise"),
    why="the nearer to fully busy, the longer the queue: at 95 % requests wait many times as long as they take.",
    do="plan for 0.7 or less where latency is promised, and for at most 0.95 elsewhere.",
    source="queueing: the mean wait grows with utilization / (1 - utilization)",
)
def headroom_planned(facts: Facts) -> Iterator[Problem]:
    places: list[tuple[YamlPath, float]] = [
        (("tiers", name, "workload", "utilization"), tier.workload.utilization)
        for name, tier in (facts.environment.tiers or {}).items()
        if tier.workload is not None
    ]
    places += [
        (("pools", name, "workload", "utilization"), pool.workload.utilization)
        for name, pool in facts.environment.pools.items()
        if pool.workload is not None
    ]
    for path, share in places:
        if share > _BUSIEST:
            yield Problem(
                path, f"{plain(share * 100)} % busy is planned, which leaves no room for a queue", "write at most 0.95"
            )


_BUSIEST = 0.95


@rule(
    "IF-PRM-009",
    "promises of one tier that do not go together",
    severity="warning",
    stage="reference",
    joins=("environment", "promise"),
    why="the stricter one decides, so the other says nothing, and usually one of the two was mistyped.",
    do="keep one promise a metric and percentile; higher percentiles have higher bounds.",
    source="definition of a percentile: what 95 % of requests keep, 50 % keep too",
)
def promises_go_together(facts: Facts) -> Iterator[Problem]:
    for name, tier in (facts.environment.tiers or {}).items():
        promises = tier.promises or ()
        for position, one in enumerate(promises):
            path: YamlPath = ("tiers", name, "promises", position)
            for other in promises[:position]:
                if (one.metric, one.answers_up_to_tokens) != (other.metric, other.answers_up_to_tokens):
                    continue
                if one.percentile == other.percentile:
                    same = one.at_most_ms == other.at_most_ms
                    yield Problem(
                        path,
                        f"{_words(one)} stands beside {_words(other)}",
                        "remove one of the two",
                        value=plain(one.percentile),
                        severity="warning" if same else "error",
                    )
                    break
                high, low = (one, other) if one.percentile > other.percentile else (other, one)
                if high.at_most_ms < low.at_most_ms:
                    yield Problem(
                        ("tiers", name, "promises", promises.index(low), "at_most_ms"),
                        f"{_words(high)} is stricter than {_words(low)}, which is then kept anyway",
                        f"write at most {plain(high.at_most_ms)} for p{plain(low.percentile)}, or remove it",
                    )
                    break


def _words(promise: Promise) -> str:
    return f"{promise.metric} p{plain(promise.percentile)} of {exactly(promise.at_most_ms)}"
