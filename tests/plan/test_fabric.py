"""NICs, shares of workers, marking: by hand from AWS's and Google's machine tables (fabric.md sections
1 and 2)."""

from collections import Counter

import pytest
from hypothesis import given

from inferfab.catalog.instances import instances
from inferfab.environment.cells import Cell
from inferfab.environment.environment import Environment
from inferfab.plan.fabric import fabric_kind, plan_cell_fabric, plan_role_fabric
from inferfab.plan.fleet import plan
from strategies import environments, quick

from .planning import aggregated, disaggregated, environment_of, prod, prod_plan

AWS, GCP = instances("aws"), instances("gcp")


def cell(cloud: str = "aws", **fields: object) -> Cell:
    region, zone = {"aws": ("us-east-1", "us-east-1a"), "gcp": ("us-central1", "us-central1-a")}[cloud]
    network = {"kind": "new", "cidr": "10.0.0.0/16"}
    return Cell.model_validate(
        {"cloud": cloud, "region": region, "zone": zone, "network": network, "pools": {"p": None}, **fields}
    )


def test_half_a_p5en() -> None:
    """TP4 on p5en: 8 of 16 EFAs of 200 Gbit/s are 1,600 Gbit/s, of which half is reached."""
    got = plan_role_fabric("efa", AWS["p5en.48xlarge"], 4)
    assert (got.rdma_interfaces_per_node, got.rdma_interfaces_per_worker) == (16, 8)
    assert got.line_gbps_per_worker == 1600
    assert got.usable_gbps_per_worker == 800
    assert {n.gbps for n in got.layout} == {200}
    # Card 0 has a plain interface and an efa-only one, the other fifteen cards an efa-only each.
    assert Counter(n.type for n in got.layout) == {"interface": 1, "efa-only": 16}


def test_p5_has_32() -> None:
    """32 cards of 100 Gbit/s; a single GPU gets four of them."""
    got = plan_role_fabric("efa", AWS["p5.48xlarge"], 1)
    assert (got.rdma_interfaces_per_node, got.rdma_interfaces_per_worker, got.line_gbps_per_worker) == (
        32,
        4,
        400,
    )
    assert len(got.layout) == 33
    assert {n.gbps for n in got.layout} == {100}


def test_p6_b300_has_no_efa_on_card_0() -> None:
    """17 cards, EFA on cards 1 to 16, each 400 Gbit/s."""
    got = plan_role_fabric("efa", AWS["p6-b300.48xlarge"], 8)
    assert {n.card for n in got.layout} == set(range(17))
    assert {n.card for n in got.layout if n.type == "efa-only"} == set(range(1, 17))
    assert (got.rdma_interfaces_per_worker, got.line_gbps_per_worker) == (16, 6400)
    assert {n.gbps for n in got.layout if n.type == "efa-only"} == {400}


def test_small_machines_have_no_efa() -> None:
    """A g6e.4xlarge has none, so its pools run over TCP at 1 GB/s a worker, less than its 20 Gbit/s."""
    machine = AWS["g6e.4xlarge"]
    assert fabric_kind(cell(), "auto", machine, moves=True) == "tcp"
    got = plan_role_fabric("tcp", machine, 1)
    assert (got.rdma_interfaces_per_worker, got.line_gbps_per_worker, got.usable_gbps_per_worker) == (0, 8, 8)
    assert [n.type for n in got.layout] == ["interface"]


def test_tcp_is_bounded_by_the_machine() -> None:
    """A g6.xlarge has 2.5 Gbit/s in all."""
    assert plan_role_fabric("tcp", AWS["g6.xlarge"], 1).line_gbps_per_worker == 2.5


def test_a3_ultra() -> None:
    """Eight RoCE NICs of 400 Gbit/s beside two gVNICs; TP4 takes four of them."""
    got = plan_role_fabric("roce", GCP["a3-ultragpu-8g"], 4)
    assert Counter(n.type for n in got.layout) == {"gvnic": 2, "mrdma": 8}
    assert (got.rdma_interfaces_per_node, got.rdma_interfaces_per_worker) == (8, 4)
    assert (got.line_gbps_per_worker, got.usable_gbps_per_worker) == (1600, 800)
    assert len({n.card for n in got.layout}) == 10
    assert [n.subnet for n in got.layout if n.type == "mrdma"] == [f"rdma-{n}" for n in range(8)]


def test_a_worker_over_two_nodes_has_the_nics_of_both() -> None:
    """16 GPUs on p5en use 32 EFAs, 6,400 Gbit/s."""
    got = plan_role_fabric("efa", AWS["p5en.48xlarge"], 16)
    assert (got.rdma_interfaces_per_worker, got.line_gbps_per_worker) == (32, 6400)


def test_unknown_count_is_said() -> None:
    """AWS publishes no EFA count of the GB200 machine: nothing is assumed, and a note says so."""
    got = plan_role_fabric("efa", AWS["p6e-gb200.36xlarge"], 4)
    assert got.rdma_interfaces_per_worker == 0
    assert "no source" in got.note


@pytest.mark.parametrize(
    ("cloud", "machine", "choice", "own", "expected"),
    [
        ("aws", "p5en.48xlarge", "auto", None, "efa"),
        ("aws", "g6e.xlarge", "auto", {"kind": "efa"}, "tcp"),
        ("aws", "p5en.48xlarge", "tcp", {"kind": "efa"}, "tcp"),
        ("aws", "p5en.48xlarge", "auto", {"kind": "tcp"}, "tcp"),
        ("gcp", "a3-ultragpu-8g", "auto", None, "roce"),
        ("gcp", "a3-highgpu-8g", "auto", None, "tcp"),
    ],
)
def test_kind(cloud: str, machine: str, choice: str, own: object, expected: str) -> None:
    """The pool's wish, then the cell's, then the machine's ability."""
    here = cell(cloud, **({"fabric": own} if own else {}))
    assert fabric_kind(here, choice, instances(cloud)[machine], moves=True) == expected  # type: ignore[arg-type]


def test_where_nothing_moves_no_interface_is_taken() -> None:
    """An aggregated worker within a node sends nothing to its peers; asked for by name it still gets the fabric."""
    assert fabric_kind(cell(), "auto", AWS["p5en.48xlarge"], moves=False) == "tcp"
    assert fabric_kind(cell(), "efa", AWS["p5en.48xlarge"], moves=False) == "efa"


def test_marking() -> None:
    """DSCP 26 in the upper six bits and ECT in the lower two: 26 x 4 + 2 = 106; DSCP 24 gives 98."""
    marking = plan_cell_fabric(cell("gcp"), "roce").marking
    assert marking is not None
    assert (marking.dscp, marking.traffic_class, marking.mtu, marking.settable) == (26, 106, 8896, False)
    other = plan_cell_fabric(cell("gcp", fabric={"kind": "roce", "dscp": 24}), "roce").marking
    assert other is not None
    assert other.traffic_class == 98
    assert plan_cell_fabric(cell(), "efa").marking is None


def test_separation_is_told_for_every_other_traffic() -> None:
    """Storage, training, model loading and other tenants each have a line; EFA keeps nothing fully apart."""
    for kind in ("efa", "roce", "tcp"):
        lines = plan_cell_fabric(cell(), kind).separation  # type: ignore[arg-type]
        assert [s.traffic for s in lines] == ["storage", "training", "model loading", "other tenants"]
    assert all(s.kept_apart != "yes" for s in plan_cell_fabric(cell(), "efa").separation)


def assert_nics_suffice(environment: Environment) -> None:
    fleet = plan(environment)
    for planned in fleet.cells:
        for pool in planned.pools:
            for role in pool.roles:
                group = planned.node_group(role.node_group)
                pods = max(1, group.workers_per_node)
                asked = role.engine.resources.get("vpc.amazonaws.com/efa", 0)
                assert asked * pods <= role.fabric.rdma_interfaces_per_node, (pool.name, role.role)


@quick
@given(environments())
def test_layout_is_sound(environment: Environment) -> None:
    """No two interfaces on one slot, card 0 carries IP, and RDMA interfaces are as many as planned."""
    for pool in plan(environment).pools:
        for role in pool.roles:
            slots = [(n.card, n.device) for n in role.fabric.layout]
            assert len(slots) == len(set(slots))
            assert role.fabric.layout[0].type in ("interface", "gvnic")
            rdma = [n for n in role.fabric.layout if n.type in ("efa-only", "mrdma")]
            assert len(rdma) == role.fabric.rdma_interfaces_per_node


def test_four_workers_on_a_machine_with_one_efa() -> None:
    """A g6e.12xlarge has 4 GPUs and one EFA: four workers that ask for one each would never run together on it."""
    assert_nics_suffice(environment_of(aggregated("g6e.12xlarge")))


def test_prod_nics_suffice() -> None:
    """In every pool of prod, the workers of a node ask for no more EFAs than it has."""
    assert_nics_suffice(prod())


def test_a_pod_of_a_worker_over_two_nodes_asks_for_one_nodes_nics_and_gpus() -> None:
    """16 GPUs are two pods of 8 GPUs and 16 EFAs (the operator multiplies by nodeCount); no node has 32."""
    pool = aggregated(tensor_parallel=8, pipeline_parallel=2)
    assert_nics_suffice(environment_of(pool))
    engine = plan(environment_of(pool)).pools[0].roles[0].engine
    assert engine.gpus == 8
    assert engine.resources == {"vpc.amazonaws.com/efa": 16}


def test_prod_cells() -> None:
    """Prod's cells use EFA through the device plugin."""
    for planned in prod_plan().cells:
        assert (planned.fabric.kind, planned.fabric.plugin) == ("efa", "device-plugin")


def test_disaggregated_on_gcp_uses_roce() -> None:
    """The cell's network then has one subnet for each of the eight NICs."""
    fleet = plan(environment_of(disaggregated("a3-ultragpu-8g"), gcp=True))
    assert fleet.cells[0].fabric.kind == "roce"
    assert [s.name for s in fleet.cells[0].network.subnets if s.purpose == "rdma"] == [f"rdma-{n}" for n in range(8)]


def test_each_gvnic_has_a_network_of_its_own() -> None:
    """A3 Ultra takes two ordinary networks beside the RoCE one (cluster-toolkit: primary and one
    extra; fabric.md 2)."""
    fleet = plan(environment_of(disaggregated("a3-ultragpu-8g"), gcp=True))
    gvnics = [n.subnet for n in fleet.pools[0].roles[0].fabric.layout if n.type == "gvnic"]
    assert len(set(gvnics)) == len(gvnics) == 2
    assert set(gvnics) <= {s.name for s in fleet.cells[0].network.subnets}
