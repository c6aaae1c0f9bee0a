"""Shared pools: what an instance needs, and what the plan promises of it."""

from typing import Any

import pytest
from hypothesis import given

from inferfab.environment.environment import Environment
from inferfab.plan.fleet import plan
from inferfab.plan.pools import PoolPlan
from inferfab.plan.quantities import GIB
from inferfab.plan.sharing import awake_share
from strategies import environments, quick

from .planning import pool_plan, tree

MODELS = {
    "llama": {
        "catalog": "llama-3.1-8b-instruct",
        "revision": "0123456789",
        "context_tokens": 8192,
        "kv_cache_dtype": "fp8",
    },
    "oss": {"catalog": "gpt-oss-20b", "revision": "0123456789", "context_tokens": 8192},
}


def shared(
    sharing: str = "mig",
    instance: str = "p5.48xlarge",
    models: dict[str, Any] = MODELS,
    instances: int = 1,
    **fields: Any,
) -> PoolPlan:
    pool = {
        "topology": "shared", "sharing": sharing, "instance": instance, "nodes": {"desired": 1},
        "models": [{"model": name, "instances": instances} for name in models], **fields,
    }  # fmt: skip
    return pool_plan(pool, models=models)


def test_bytes_needed_by_hand() -> None:
    """Llama 8B: 9.08 GB + 3 GB + 10 x 2,048 x 4,096 x 2 + 8 x 128,256 x 4 + 8 x 8,192 x 65,536 bytes,
    over 92 %."""
    plan_ = shared().shared
    assert plan_ is not None
    needed = (9_080_000_000 + 3e9 + 167_772_160 + 4_104_192 + 8 * 8192 * 65_536) / 0.92
    assert plan_.instances[0].bytes_needed == pytest.approx(needed, abs=2)
    # 17.99 GB go into a 1g.20gb of 20,090 MiB (21.07 GB), not into a 1g.10gb.
    assert plan_.instances[0].resource == "nvidia.com/mig-1g.20gb"


def test_a_drafts_cache_is_needed_too() -> None:
    """An MTP layer of Llama 8B adds 2 x 8 x 128 bytes a token: 8 x 8,192 x 2,048 bytes over 92 %."""
    drafting = {"llama": {**MODELS["llama"], "speculative": {"method": "mtp"}}}
    with_, without = shared(models=drafting).shared, shared(models={"llama": MODELS["llama"]}).shared
    assert with_ is not None
    assert without is not None
    more = with_.instances[0].bytes_needed - without.instances[0].bytes_needed
    assert more == pytest.approx(8 * 8192 * 2048 / 0.92, abs=2)


def test_mig_on_a_node() -> None:
    """Every slice is awake; the asked instances stand; MIG pods wake at once."""
    plan_ = shared().shared
    assert plan_ is not None
    assert not plan_.packing.unserved
    assert plan_.awake_at_once == plan_.packing.total
    assert all(i.wake_seconds == 0 for i in plan_.instances)


def test_sleep_on_a_node() -> None:
    """One instance awake a GPU; waking 9.08 GB over PCIe at 20 GB/s takes 0.5 s."""
    plan_ = shared("sleep").shared
    assert plan_ is not None
    # 16 residents of 9.08 and 13.76 GB are 183 GB, far below 70 % of 2 TiB.
    assert plan_.packing.instances == {"llama": 8, "oss": 8}
    assert plan_.awake_at_once == 8
    assert plan_.instances[0].wake_seconds == 0.5
    assert "--enable-sleep-mode" in plan_.instances[0].engine.argv()


def test_what_sleeping_engines_leave() -> None:
    """Each keeps 1.2 GiB: 0.97 - 3 x 1.2 / 24 = 0.82 and 0.97 - 1.2 / 80 = 0.955; nothing sleeps beside one alone."""
    assert awake_share(0.92, 24 * GIB, 4) == 0.82
    assert awake_share(0.92, 80 * GIB, 2) == 0.92
    assert awake_share(0.96, 80 * GIB, 2) == 0.955
    assert awake_share(0.98, 24 * GIB, 1) == 0.98


def test_the_awake_engine_leaves_the_sleeping_their_memory() -> None:
    """L4 of 24 GB (23,034 MiB): 0.97 - 1.2 GiB / 23,034 MiB = 0.9166 for the one that is awake of two."""
    plan_ = shared("sleep", "g6.12xlarge").shared
    assert plan_ is not None
    assert {len(lane) for lane in plan_.packing.gpus} == {2}
    for instance in plan_.instances:
        assert instance.engine.value_of("--gpu-memory-utilization") == "0.916"
        assert instance.memory.gpu_memory_utilization == 0.916


def test_no_more_sleep_than_the_awake_ones_need() -> None:
    """Eight copies of Llama 8B need 12.25 GB and 8 x 8,192 x 65,536 bytes, 16.55 GB of a L4's 24.15 GB: 0.685, so
    0.97 - n x 1.2 GiB / 23,034 MiB leaves room for five asleep; a GPU has six. 48 times 9.08 GB are
    436 of the 577 GB that may sleep in 768 GiB.
    """
    models = {f"m{n}": MODELS["llama"] for n in range(8)}
    plan_ = shared("sleep", "g6.48xlarge", models=models).shared
    assert plan_ is not None
    assert {len(lane) for lane in plan_.packing.gpus} == {6}
    assert all(i.memory.concurrent_sequences >= 8 for i in plan_.instances)
    tight = shared("sleep", "g6.48xlarge", models=models, max_sequences=14).shared
    # 19.77 GB are 0.819, between 0.863 for two asleep and 0.809 for three: 24 places, and all 8 are served.
    assert tight is not None and max(len(lane) for lane in tight.packing.gpus) == 3
    assert not tight.packing.unserved


def test_a_draft_sleeps_and_loads_too() -> None:
    """Qwen3 8B drafting for itself moves twice its weights, over 20 GB/s and at 2 GiB/s."""
    plain = {"catalog": "qwen3-8b", "revision": "0123456789", "context_tokens": 4096, "kv_cache_dtype": "fp8"}
    draft = {"catalog": "qwen3-8b", "source": "x/y", "revision": "0123456789", "weights_gib": 10}
    models = {"plain": plain, "drafted": {**plain, "speculative": {"method": "draft_model", "draft": draft}}}
    plan_ = shared("sleep", models=models).shared
    assert plan_ is not None
    one, two = plan_.instances
    assert two.wake_seconds - one.wake_seconds == pytest.approx(10 * GIB / 20e9, abs=0.11)
    assert two.cold_load_seconds - one.cold_load_seconds == pytest.approx(5, abs=0.11)


def test_too_large_says_why() -> None:
    """A pool that the exact search would not finish is told as unplanned, not packed badly."""
    several = {
        name: {
            "catalog": "llama-3.1-8b-instruct",
            "revision": "0123456789",
            "context_tokens": tokens,
            "kv_cache_dtype": "fp8",
        }
        for name, tokens in (("a", 1024), ("b", 24_576), ("c", 65_536), ("d", 100_000))
    }
    pool = shared(models=several, nodes={"desired": 100}, instances=200)
    assert pool.shared is not None
    assert pool.shared.unplanned
    assert pool.shared.packing.unserved == dict.fromkeys(several, 200)


def assert_instances_hold_what_was_asked(pool: PoolPlan, sequences: int) -> None:
    assert pool.shared is not None
    for instance in pool.shared.instances:
        if pool.shared.packing.instances.get(instance.model):
            assert instance.memory.concurrent_sequences >= sequences


@pytest.mark.parametrize("method", ["ngram", "mtp"])
def test_a_served_instance_holds_its_sequences(method: str) -> None:
    """A placed instance has room for the asked sequences at full context, a draft's cache included."""
    models = {n: {**m, "speculative": {"method": method}} for n, m in tree(models=MODELS)["models"].items()}
    assert_instances_hold_what_was_asked(shared(models=models), 8)


@quick
@given(environments())
def test_shared_pools_of_generated_fleets(environment: Environment) -> None:
    """Asked = served + unserved for each model; instances have the room; a GPU holds a model at most
    once asleep."""
    for pool in plan(environment).pools:
        if pool.shared is None:
            continue
        asked = environment.pools[pool.name]
        assert asked.topology == "shared"
        for each in asked.models:
            served = pool.shared.packing.instances.get(each.model, 0)
            assert served + pool.shared.packing.unserved.get(each.model, 0) >= each.instances
        assert_instances_hold_what_was_asked(pool, asked.max_sequences)
        assert pool.shared.awake_at_once <= max(7 * len(pool.shared.packing.gpus), 0)


def test_what_stands_at_the_fewest_nodes() -> None:
    """Sleep on g6e.12xlarge (4 GPUs, 384 GiB): two nodes hold each model on each of eight GPUs, one on four, none
    none; the packing is that of the desired size."""
    for least, each in ((2, 8), (1, 4), (0, 0)):
        nodes = {"desired": 2, "min": least, "max": 2}
        plan_ = shared("sleep", "g6e.12xlarge", instances=1, nodes=nodes).shared
        assert plan_ is not None
        assert plan_.packing.instances == {"llama": 8, "oss": 8}
        assert plan_.instances_at_min == {"llama": each, "oss": each}
        assert plan_.unserved_at_min == ({} if least else {"llama": 1, "oss": 1})


def test_mig_at_the_fewest_nodes() -> None:
    """Asked 60 and 2: sixteen H100 hold them, eight do not hold 60 of a model that takes a 1g.20gb (four a GPU)."""
    pool = {"topology": "shared", "sharing": "mig", "instance": "p5.48xlarge", "nodes": {"desired": 2, "min": 1}}
    models = [{"model": "llama", "instances": 60}]
    plan_ = pool_plan({**pool, "models": models}, models=MODELS).shared
    assert plan_ is not None
    assert plan_.packing.instances == {"llama": 16 * 4}
    assert plan_.instances_at_min == {"llama": 8 * 4}
    assert plan_.unserved_at_min == {"llama": 60 - 8 * 4}


@quick
@given(environments())
def test_the_fewest_nodes_never_serve_more(environment: Environment) -> None:
    """Each model is told at the minimum, and in all no more stands there than at the desired size."""
    for pool in plan(environment).pools:
        if pool.shared:
            assert set(pool.shared.instances_at_min) == set(pool.models)
            assert sum(pool.shared.instances_at_min.values()) <= pool.shared.packing.total
