"""Whole sizings on Dynamo's simulator: a disaggregated pool with what explains it, and shared pools."""

from pathlib import Path

import pytest

from inferfab import check, load
from inferfab.environment.environment import Environment
from inferfab.environment.tiers import Promise
from inferfab.plan.fleet import FleetPlan, plan
from inferfab.simulate.demand import Source
from inferfab.sizing.result import PoolSize
from inferfab.sizing.size import size
from rehearse.dynamo_python import dynamo_python

ENVIRONMENTS = Path(__file__).resolve().parents[2] / "environments"


def environment(name: str) -> tuple[Environment, FleetPlan]:
    loaded = load(ENVIRONMENTS / f"{name}.yaml")
    fleet = check(loaded).plan
    assert fleet is not None
    assert loaded.environment is not None
    return loaded.environment, fleet


def bursts(folder: Path, rate: float, count: int) -> Source:
    """Sixteen requests at once, and one prompt in 25 is long."""
    rows = "".join(f"{n // 16 * 16 / rate},{6000 if n % 25 == 7 else 800},100\n" for n in range(count))
    path = folder / "trace.csv"
    path.write_text("timestamp,prompt_tokens,output_tokens\n" + rows, encoding="utf-8")
    return Source(trace=path)


@pytest.mark.slow
def test_what_makes_p99_is_found(tmp_path: Path) -> None:
    """Requests that come 16 at a time wait for each other; at even distances they would wait less."""
    asked, fleet = environment("staging")
    told = bursts(tmp_path, 24.0, 300)
    (found,) = size(
        asked, fleet, dynamo_python(), folder=tmp_path, told=told, pools=("chat",), machines=("p5en.48xlarge",),
        topologies=("disaggregated",), tensors=(4,),
    ).pools  # fmt: skip
    assert found.best is not None
    tail = found.queueing.tail if found.queueing else None
    assert tail is not None
    assert tail.p99_ms is not None
    assert tail.even_p99_ms is not None
    assert tail.short_p99_ms is not None
    assert tail.even_p99_ms < tail.p99_ms
    assert tail.short_p99_ms < tail.p99_ms
    assert tail.breaks_at is not None
    assert found.two_away_upto is not None
    (more,) = size(
        asked, fleet, dynamo_python(), folder=tmp_path, told=told, pools=("chat",), machines=("p5en.48xlarge",),
        topologies=("disaggregated",), tensors=(4,), spare=2,
    ).pools  # fmt: skip
    assert more.best is not None
    assert min(more.best.nodes.values()) >= 3
    assert more.two_away_upto == 1.0


def shared(folder: Path, sharing: str, rate: float) -> PoolSize:
    asked, _ = environment("staging")
    pool = asked.pools["small-models"].model_copy(update={"sharing": sharing})
    promise = Promise.model_validate({"metric": "ttft", "percentile": 95, "at_most_ms": 20_000})
    assert asked.tiers is not None
    tier = asked.tiers["batch"].model_copy(update={"promises": [promise]})
    asked = asked.model_copy(
        update={"pools": {**asked.pools, "small-models": pool}, "tiers": {**asked.tiers, "batch": tier}}
    )
    (found,) = size(
        asked, plan(asked), dynamo_python(), folder=folder, told=bursts(folder, rate, 300), pools=("small-models",),
        machines=("p5.4xlarge",),
    ).pools  # fmt: skip
    return found


@pytest.mark.slow
@pytest.mark.parametrize("sharing", ["mig", "sleep"])
def test_shared_pools_are_sized_by_nodes(tmp_path: Path, sharing: str) -> None:
    """Two are the least, as one may go; all requests in half a minute take more."""
    small, large = shared(tmp_path, sharing, 0.2), shared(tmp_path, sharing, 10.0)
    assert small.best is not None
    assert small.best.nodes == {"shared": 2}
    assert small.best.gpus == 2
    assert large.best is None or large.best.nodes["shared"] > 2
