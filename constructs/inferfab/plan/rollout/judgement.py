"""The judgement of one step: the changed cell against the others and against its promises.

No worse than a margin is what has to be shown, not that nothing was seen: too few requests are "wait", never "go on".
Latency is compared as the share of requests on one side of a bucket's edge, which a histogram knows exactly; nothing is
interpolated.
"""

import math
from collections.abc import Mapping
from typing import Literal

from pydantic import NonNegativeFloat

from inferfab.plan.rollout.plan import JudgePlan
from inferfab.plan.rollout.proportions import newcombe, requests_needed, wilson, z_of
from inferfab.record import Record

Outcome = Literal["advance", "hold", "back out"]
Metric = Literal["ttft", "itl", "errors"]
_WORDS: dict[Metric, str] = {"ttft": "first token", "itl": "between tokens", "errors": "errors"}
_SLOW = 0.05
"""Of the base's requests, at most this part is beyond the edge that both are compared at."""


class Counts(Record):
    """What one side answered of one model in the window."""

    started: NonNegativeFloat
    """Requests that it took on."""
    failed: NonNegativeFloat
    """Those that ended in an error of ours, or that their sender gave up."""
    ttft: dict[float, float]
    """Cumulative count by bucket edge in seconds; ``inf`` is all that got a token."""
    itl: dict[float, float]
    """The same of gaps between tokens."""


class PromiseToKeep(Record):
    """A promise that frontends can be held to: they know a model, no tier."""

    tier: str
    metric: Literal["ttft", "itl"]
    percentile: float
    at_most_ms: float


class Judgement(Record):
    """One thing that was looked at."""

    model: str
    metric: Metric
    against: str
    outcome: Outcome
    words: str


class Verdict(Record):
    """The whole of a step."""

    cell: str
    judgements: tuple[Judgement, ...]
    notes: tuple[str, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """The worst of all; with nothing to judge, wait."""
        found = {j.outcome for j in self.judgements}
        if "back out" in found:
            return "back out"
        return "hold" if "hold" in found or not found else "advance"


def judge(
    cell: str,
    changed: Mapping[str, Counts],
    base: Mapping[str, Counts],
    promises: Mapping[str, tuple[PromiseToKeep, ...]],
    rules: JudgePlan,
    *,
    promised: frozenset[str],
) -> Verdict:
    """:param changed: by model, of the cell that changed.
    :param base: by model, of all cells that did not.
    :param promises: by model, those that its frontends can be held to.
    :param promised: models sold in a tier that promises anything. Of the others too few requests hold nothing up.
    """
    looked_at = sum(3 + len(promises.get(model, ())) for model in changed)
    z = z_of(rules.confidence_percent, looked_at)
    found: list[Judgement] = []
    notes: list[str] = []
    for model, counts in changed.items():
        other = base.get(model)
        enough = _enough(model, counts, other, rules)
        if enough is not None:
            if model in promised:
                found.append(enough)
            else:
                notes.append(f"{model} is not judged, as nothing is promised of it: {enough.words}")
            continue
        assert other is not None
        found.append(_errors(model, counts, other, rules, z))
        for metric in ("ttft", "itl"):
            found.append(_slower(model, metric, counts, other, rules, z))
        for promise in promises.get(model, ()):
            found.append(_promise(model, promise, counts, other, z))
        if not promises.get(model):
            notes.append(f"{model}: no promise is judged: it has none, or its frontends answer for several tiers")
    return Verdict(cell=cell, judgements=tuple(found), notes=tuple(notes))


def _enough(model: str, counts: Counts, base: Counts | None, rules: JudgePlan) -> Judgement | None:
    sides = {"the changed cell": counts.started, "the others": base.started if base else 0.0}
    few = {who: n for who, n in sides.items() if n < rules.least_requests}
    if not few:
        return None
    told = ", ".join(f"{n:,.0f} in {who}" for who, n in few.items())
    return Judgement(
        model=model,
        metric="errors",
        against="the least number of requests",
        outcome="hold",
        words=f"not enough requests: {told}, {rules.least_requests:,} are needed",
    )


def _errors(model: str, counts: Counts, base: Counts, rules: JudgePlan, z: float) -> Judgement:
    return _compared(
        model,
        "errors",
        (min(counts.failed, counts.started), counts.started),
        (min(base.failed, base.started), base.started),
        rules.failed_percent / 100,
        z,
        "failed",
    )


def _slower(
    model: str, metric: Literal["ttft", "itl"], counts: Counts, base: Counts, rules: JudgePlan, z: float
) -> Judgement:
    mine, theirs = (counts.ttft, base.ttft) if metric == "ttft" else (counts.itl, base.itl)
    edges = sorted(set(mine) & set(theirs) - {math.inf})
    if not edges or not mine.get(math.inf) or not theirs.get(math.inf):
        missing = "the changed cell" if not mine.get(math.inf) else "the others"
        return Judgement(
            model=model, metric=metric, against="the other cells", outcome="hold",
            words=f"{_WORDS[metric]}: no histogram of {missing}" if edges or not mine or not theirs
            else f"{_WORDS[metric]}: the cells' buckets have no edge in common",
        )  # fmt: skip
    edge = next((e for e in edges if theirs[e] >= (1 - _SLOW) * theirs[math.inf]), edges[-1])
    return _compared(
        model,
        metric,
        _beyond(mine, edge, counts.ttft),
        _beyond(theirs, edge, base.ttft),
        rules.slower_percent / 100,
        z,
        f"slower than {edge * 1000:,.0f} ms",
    )


def _beyond(buckets: Mapping[float, float], edge: float, first_tokens: Mapping[float, float]) -> tuple[float, float]:
    """(beyond the edge, of). Gaps of one answer are alike, so they count as one observation a request."""
    whole = buckets[math.inf]
    share = 1 - buckets[edge] / whole
    weight = min(whole, first_tokens.get(math.inf, whole))
    return share * weight, weight


def _compared(
    model: str,
    metric: Metric,
    mine: tuple[float, float],
    theirs: tuple[float, float],
    margin: float,
    z: float,
    what: str,
) -> Judgement:
    low, high = newcombe(*mine, *theirs, z)
    share, base = mine[0] / mine[1], theirs[0] / theirs[1]
    outcome: Outcome = "back out" if low > margin else "advance" if high <= margin else "hold"
    seen = (
        f"{_WORDS[metric]}: {share:.2%} {what}, {base:.2%} in the others; the difference is between {low:+.2%} and "
        f"{high:+.2%}, at most {margin:+.2%} is allowed"
    )
    if outcome == "hold":
        seen += f"; not enough requests to tell, some {requests_needed(share, base, margin, z):,} on each side would do"
    return Judgement(model=model, metric=metric, against="the other cells", outcome=outcome, words=seen)


def _promise(model: str, promise: PromiseToKeep, counts: Counts, base: Counts, z: float) -> Judgement:
    """Broken for sure, and not by the others too. Whether it is worse at all is judged against them."""
    mine, theirs = (counts.ttft, base.ttft) if promise.metric == "ttft" else (counts.itl, base.itl)
    words = f"{_WORDS[promise.metric]} p{promise.percentile:g} ≤ {promise.at_most_ms:g} ms of tier {promise.tier}"
    bound = promise.at_most_ms / 1000
    edges = sorted(e for e in set(mine) & set(theirs) if e <= bound * (1 + 1e-9))
    against = f"promise of tier {promise.tier}"
    if not edges or not mine.get(math.inf) or not theirs.get(math.inf):
        return Judgement(
            model=model, metric=promise.metric, against=against, outcome="hold", words=f"{words}: nothing to judge by"
        )
    edge, allowed = edges[-1], 1 - promise.percentile / 100
    exact = "" if math.isclose(edge, bound, rel_tol=1e-6) else f" (judged at {edge * 1000:g} ms, the edge below)"
    slow, of = _beyond(mine, edge, counts.ttft)
    low, _ = wilson(slow, of, z)
    base_low, _ = wilson(*_beyond(theirs, edge, base.ttft), z)
    seen = f"{words}{exact}: {slow / of:.2%} beyond, {allowed:.2%} allowed"
    if low <= allowed:
        return Judgement(model=model, metric=promise.metric, against=against, outcome="advance", words=seen)
    if base_low > allowed:
        return Judgement(
            model=model, metric=promise.metric, against=against, outcome="advance",
            words=f"{seen}; broken, and in the others too: not this change's doing",
        )  # fmt: skip
    return Judgement(model=model, metric=promise.metric, against=against, outcome="back out", words=f"{seen}; broken")
