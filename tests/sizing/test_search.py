"""The search: cheapest first, and the cheapest that holds."""

from pathlib import Path

import pytest

from inferfab import check, load, load_text
from inferfab.plan.fleet import FleetPlan
from inferfab.simulate.demand import Demand
from inferfab.simulate.simulator import Simulator
from inferfab.sizing.bounds import fewest_nodes, too_slow
from inferfab.sizing.explain import evenly, shortened
from inferfab.sizing.search import search
from inferfab.sizing.shapes import Shape, shapes
from inferfab.sizing.trial import Bench
from inferfab.traffic.draw import write_replay
from inferfab.traffic.rows import Request
from rehearse.dynamo_python import dynamo_python

ENVIRONMENTS = Path(__file__).resolve().parents[2] / "environments"


HUGE = """
name: huge
owner: ml
accounts: {aws: {account_id: "111122223333"}}
engine: {dynamo: 1.6.1}
models:
  m: {catalog: deepseek-r1, revision: 3a5f5b0b2c1d4e6f8a9b0c1d2e3f4a5b6c7d8e9f, context_tokens: 16384}
tiers:
  t: {workload: {prompt_tokens: 1500, output_tokens: 200}}
pools:
  p:
    {topology: aggregated, tier: t, model: m, instance: p5en.48xlarge,
     worker: {tensor_parallel: 8, replicas: {desired: 2}}}
cells:
  c: {cloud: aws, region: us-east-1, zone: us-east-1a, network: {kind: new, cidr: 10.16.0.0/16}, pools: {p: {}}}
"""


def built(machines: tuple[str, ...], topologies: tuple[str, ...], tensors: tuple[int, ...]) -> list[Shape]:
    loaded = load(ENVIRONMENTS / "prod.yaml")
    fleet: FleetPlan | None = check(loaded).plan
    assert fleet is not None
    assert loaded.environment is not None
    cell = fleet.cells[0]
    pool = next(p for p in cell.pools if p.name == "chat-priority")
    found, _ = shapes(
        loaded.environment, fleet, cell, pool, (), machines=machines, topologies=topologies, tensors=tensors
    )
    return found


def steady(rate: float, count: int, prompt: int = 1500) -> Demand:
    requests = tuple(Request(at_s=n / rate, prompt_tokens=prompt, output_tokens=150) for n in range(count))
    return Demand(requests=requests, speedup=1.0, too_long=0, words="steady")


def test_shapes_fit_and_have_prices_of_their_own() -> None:
    found = built(("p5en.48xlarge", "p5.48xlarge"), ("aggregated", "disaggregated"), (2, 4))
    names = {(s.instance, s.topology, s.split) for s in found}
    assert ("p5.48xlarge", "disaggregated", "TP4") in names
    assert ("p5.48xlarge", "disaggregated", "TP2 + TP4") in names
    # Those of different sizes come last, so that they are tried only where they would be cheaper.
    assert [s.mixed for s in found] == sorted(s.mixed for s in found)
    # p5en: the prices of the two are the catalog's, and 8 GPUs of a node make 4 workers of TP2.
    two = next(s for s in found if s.instance == "p5en.48xlarge" and s.split == "TP2" and s.topology == "aggregated")
    assert two.workers(0, 1) == 4
    assert two.usd_per_node_hour is not None
    assert two.usd_per_node_hour > 50


def test_what_is_too_slow_at_rest_is_not_tried() -> None:
    """31,000 tokens take TP4 on H200 more than a second; half a second is promised."""
    (shape, *_) = built(("p5en.48xlarge",), ("aggregated",), (4,))
    assert "TTFT p50" in too_slow(shape, steady(1.0, 50, prompt=31_000))
    assert too_slow(shape, steady(1.0, 50)) == ""


def test_more_may_be_away_at_once() -> None:
    (shape, *_) = built(("p5en.48xlarge",), ("disaggregated",), (4,))
    assert fewest_nodes(shape, steady(0.5, 100), 1.0, spare=2) == (3, 3)


def test_traffic_without_one_cause_of_waiting() -> None:
    burst = [Request(at_s=at, prompt_tokens=n, output_tokens=5, blocks=tuple(range(-(-n // 512))))
             for at, n in ((0.0, 600), (0.1, 5000), (0.2, 700), (9.0, 800))]  # fmt: skip
    assert [r.at_s for r in evenly(burst)] == [0.0, 3.0, 6.0, 9.0]
    short = shortened(burst, 1000)
    assert [r.prompt_tokens for r in short] == [600, 1000, 700, 800]
    assert [len(r.blocks) for r in short] == [2, 2, 2, 2]


def test_fewest_nodes_is_a_lower_bound_and_leaves_one_to_lose() -> None:
    (shape, *_) = built(("p5en.48xlarge",), ("disaggregated",), (4,))
    assert fewest_nodes(shape, steady(0.5, 100), 1.0) == (2, 2)
    assert fewest_nodes(shape, steady(200.0, 4000), 1.0)[0] > 2


def test_a_model_that_a_node_cannot_hold_spans_nodes() -> None:
    """DeepSeek R1's 671 GB do not fit 8 x 80 GB of p5; 16 GPUs hold them. One node lost takes the worker's other."""
    loaded = load_text(HUGE)
    fleet = check(loaded).plan
    assert fleet is not None, check(loaded).findings
    assert loaded.environment is not None
    cell = fleet.cells[0]
    found, passed = shapes(
        loaded.environment, fleet, cell, cell.pools[0], (), gpus=("h100",), machines=("p5.48xlarge",),
        topologies=("aggregated",),
    )  # fmt: skip
    assert {s.split for s in found} == {"TP8 PP2"}
    assert any(p.shape == "p5.48xlarge aggregated TP8" for p in passed)
    (shape, *_) = found
    assert (shape.step(0), shape.workers(0, 4), shape.workers(0, 5)) == (2, 2, 2)
    assert fewest_nodes(shape, steady(0.01, 50), 1.0)[0] == 4


@pytest.mark.slow
def test_nothing_cheaper_holds(tmp_path: Path) -> None:
    """Every cheaper number of nodes of every shape is tried here, one by one, without the search's shortcuts."""
    grid = built(("p5en.48xlarge", "p5.48xlarge"), ("aggregated", "disaggregated"), (4,))
    wanted = steady(40.0, 1200)
    with Simulator(dynamo_python()) as simulator:
        found = search(simulator, grid, wanted, runners_up=1.0)
        best = found.choices[0]
        trace = tmp_path / "trace.jsonl"
        write_replay(wanted.requests, trace)
        for shape in grid:
            bench = Bench(simulator, shape, wanted, trace, tmp_path)
            most = int(best.cost / shape.cost(1))
            sizes = [(n,) for n in range(1, most + 1)]
            if shape.topology == "disaggregated":
                sizes = [(p, d) for p in range(1, most) for d in range(1, most) if p + d <= most]  # type: ignore[misc]
            for nodes in sizes:
                if shape.cost(sum(nodes)) < best.cost - 1e-6:
                    assert not bench.trial(nodes).kept, f"{shape.name} {nodes} is cheaper"
