"""Judgements with counts that were worked out by hand: z is 2.128 where three things are looked at together at 95 %."""

import math

from inferfab.plan.rollout.judgement import Counts, PromiseToKeep, Verdict, judge
from inferfab.plan.rollout.plan import JudgePlan

RULES = JudgePlan(
    judge_minutes=30, longest_minutes=180, least_requests=500, confidence_percent=95, slower_percent=2,
    failed_percent=0.5,
)  # fmt: skip
TTFT = PromiseToKeep(tier="priority", metric="ttft", percentile=95, at_most_ms=500)


def counts(started: int, *, failed: int = 0, slow: float = 0.04, gap_slow: float = 0.02, tokens: int = 200) -> Counts:
    """``slow`` of the first tokens take more than 0.5 s, ``gap_slow`` of the gaps more than 40 ms."""
    first = started - failed
    return Counts(
        started=started,
        failed=failed,
        ttft={0.25: 0.5 * first, 0.5: (1 - slow) * first, 1.0: first, math.inf: first},
        itl={0.02: 0.5 * first * tokens, 0.04: (1 - gap_slow) * first * tokens, math.inf: first * tokens},
    )


def judged(changed: Counts, base: Counts, *promises: PromiseToKeep, promised: bool = True) -> Verdict:
    models = frozenset({"m"}) if promised else frozenset()
    return judge("a", {"m": changed}, {"m": base}, {"m": promises}, RULES, promised=models)


def outcomes(verdict: Verdict) -> dict[str, str]:
    return {f"{j.metric} {j.against.split(' ')[0]}": j.outcome for j in verdict.judgements}


def test_the_same_goes_on() -> None:
    """20,000 on both sides: z·sqrt(2·0.04·0.96/20,000) is 0.42 %, well inside of 2 %; errors 0.1 % ± 0.07 %."""
    same = counts(20_000, failed=20)
    verdict = judged(same, same, TTFT)
    assert verdict.outcome == "advance"
    assert set(outcomes(verdict)) == {"errors the", "ttft the", "itl the", "ttft promise"}


def test_few_requests_are_no_pass() -> None:
    """The very same shares in 499 requests, and in 600 (0.04 ± 2.6 %): wait, and say how many would do."""
    few = judged(counts(499), counts(20_000))
    assert few.outcome == "hold" and "499 in the changed cell" in few.judgements[0].words
    some = judged(counts(600), counts(600))
    assert some.outcome == "hold"
    assert outcomes(some)["ttft the"] == "hold"
    # z² · 2 · 0.04 · 0.96 / 0.02² with z = 2.128.
    assert any("869 on each side" in j.words or "870 on each side" in j.words for j in some.judgements)
    assert judged(counts(20_000), counts(100)).outcome == "hold"


def test_nothing_seen_is_no_pass() -> None:
    assert judged(counts(0), counts(20_000)).outcome == "hold"
    assert judge("a", {}, {}, {}, RULES, promised=frozenset()).outcome == "hold"


def test_errors_back_out() -> None:
    """2 % failed instead of 0.1 %: 1.9 % ± 0.22 % is above half a percent for sure."""
    verdict = judged(counts(20_000, failed=400), counts(20_000, failed=20))
    assert verdict.outcome == "back out"
    assert outcomes(verdict)["errors the"] == "back out" and outcomes(verdict)["ttft the"] == "advance"


def test_a_slower_first_token_backs_out() -> None:
    """9 % beyond 0.5 s instead of 4 %: 5 % ± 0.5 %."""
    verdict = judged(counts(20_000, slow=0.09), counts(20_000))
    assert outcomes(verdict) == {"errors the": "advance", "ttft the": "back out", "itl the": "advance"}
    (words,) = [j.words for j in verdict.judgements if j.metric == "ttft"]
    assert "9.00% slower than 500 ms, 4.00% in the others" in words


def test_gaps_of_one_answer_count_once() -> None:
    """3.5 % more slow gaps among 120,000 would be certain if they were independent; among 600 answers it is ± 2.1 %."""
    many = judged(counts(600, gap_slow=0.055), counts(20_000))
    assert outcomes(many)["itl the"] == "hold"
    assert outcomes(judged(counts(20_000, gap_slow=0.055), counts(20_000)))["itl the"] == "back out"


def test_a_promise_that_all_break_is_not_this_changes_doing() -> None:
    """8 % beyond 500 ms where 5 % are allowed, in every cell alike; and in this one alone, within the margin or not."""
    alike = judged(counts(20_000, slow=0.08), counts(20_000, slow=0.08), TTFT)
    assert alike.outcome == "advance"
    assert any("not this change's doing" in j.words for j in alike.judgements)
    alone = judged(counts(40_000, slow=0.058), counts(40_000, slow=0.045), TTFT)
    assert outcomes(alone) == {
        "errors the": "advance", "ttft the": "advance", "itl the": "advance", "ttft promise": "back out",
    }  # fmt: skip


def test_a_promise_between_edges_is_judged_at_the_one_below() -> None:
    promise = TTFT.model_copy(update={"at_most_ms": 700.0})
    (words,) = [j.words for j in judged(counts(20_000), counts(20_000), promise).judgements if "promise" in j.against]
    assert "judged at 500 ms, the edge below" in words


def test_other_buckets_are_no_judgement() -> None:
    """Cells whose histograms have no edge in common, or none at all."""
    odd = counts(20_000).model_copy(update={"ttft": {0.3: 10_000.0, math.inf: 20_000.0}})
    assert outcomes(judged(odd, counts(20_000)))["ttft the"] == "hold"
    none = counts(20_000).model_copy(update={"itl": {}})
    assert outcomes(judged(none, counts(20_000)))["itl the"] == "hold"


def test_what_nobody_is_promised_holds_nothing_up() -> None:
    """A nightly model beside a busy one; alone it is no ground to go on."""
    models = {"m": counts(20_000), "nightly": counts(3)}
    verdict = judge("a", models, models, {}, RULES, promised=frozenset({"m"}))
    assert verdict.outcome == "advance" and any("nightly is not judged" in n for n in verdict.notes)
    assert judged(counts(3), counts(3), promised=False).outcome == "hold"
