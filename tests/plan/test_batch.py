"""One batch limit for engine and estimate."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferfab.catalog.gpus import gpus
from inferfab.environment.environment import Environment
from inferfab.environment.pools import Replicas, Workers
from inferfab.plan.batch import BatchPlan, plan_batch
from inferfab.plan.fleet import plan
from inferfab.plan.memory import Parallelism, plan_memory
from inferfab.plan.pools import PoolPlan
from inferfab.plan.roles import RolePlan
from strategies import MODELS, cheap, environments, quick

from .planning import aggregated, disaggregated, pool_plan, served

LLAMA = served("llama-3.1-70b-instruct", quantization="fp8", kv_cache_dtype="fp8")


def batch(
    *, itl: float | None = None, stated: int | None = None, model=LLAMA, gpu: str = "h200", **spread: int
) -> BatchPlan:  # type: ignore[no-untyped-def]
    parallel = Parallelism(**spread)
    memory = plan_memory(model, gpus()[gpu], parallel, gpu_memory_utilization=0.92, batched_tokens=8192, sequences=256)
    workers = Workers(replicas=Replicas(desired=1), max_sequences=stated)
    return plan_batch(workers, model, gpus()[gpu], parallel, memory, mean_sequence_tokens=2200.0, itl_at_most_ms=itl)


def test_default() -> None:
    """TP2 holds 97.89 GB / (2,200 x 81,920 bytes) = 543 typical sequences, so 256 is the limit."""
    assert batch(tensor=2) == BatchPlan(max_sequences=256, bound_by="default")


def test_memory() -> None:
    """TP1 on one H200: 61.57 GB hold 170 sequences of 2,200 tokens x 163,840 bytes."""
    assert batch() == BatchPlan(max_sequences=170, bound_by="memory")


def test_itl_promise() -> None:
    """20 ms at 50 % of 4.8 TB/s move 48 GB; less 36.33 GB of weights leaves 64 sequences of 180 MB."""
    assert int((48e9 - 36_327_526_400) / 180_224_000) == 64
    assert batch(tensor=2, itl=20.0) == BatchPlan(max_sequences=64, bound_by="itl promise")
    # A promise that 256 sequences keep (82.5 GB / 2.4 TB/s = 34.4 ms) cuts nothing.
    assert batch(tensor=2, itl=35.0).bound_by == "default"


def test_a_promise_that_no_batch_keeps() -> None:
    """One sequence a stage is the least; the plan then shows a step that is longer than promised."""
    assert batch(tensor=2, itl=1.0).max_sequences == 1
    assert batch(tensor=2, pipeline=2, itl=1.0).max_sequences == 2


def test_stated_is_taken_as_it_is() -> None:
    """Neither memory nor promise changes what the file says."""
    for itl in (None, 1.0):
        assert batch(stated=500, itl=itl) == BatchPlan(max_sequences=500, bound_by="environment")


TIERS: dict[str, Any] = {
    "standard": {
        "promises": [{"metric": "itl", "percentile": 95, "at_most_ms": 20}],
        "workload": {"prompt_tokens": 2000, "output_tokens": 400},
    }
}


def of(pool: PoolPlan, role: str) -> RolePlan:
    return next(r for r in pool.roles if r.role == role)


def test_engine_is_held_to_the_promise() -> None:
    """What the estimate decodes together to keep 20 ms (64 sequences of Llama 70B on TP2, worked out above) is what
    vLLM may run; prefill workers write no tokens, so their 256 are not cut."""
    pool = pool_plan(disaggregated(tensor=2), tiers=TIERS)
    decode, prefill = of(pool, "decode"), of(pool, "prefill")
    # Decode passes hold 2,048 tokens, so less overhead than above, but the step's weights and cache are the same.
    assert decode.engine.value_of("--max-num-seqs") == "64"
    assert (decode.batch.bound_by, decode.performance.decode_batch) == ("itl promise", 64)
    assert decode.performance.decode_step_ms is not None
    assert decode.performance.decode_step_ms.high is not None
    assert decode.performance.decode_step_ms.high <= 20
    assert prefill.engine.value_of("--max-num-seqs") == "256"


def test_a_stated_batch_shows_its_own_step() -> None:
    """200 sequences x 180.2 MB + 36.33 GB = 72.4 GB take 30.2 ms at 2.4 TB/s: the plan says so under a promise of
    20 ms."""
    (worker,) = pool_plan(aggregated(tensor_parallel=2, max_sequences=200), tiers=TIERS).roles
    assert worker.engine.value_of("--max-num-seqs") == "200"
    assert worker.performance.decode_batch == 200
    assert worker.performance.decode_step_ms is not None
    assert worker.performance.decode_step_ms.high == pytest.approx((36_327_526_400 + 200 * 180_224_000) / 2.4e9)


@quick
@given(environments())
def test_estimate_and_engine_read_one_number(environment: Environment) -> None:
    """The emitted limit is the plan's, and no rank is estimated with more; with less only where memory holds less."""
    for pool in plan(environment).pools:
        asked = environment.pools[pool.name]
        for role in pool.roles:
            if "--max-num-seqs" not in getattr(asked, role.role).flags:
                assert role.engine.value_of("--max-num-seqs") == str(role.batch.max_sequences)
            decoded = role.performance.decode_batch
            assert decoded <= role.batch.max_sequences * role.parallelism.data
            if decoded and role.batch.bound_by != "environment":
                assert decoded == role.batch.max_sequences * role.parallelism.data


@cheap
@given(st.sampled_from(MODELS), st.sampled_from((1, 2, 8)), st.floats(1, 200), st.floats(0, 100))
def test_a_looser_promise_never_lowers_the_batch(name: str, tensor: int, itl: float, more: float) -> None:
    """More time a token allows at least as many sequences."""
    model = served(name, kv_cache_dtype="fp8")
    tight, loose = (batch(model=model, tensor=tensor, itl=t).max_sequences for t in (itl, itl + more))
    assert tight <= loose
