"""The router over tiers: keys, priorities and grids, worked out by hand and by the router's own formula."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from inferfab.environment.tiers import Workload
from inferfab.plan.serving.global_router import MOST_CELLS, Axis, axis, plan_global_router, tier_targets
from inferfab.plan.tiers import PromisePlan, TierPlan
from strategies import cheap

WORK = Workload(prompt_tokens=1000, output_tokens=100)


def tier(name: str, rank: int, *promises: dict[str, Any]) -> TierPlan:
    return TierPlan(
        name=name,
        rank=rank,
        pod_priority=1000,
        promises=tuple(PromisePlan.model_validate(p) for p in promises),
        availability_target_percent=None,
        workload=WORK,
        spill="any",
    )


FAST = tier(
    "fast",
    1,
    {"metric": "ttft", "percentile": 50, "at_most_ms": 200},
    {"metric": "ttft", "percentile": 95, "at_most_ms": 500},
    {"metric": "itl", "percentile": 95, "at_most_ms": 40},
)
DOCS = tier(
    "docs",
    2,
    {"metric": "ttft", "percentile": 95, "at_most_ms": 2000},
    {"metric": "whole_answer", "percentile": 95, "at_most_ms": 5000, "answers_up_to_tokens": 128},
)
BATCH = tier("batch", 3)


def pool_of(grid: Axis, target_ms: float) -> int:
    """dynamo/global_router/pool_selection.py: ``int((target - min) / step)``, clamped to the grid."""
    step = grid.max_ms / len(grid.cells)
    return grid.cells[max(0, min(int(target_ms / step), len(grid.cells) - 1))]


def test_keys_are_promises_where_these_rise() -> None:
    """200 and 2,000 ms. (5,000 - 2,000) / 127 = 23.6 ms is below the 40 of the better tier, so 2 x 40 it is."""
    fast, docs = tier_targets(((FAST, "a"), (DOCS, "b")))
    assert (fast.ttft_ms, fast.itl_ms) == (200, 40)
    assert (docs.ttft_ms, docs.itl_ms) == (2000, 80)


def test_a_tier_without_promises_is_twice_the_one_before() -> None:
    """And the first, which has none to follow, has keys of its own."""
    *_, batch = tier_targets(((FAST, "a"), (DOCS, "b"), (BATCH, "c")))
    assert (batch.ttft_ms, batch.itl_ms) == (4000, 160)
    first, second = tier_targets(((BATCH, "a"), (BATCH, "b")))
    assert second.ttft_ms == 2 * first.ttft_ms and second.itl_ms == 2 * first.itl_ms


def test_keys_are_whole_milliseconds() -> None:
    """What a client sends is what an edge of the grid is: 200.5 and 200.7 would be one cell."""
    close = tier("close", 2, {"metric": "ttft", "percentile": 95, "at_most_ms": 200.4})
    later = tier("later", 3, {"metric": "ttft", "percentile": 95, "at_most_ms": 200.7})
    assert [t.ttft_ms for t in tier_targets(((FAST, "a"), (close, "b"), (later, "c")))] == [200, 201, 402]


def test_priorities_are_bands_without_gaps() -> None:
    """0 to 9, 10 to 19, and 20 upwards for the best."""
    bands = [(t.min_priority, t.max_priority) for t in tier_targets(((FAST, "a"), (DOCS, "b"), (BATCH, "c")))]
    assert bands == [(20, 1_000_000), (10, 19), (0, 9)]


def test_the_grid_of_two_tiers_has_two_cells() -> None:
    """Cells of 2,000 ms: below the second tier's key the first pool, from there on the second."""
    assert axis((200, 2000)) == Axis(max_ms=4000, cells=(0, 1))
    assert axis((200, 500, 2000)) == Axis(max_ms=2500, cells=(0, 1, 1, 1, 2))


def test_requests_that_ask_for_nothing_go_last() -> None:
    """Who asks for nothing gets no precedence."""
    plan = plan_global_router(
        "m",
        ((FAST, "a"), (DOCS, "b")),
        prefill_namespaces=(),
        decode_namespaces=("x", "y"),
        context_tokens=1000,
    )
    assert plan.mode == "agg"
    assert plan.default.tier == "docs"
    assert pool_of(plan.ttft, plan.default.ttft_ms) == 1


targets = st.lists(st.integers(1, 10**8), min_size=2, max_size=6, unique=True).map(sorted)


@cheap
@given(targets)
def test_each_key_leads_to_a_pool_that_keeps_it(keys: list[int]) -> None:
    """Never to a worse pool than its own; and the grid stays small enough to be written out."""
    grid = axis(tuple(keys))
    assert len(grid.cells) <= MOST_CELLS
    assert list(grid.cells) == sorted(grid.cells) and grid.cells[0] == 0
    assert set(grid.cells) == set(range(len(keys))), "every pool has a cell"
    for position, key in enumerate(keys):
        assert pool_of(grid, key) <= position


@cheap
@given(st.lists(st.integers(1, 60), min_size=2, max_size=5, unique=True).map(sorted))
def test_round_keys_lead_to_their_own_pool(hundreds: list[int]) -> None:
    """Promises are round numbers: then each key is exactly an edge."""
    keys = [100 * n for n in hundreds]
    grid = axis(tuple(keys))
    assert [pool_of(grid, key) for key in keys] == list(range(len(keys)))
    assert [pool_of(grid, key - 1) for key in keys[1:]] == list(range(len(keys) - 1))
