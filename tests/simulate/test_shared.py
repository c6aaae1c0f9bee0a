"""Parts of a GPU, and whole GPUs in turns."""

from pathlib import Path

import pytest

from inferfab import load
from inferfab.catalog.gpus import gpus
from inferfab.performance.find import profile_of_gpu
from inferfab.plan.fleet import FleetPlan, plan
from inferfab.plan.memory import Parallelism
from inferfab.simulate.demand import Demand
from inferfab.simulate.shared import part_of, shared_inputs, simulate_shared, without_a_node
from inferfab.simulate.simulator import Simulator
from inferfab.traffic.rows import Request

ENVIRONMENTS = Path(__file__).resolve().parents[2] / "environments"


def test_a_part_has_its_share() -> None:
    """1g.20gb of an H100: one of seven compute slices, two of eight memory slices."""
    part = part_of(gpus()["h100"], "nvidia.com/mig-1g.20gb")
    assert (part.compute, part.memory) == (1 / 7, 0.25)


def test_what_is_not_cut_is_whole() -> None:
    part = part_of(gpus()["l40s"], "nvidia.com/gpu")
    assert (part.compute, part.memory) == (1, 1)


def planned(sharing: str, nodes: int = 1) -> FleetPlan:
    environment = load(ENVIRONMENTS / "staging.yaml").environment
    assert environment is not None
    pool = environment.pools["small-models"]
    changed = pool.model_copy(
        update={"sharing": sharing, "nodes": pool.nodes.model_copy(update={"desired": nodes})}  # type: ignore[union-attr]
    )
    return plan(environment.model_copy(update={"pools": {**environment.pools, "small-models": changed}}))


def steady(rate: float, count: int) -> Demand:
    requests = tuple(Request(at_s=n / rate, prompt_tokens=500, output_tokens=50) for n in range(count))
    return Demand(requests=requests, speedup=1.0, too_long=0, words="steady")


def test_speed_of_a_part_is_the_whole_gpus_over_its_share() -> None:
    fleet = planned("mig")
    pool = next(p for p in fleet.cells[0].pools if p.name == "small-models")
    inputs = shared_inputs(fleet, fleet.cells[0], pool, ())
    instance = inputs.instance("llama-8b")
    part = part_of(gpus()[inputs.gpu], instance.resource)
    whole = profile_of_gpu(inputs.model("llama-8b"), inputs.gpu, Parallelism(), instance.memory)
    assert whole is not None
    assert whole.basis == "aiconfigurator"
    found = inputs.profiles["llama-8b"]
    assert found.ttft_ms(1000) == pytest.approx(whole.ttft_ms(1000) / part.compute)
    assert found.itl_ms(10_000, 1000) == pytest.approx(whole.itl_ms(10_000, 1000) / part.memory)
    assert set(found.counted) == {"assumed"}


def test_a_pool_in_sleep_mode_is_simulated_without_dynamo() -> None:
    fleet = planned("sleep", nodes=2)
    pool = next(p for p in fleet.cells[0].pools if p.name == "small-models")
    inputs = shared_inputs(fleet, fleet.cells[0], pool, ())
    demand = {name: steady(0.05, 60) for name in pool.models}
    found = simulate_shared(Simulator("/bin/false"), inputs, demand, lose_node=True)
    assert [r.status for r in found] == ["simulated", "simulated"]
    assert sum(r.requests for r in found) == 120
    for one in found:
        assert any("llama-swap" in note for note in one.notes)
        (loss,) = one.losses
        assert not loss.outage
    assert len(without_a_node(inputs)) == 1
    # One machine less: each model waits for its turn more often.
    alone = shared_inputs(planned("sleep"), fleet.cells[0], planned("sleep").cells[0].pools[1], ())
    (loss, *_) = (r.losses[0] for r in simulate_shared(Simulator("/bin/false"), alone, demand, lose_node=True))
    assert loss.outage
