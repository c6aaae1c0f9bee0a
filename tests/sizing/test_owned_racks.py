"""Pools on owned racks are sized on the servers that are there."""

from functools import cache
from pathlib import Path

import pytest
import yaml

from inferfab import check, load_text
from inferfab.environment.environment import Environment
from inferfab.plan.fleet import FleetPlan
from inferfab.simulate.demand import Demand, Source
from inferfab.simulate.simulator import Simulator
from inferfab.sizing.machines import machines_for, nodes_there, why_no_machine
from inferfab.sizing.search import search
from inferfab.sizing.shapes import Shape, shapes
from inferfab.sizing.size import size
from inferfab.traffic.rows import Request
from rehearse.dynamo_python import dynamo_python

FILE = Path(__file__).resolve().parents[2] / "environments" / "prod-hybrid.yaml"


@cache
def hybrid(*, priced: bool = True) -> tuple[Environment, FleetPlan]:
    tree = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    if not priced:
        del tree["cells"]["dc1"]["racks"]["usd_per_server_hour"]
    loaded = load_text(yaml.safe_dump(tree))
    fleet = check(loaded).plan
    assert fleet is not None
    assert loaded.environment is not None
    return loaded.environment, fleet


def built(*, priced: bool = True) -> list[Shape]:
    environment, fleet = hybrid(priced=priced)
    found, _ = shapes(
        environment, fleet, fleet.cells[0], fleet.cells[0].pools[0], (), topologies=("disaggregated",), tensors=(4,)
    )
    return found


def test_only_what_the_inventory_has() -> None:
    """Eight servers of one model, all of them the one pool's."""
    environment, fleet = hybrid()
    (cell,) = fleet.cells
    asked = environment.pools["chat"]
    assert (
        machines_for(environment, cell, asked) == machines_for(environment, cell, asked, gpus=("h200",)) == ["dgx-h200"]
    )
    assert nodes_there(cell, "chat") == 8
    # To another pool of the cell this one would leave nothing.
    assert nodes_there(cell, "other") == 0
    assert "leave 0 of its servers" in why_no_machine(environment, cell, "other", (), 1)
    assert why_no_machine(environment, cell, "chat", (), 1) == ""
    assert machines_for(environment, cell, asked, gpus=("b200",)) == []
    why = why_no_machine(environment, cell, "chat", ("b200",), 1)
    assert why == "the racks of dc1 are dgx-h200 with h200, and --gpu names others"


def test_the_inventorys_price_or_the_fewest_servers() -> None:
    for shape in built():
        assert (shape.instance, shape.usd_per_node_hour, shape.nodes_there) == ("dgx-h200", 21, 8)
        assert shape.cost(4) == 84
    for shape in built(priced=False):
        assert (shape.usd_per_node_hour, shape.cost(4)) == (None, 4)
        assert "`racks.usd_per_server_hour`" in shape.priced
        assert shape.priced.endswith("without a price the fewest nodes are the best")


def test_a_load_that_all_servers_cannot_do_says_so() -> None:
    """Work alone asks for more than eight: nothing is simulated, so no Dynamo is needed."""
    requests = tuple(Request(at_s=n / 2000, prompt_tokens=8000, output_tokens=20) for n in range(2000))
    found = search(
        Simulator("python-that-is-not-asked"), built(), Demand(requests=requests, speedup=1.0, too_long=0, words="much")
    )
    assert found.choices == ()
    assert found.trials == 0
    assert found.passed
    for one in found.passed:
        assert one.why.endswith("the racks have 8 servers for it, and not one more") or "alone on a worker" in one.why


@pytest.mark.slow
@pytest.mark.parametrize("priced", [True, False])
def test_a_whole_sizing(tmp_path: Path, *, priced: bool) -> None:
    """Little load: two servers a role, one of which may be away; 4 servers of $21."""
    environment, fleet = hybrid(priced=priced)
    rows = "".join(f"{n / 4},1500,100\n" for n in range(300))
    trace = tmp_path / "trace.csv"
    trace.write_text("timestamp,prompt_tokens,output_tokens\n" + rows, encoding="utf-8")
    (found,) = size(
        environment, fleet, dynamo_python(), folder=tmp_path, told=Source(trace=trace), topologies=("disaggregated",),
        tensors=(4,), requests=500,
    ).pools  # fmt: skip
    assert found.best is not None
    assert (found.best.instance, found.best.nodes) == ("dgx-h200", {"prefill": 2, "decode": 2})
    assert found.best.usd_per_hour == (84 if priced else None)
    assert all(sum(o.nodes.values()) <= 8 for o in (found.best, *found.others))
