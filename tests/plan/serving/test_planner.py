"""What the planner is told: targets of the tier, bounds of node groups and budget."""

import json
from pathlib import Path

import pytest

from inferfab.plan.quantities import Bounds
from inferfab.plan.serving.planner import itl_target_ms, plan_planner

from .test_global_router import BATCH, DOCS, FAST

URL = "http://prometheus:9090"
SCHEMA = Path(__file__).resolve().parents[4] / "shared/data/engines/planner_config_schema_1.6.1.json"


def bounds(low: int, desired: int, high: int) -> Bounds:
    return Bounds(min=low, desired=desired, max=high)


def test_the_time_between_tokens_that_a_whole_answer_leaves() -> None:
    """(5,000 - 2,000) / (128 - 1) = 23.62 ms; a stated promise where it is stricter; none where nothing is promised."""
    assert itl_target_ms(DOCS) == pytest.approx(3000 / 127)
    assert itl_target_ms(FAST) == 40
    assert itl_target_ms(BATCH) is None


def test_prefill_alone_is_held_to_its_own_bounds() -> None:
    """Behind the router over tiers a role has a planner of its own: 8 workers of 4 GPUs at most, 4 at least."""
    plan = plan_planner(
        "prefill", FAST, "m", {"prefill": bounds(4, 4, 8)}, {"prefill": 4}, behind_router=True, prometheus_url=URL
    )
    assert (plan.max_gpu_budget, plan.prefill_min_endpoint, plan.decode_min_endpoint) == (32, 4, None)
    assert plan.throughput_metrics_source == "router"
    assert (plan.optimization_target, plan.ttft_ms) == ("sla", 200)
    assert plan.prefill_engine_num_gpu == 4 and plan.decode_engine_num_gpu is None


def test_a_whole_pool_has_one_budget() -> None:
    """8 x 4 + 6 x 2 GPUs; each role keeps its own minimum."""
    workers = {"prefill": bounds(2, 4, 8), "decode": bounds(1, 2, 6)}
    plan = plan_planner(
        "disagg", FAST, "m", workers, {"prefill": 4, "decode": 2}, behind_router=False, prometheus_url=URL
    )
    assert plan.max_gpu_budget == 44
    assert (plan.prefill_min_endpoint, plan.decode_min_endpoint, plan.min_endpoint) == (2, 1, None)
    assert plan.throughput_metrics_source == "frontend"


def test_the_planner_never_takes_the_last_worker() -> None:
    """With none the model is not listed, and no demand is seen that would bring one back (dynamo#11536)."""
    workers = {"prefill": bounds(0, 1, 2), "decode": bounds(1, 1, 2)}
    plan = plan_planner(
        "disagg", FAST, "m", workers, {"prefill": 1, "decode": 1}, behind_router=False, prometheus_url=URL
    )
    assert (plan.min_endpoint, plan.prefill_min_endpoint, plan.decode_min_endpoint) == (None, 1, 1)


def test_without_promises_throughput_is_the_target() -> None:
    """Only ``sla`` reads times; an aggregated worker counts as decode."""
    plan = plan_planner(
        "agg", BATCH, "m", {"worker": bounds(0, 8, 32)}, {"worker": 2}, behind_router=False, prometheus_url=URL
    )
    assert (plan.optimization_target, plan.ttft_ms, plan.itl_ms) == ("throughput", None, None)
    assert (plan.max_gpu_budget, plan.min_endpoint, plan.decode_engine_num_gpu) == (64, 1, 2)


def test_every_field_is_the_planners() -> None:
    """PlannerConfig takes unknown keys without a word."""
    if not SCHEMA.exists():
        pytest.skip(f"the planner's schema is not on this machine ({SCHEMA})")
    known = set(json.loads(SCHEMA.read_text(encoding="utf-8"))["properties"])
    plan = plan_planner(
        "agg", BATCH, "m", {"worker": bounds(1, 1, 2)}, {"worker": 1}, behind_router=False, prometheus_url=URL
    )
    assert set(plan.model_dump()) <= known
