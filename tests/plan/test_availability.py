"""Availability against closed forms."""

import itertools
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferfab.catalog.reliability import ReliabilityFile, reliability
from inferfab.plan import availability
from inferfab.plan.availability import (
    STEPS,
    CellCapacity,
    RoleNodes,
    available_share,
    plan_availability,
    weights,
)
from strategies import cheap

NODE, CELL, REGION = 0.00015784, 0.005, 0.0001
"""As stated in reliability.yaml: 1 h of 6,336 h; 99.5 % and 99.99 % agreements."""
UP = (1 - CELL) * (1 - REGION)


def exactly(figure: float) -> Any:
    """To the last bits: two failures at once, 1e-7 and less, must show."""
    return pytest.approx(figure, rel=1e-13)


def roles(*nodes: int, gpus: int = 8) -> tuple[RoleNodes, ...]:
    return tuple(RoleNodes(replicas=n, nodes=n, gpus_per_node=gpus) for n in nodes)


def cell(name: str, *nodes: int, region: str = "r1", share: float = 1.0, gpus: int = 8) -> CellCapacity:
    return CellCapacity(cell=name, region=region, share=share, roles=roles(*nodes, gpus=gpus))


def binomial(n: int, k: int, up: float) -> float:
    """Probability that at least k of n are up."""
    return sum(math.comb(n, i) * up**i * (1 - up) ** (n - i) for i in range(k, n + 1))


def test_rates_are_the_stated_ones() -> None:
    """The closed forms below use the catalog's rates."""
    rates = reliability()
    assert (rates.node.unavailability, rates.cell.unavailability, rates.region.unavailability) == (
        NODE,
        CELL,
        REGION,
    )


def test_one_cell_one_node() -> None:
    """Everything must be up."""
    assert available_share((cell("a", 1),), 0.7) == exactly((1 - NODE) * UP)


def test_a_node_with_fewer_gpus_fails_less() -> None:
    """The measured rate is that of 8 GPUs; 2 have a fourth of it."""
    assert available_share((cell("a", 1, gpus=2),), 0.7) == exactly((1 - NODE / 4) * UP)


def test_k_of_n() -> None:
    """Ten nodes at 70 %: seven must be left."""
    assert available_share((cell("a", 10),), 0.7) == exactly(binomial(10, 7, 1 - NODE) * UP)


def test_two_roles_need_both() -> None:
    """Five prefill and five decode nodes at 80 %: at least four of each."""
    expected = binomial(5, 4, 1 - NODE) ** 2 * UP
    assert available_share((cell("a", 5, 5),), 0.8) == exactly(expected)


def test_a_replica_over_two_nodes_needs_both() -> None:
    """Four replicas of two nodes at 75 %: three of them, each up with (1 - p) squared."""
    role = RoleNodes(replicas=4, nodes=8, gpus_per_node=8, nodes_per_worker=2)
    got = available_share((CellCapacity(cell="a", region="r", share=1, roles=(role,)),), 0.75)
    assert got == exactly(binomial(4, 3, (1 - NODE) ** 2) * UP)


def test_two_regions_each_able_to_carry_all() -> None:
    """At 50 % either of two equal cells is enough, if all of its nodes are up; or both in part."""
    one = UP * (1 - NODE)
    cells = (cell("a", 1, region="r1"), cell("b", 1, region="r2"))
    assert available_share(cells, 0.5) == exactly(1 - (1 - one) ** 2)


def test_cells_of_one_region_share_its_fate() -> None:
    """Two cells in one region: the region must be up, then either cell."""
    one = (1 - CELL) * (1 - NODE)
    got = available_share((cell("a", 1), cell("b", 1)), 0.5)
    assert got == exactly((1 - REGION) * (1 - (1 - one) ** 2))


def test_more_than_half_needs_both_cells() -> None:
    """At 60 % neither of two equal cells is enough."""
    cells = (cell("a", 1, region="r1"), cell("b", 1, region="r2"))
    assert available_share(cells, 0.6) == exactly((UP * (1 - NODE)) ** 2)


def test_nothing_serves_nothing() -> None:
    """A tier whose desired size is zero is not available."""
    assert available_share((cell("a", 0),), 0.7) == 0
    assert available_share((), 0.7) == 0


def test_exhaustive_three_cells() -> None:
    """Three cells of 50, 30 and 20 %, nodes that all have to be up: sum over the eight combinations."""
    shares = {"a": 0.5, "b": 0.3, "c": 0.2}
    cells = tuple(cell(n, 1, region=n, share=s) for n, s in shares.items())
    one = UP * (1 - NODE)
    for needed in (0.2, 0.5, 0.6, 0.7, 0.9, 1.0):
        expected = sum(
            math.prod(one if up else 1 - one for up in ups)
            for ups in itertools.product((True, False), repeat=3)
            if sum(s for s, up in zip(shares.values(), ups, strict=True) if up) >= needed - 1e-12
        )
        assert available_share(cells, needed) == pytest.approx(expected, abs=1e-12)


def test_target() -> None:
    """A figure below the target says so; no target is always reached."""
    got = plan_availability("t", "m", (cell("a", 1),), utilization=0.7, target_percent=99.9)
    assert got.percent == pytest.approx(100 * (1 - NODE) * UP)
    assert not got.reaches_target
    assert got.nodes == 1
    assert plan_availability("t", "m", (cell("a", 1),), utilization=0.7, target_percent=None).reaches_target


def test_a_very_large_fleet() -> None:
    """Ten thousand nodes with a tenth to spare are up whenever cell and region are; no overflow on the
    way."""
    assert available_share((cell("a", 10_000),), 0.9) == pytest.approx(UP, rel=1e-9)
    role = RoleNodes(replicas=100_000, nodes=800_000, gpus_per_node=8, nodes_per_worker=8)
    got = available_share((CellCapacity(cell="a", region="r", share=1, roles=(role,)),), 0.9)
    assert got == pytest.approx(UP, rel=1e-6)


fleets = st.lists(
    st.tuples(
        st.sampled_from(("r1", "r2")),
        st.floats(0.1, 10),
        st.lists(st.integers(1, 12), min_size=1, max_size=2),
    ),
    min_size=1,
    max_size=4,
).map(
    lambda rows: tuple(
        cell(f"c{i}", *nodes, region=region, share=share) for i, (region, share, nodes) in enumerate(rows)
    )
)


@cheap
@given(fleets)
def test_weights_sum_to_the_steps(cells: tuple[CellCapacity, ...]) -> None:
    """Exactly 1,000, and none further than one step from its share."""
    got = weights(cells)
    whole = sum(c.share for c in cells)
    assert sum(got.values()) == STEPS
    assert all(abs(got[c.cell] - c.share / whole * STEPS) <= 1 for c in cells)


@cheap
@given(fleets, st.floats(0.01, 1))
def test_a_probability(cells: tuple[CellCapacity, ...], needed: float) -> None:
    """Between 0 and 1, and more load is never better served."""
    got = available_share(cells, needed)
    assert 0 <= got <= 1 + 1e-12
    assert available_share(cells, min(1.0, needed + 0.1)) <= got + 1e-12


@cheap
@given(
    fleets,
    st.floats(0.01, 1),
    st.sampled_from(("node", "cell", "region")),
    st.floats(0, 0.2),
    st.floats(0, 0.2),
)
def test_never_rises_with_failure_rates(
    cells: tuple[CellCapacity, ...], needed: float, which: str, a: float, b: float
) -> None:
    """A higher rate of nodes, cells or regions never makes the figure better."""

    def at(rate: float) -> float:
        stated = reliability()
        worse = stated.model_copy(update={which: getattr(stated, which).model_copy(update={"unavailability": rate})})
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(availability, "reliability", lambda: ReliabilityFile.model_validate(worse))
            return available_share(cells, needed)

    low, high = sorted((a, b))
    assert at(high) <= at(low) + 1e-9


@cheap
@given(st.integers(1, 10), st.integers(0, 10))
def test_errs_on_the_low_side_by_at_most_one_node(load: int, spare: int) -> None:
    """A load of so many nodes on more of them: never above the exact figure, never below that of one
    node more needed.

    Rounding down to 1/1000 may ask one node more than the exact share does (2 of 3 at two thirds).
    """
    n = load + spare
    got = available_share((cell("a", n),), load / n)
    assert got <= binomial(n, load, 1 - NODE) * UP + 1e-12
    assert got >= binomial(n, load + 1, 1 - NODE) * UP - 1e-12


@cheap
@given(st.sampled_from((2, 4, 5, 8, 10, 20, 25)), st.integers(1, 25))
def test_never_rises_when_replicas_fall(n: int, load: int) -> None:
    """The same load on one node less is never better served (node counts whose shares 1/1000 holds
    exactly)."""
    load = min(load, n - 1)
    fewer = binomial(n - 1, load, 1 - NODE) * UP
    assert available_share((cell("a", n),), load / n) >= fewer - 1e-12


def test_basis_reads_well_for_small_nodes() -> None:
    """The rate is that of eight GPUs, and the sentence says how one GPU follows from it."""
    basis = plan_availability("t", "m", (cell("a", 1),), utilization=0.7, target_percent=None).basis
    assert basis.startswith("a node with 8 GPUs is down ")
    assert "one with fewer in proportion to its GPUs" in basis
