"""Promises: the mission's by name, the user's own over them."""

from typing import Any

import pytest
from pydantic import ValidationError

from inferfab.environment.environment import Environment
from inferfab.plan.tiers import TierPlan, plan_tiers

from .planning import aggregated, environment_of


def tiers(asked: dict[str, Any] | None) -> dict[str, TierPlan]:
    more = {} if asked is None else {"tiers": asked}
    return {t.name: t for t in plan_tiers(environment_of(aggregated(), **more))}


def promises(tier: TierPlan) -> list[tuple[str, float, float]]:
    return [(p.metric, p.percentile, p.at_most_ms) for p in tier.promises]


def test_missions_tiers() -> None:
    """Priority: TTFT p50 200 ms and p95 500 ms, 99.9 %; standard: TTFT p95 2 s, whole answers p95 5 s;
    batch: none."""
    got = tiers(None)
    assert list(got) == ["priority", "standard", "batch"]
    assert [t.rank for t in got.values()] == [1, 2, 3]
    assert promises(got["priority"]) == [("ttft", 50, 200), ("ttft", 95, 500)]
    assert promises(got["standard"]) == [("ttft", 95, 2000), ("whole_answer", 95, 5000)]
    assert got["standard"].promises[1].answers_up_to_tokens == 128
    assert promises(got["batch"]) == []
    assert [t.availability_target_percent for t in got.values()] == [99.9, 99.5, None]
    assert [(t.workload.prompt_tokens, t.workload.output_tokens) for t in got.values()] == [
        (2000, 300),
        (8000, 500),
        (4000, 500),
    ]
    assert {t.workload.utilization for t in got.values()} == {0.7}
    assert [t.spill for t in got.values()] == ["when_down", "any", "any"]


def test_users_override_field_by_field() -> None:
    """What is left out comes from the tier of that name; what is given replaces, an empty list too."""
    got = tiers({"standard": {"promises": []}, "priority": {"availability_percent": 99.0, "spill": "never"}})
    assert list(got) == ["standard", "priority"]
    assert got["standard"].rank == 1
    assert promises(got["standard"]) == []
    assert got["standard"].availability_target_percent == 99.5
    assert (got["priority"].availability_target_percent, got["priority"].spill) == (99.0, "never")
    assert promises(got["priority"]) == [("ttft", 50, 200), ("ttft", 95, 500)]


def test_zero_is_a_target() -> None:
    """0 % is stated, not left out."""
    assert tiers({"priority": {"availability_percent": 0}})["priority"].availability_target_percent == 0


def test_another_name_promises_nothing() -> None:
    """A tier of one's own has no promises but those given."""
    got = tiers({"gold": {}, "standard": {}})["gold"]
    assert (promises(got), got.availability_target_percent) == ([], None)
    assert (got.workload.prompt_tokens, got.workload.output_tokens) == (4000, 500)


def test_strictest() -> None:
    """The lowest bound of a metric, of whatever percentile."""
    priority = tiers(None)["priority"]
    assert priority.strictest_ms("ttft") == 200
    assert priority.strictest_ms("itl") is None


def test_promise_in_words() -> None:
    """As reports show it."""
    got = tiers(None)
    assert str(got["priority"].promises[0]) == "TTFT p50 ≤ 200 ms"
    assert str(got["standard"].promises[1]) == "whole answer p95 ≤ 5,000 ms (answers of up to 128 tokens)"


def test_no_tier_at_all_is_refused() -> None:
    """An empty mapping is not the default."""
    with pytest.raises(ValidationError):
        Environment.model_validate({**environment_of(aggregated()).model_dump(exclude_unset=True), "tiers": {}})
