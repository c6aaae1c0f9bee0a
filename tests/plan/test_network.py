"""Subnets lie in the cell's range and never overlap."""

import ipaddress
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferfab.catalog.instances import instances
from inferfab.environment.cells import Cell
from inferfab.plan.fleet import plan
from inferfab.plan.network import NetworkPlan, plan_network
from strategies import cheap

from .planning import aggregated, environment_of


def network(cidr: str, *, cloud: str = "aws", nics: int = 0, gvnics: int = 1, **fields: object) -> NetworkPlan:
    region, zone = {"aws": ("us-east-1", "us-east-1a"), "gcp": ("us-central1", "us-central1-a")}[cloud]
    cell = Cell.model_validate(
        {
            "cloud": cloud, "region": region, "zone": zone, "network": {"kind": "new", "cidr": cidr},
            "pools": {"p": None}, **fields,
        }
    )  # fmt: skip
    return plan_network(cell, nics, gvnics)


def test_aws_by_hand() -> None:
    """10.16.0.0/16: lower quarter in sixteenths for public, system and two control-plane parts; second
    quarter for GPUs."""
    got = {s.name: (s.cidr, s.zone) for s in network("10.16.0.0/16").subnets}
    assert got == {
        "public": ("10.16.0.0/20", "us-east-1a"),
        "system": ("10.16.16.0/20", "us-east-1a"),
        "control-plane-0": ("10.16.32.0/22", "us-east-1a"),
        "control-plane-1": ("10.16.36.0/22", "us-east-1b"),
        "inference": ("10.16.64.0/18", "us-east-1a"),
    }


def test_gcp_has_no_control_plane_subnets() -> None:
    """GKE's control plane is Google's; eight RDMA subnets cut the upper half in equal parts."""
    subnets = network("10.32.0.0/16", cloud="gcp", nics=8).subnets
    assert [s.purpose for s in subnets] == ["public", "system", "inference", *["rdma"] * 8]
    rdma = [s.cidr for s in subnets if s.purpose == "rdma"]
    assert rdma == [f"10.32.{128 + 16 * n}.0/20" for n in range(8)]


def test_stated_rdma_range() -> None:
    """The environment may give the RDMA subnets a range of their own; new bits = ceil(log2(count))."""
    fabric = {"kind": "roce", "rdma_cidr": "192.168.0.0/18"}
    subnets = network("10.32.0.0/16", cloud="gcp", nics=5, fabric=fabric).subnets
    assert [s.cidr for s in subnets if s.purpose == "rdma"] == [f"192.168.{8 * n}.0/21" for n in range(5)]


def test_existing_network_is_not_cut() -> None:
    """Its subnets are somebody else's."""
    cell = {
        "kind": "existing", "vpc_id": "vpc-1", "cidr": "10.0.0.0/16", "node_subnet_ids": ["s1", "s2"],
        "inference_subnet_id": "s3",
    }  # fmt: skip
    got = network("10.0.0.0/16", network=cell)
    assert (got.existing_id, got.subnets) == ("vpc-1", ())


def test_further_gvnics() -> None:
    """Two gVNICs: the second stands in the third sixteenth's first /22. Nine (A3 Mega): the eighth 10.32.32.0/19 in
    eight parts; no instance type takes more than the eighth has room for."""
    two = [s.cidr for s in network("10.32.0.0/16", cloud="gcp", gvnics=2).subnets if s.purpose == "gvnic"]
    assert two == ["10.32.32.0/22"]
    nine = [(s.name, s.cidr) for s in network("10.32.0.0/16", cloud="gcp", gvnics=9).subnets if s.purpose == "gvnic"]
    assert nine == [(f"gvnic-{n}", f"10.32.{32 + 4 * (n - 1)}.0/22") for n in range(1, 9)]
    smallest = [s.cidr for s in network("10.32.0.0/20", cloud="gcp", gvnics=9).subnets if s.purpose == "gvnic"]
    # 10.32.2.0/23 in eight parts of 64 addresses.
    assert smallest == [f"10.32.{2 + n // 4}.{64 * (n % 4)}/26" for n in range(8)]


@pytest.mark.parametrize("machine", list(instances("gcp")))
@pytest.mark.parametrize("prefix", [16, 20])
def test_every_machine_of_google_has_its_subnets(machine: str, prefix: int) -> None:
    """Each network interface of the node stands in a subnet that the cell has."""
    network = {"kind": "new", "cidr": f"10.32.0.0/{prefix}"}
    pool = {**aggregated(machine), "fabric": "auto"}
    planned = plan(environment_of(pool, gcp=True, cell={"network": network})).cells[0]
    named = {s.name for s in planned.network.subnets}
    assert {n.subnet for n in planned.pools[0].roles[0].fabric.layout} <= named


@cheap
@given(
    st.integers(16, 20),
    st.integers(0, 255),
    st.sampled_from(("aws", "gcp")),
    st.integers(0, 16),
    st.integers(1, 33),
)
def test_inside_and_apart(prefix: int, second: int, cloud: str, nics: int, gvnics: int) -> None:
    """Every subnet lies in the range, no two overlap, each is at least a /28 (the least that AWS takes)."""
    whole = ipaddress.IPv4Network(f"10.{second}.0.0/{prefix}")
    subnets = network(str(whole), cloud=cloud, nics=nics, gvnics=gvnics).subnets
    ranges = [ipaddress.IPv4Network(s.cidr) for s in subnets]
    assert all(r.subnet_of(whole) and r.prefixlen <= 28 for r in ranges)
    assert not any(a.overlaps(b) for a, b in itertools.combinations(ranges, 2))
    assert len({s.name for s in subnets}) == len(subnets)
    assert sum(s.purpose == "rdma" for s in subnets) == nics
    assert sum(s.purpose == "gvnic" for s in subnets) == (gvnics - 1 if cloud == "gcp" else 0)
    if cloud == "aws":
        assert len({s.zone for s in subnets if s.purpose == "control-plane"}) == 2


@pytest.mark.parametrize("cidr", ["10.0.0.0/16", "10.0.0.0/20"])
def test_gpu_nodes_get_a_quarter(cidr: str) -> None:
    """A /16 gives 16,384 addresses to GPU nodes and their pods, a /20 1,024."""
    inference = next(s for s in network(cidr).subnets if s.name == "inference")
    assert ipaddress.IPv4Network(inference.cidr).num_addresses * 4 == ipaddress.IPv4Network(cidr).num_addresses
