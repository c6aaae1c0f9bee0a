"""Intervals against the tables of the papers that they come from."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferfab.plan.rollout.proportions import newcombe, requests_needed, wilson, z_of
from strategies import cheap

Z95 = 1.959963985


def test_one_share_as_published() -> None:
    """Newcombe 1998 (857-872), table I, method 3: 81 of 263, 15 of 148, 0 of 20, 1 of 29."""
    for hits, of, low, high in ((81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0, 0.1611),
                                (1, 29, 0.0061, 0.1718)):  # fmt: skip
        assert wilson(hits, of, Z95) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))


def test_a_difference_as_published() -> None:
    """Newcombe 1998 (873-890), table II, method 10: 56/70 - 48/80, 9/10 - 3/10, 5/56 - 0/29, 0/10 - 0/20."""
    for a, n, b, m, low, high in (
        (56, 70, 48, 80, 0.0524, 0.3339), (9, 10, 3, 10, 0.1705, 0.8090), (5, 56, 0, 29, -0.0381, 0.1926),
        (0, 10, 0, 20, -0.1611, 0.2775),
    ):  # fmt: skip
        assert newcombe(a, n, b, m, Z95) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))


def test_several_judgements_share_the_doubt() -> None:
    """95 % on one side is 1.645, five of them together 2.326 (99 % each)."""
    assert z_of(95, 1) == pytest.approx(1.6449, abs=1e-4)
    assert z_of(95, 5) == pytest.approx(2.3263, abs=1e-4)


@cheap
@given(st.integers(1, 10_000), st.data())
def test_the_share_is_inside(of: int, data: st.DataObject) -> None:
    hits = data.draw(st.integers(0, of))
    low, high = wilson(hits, of, 2)
    assert 0 <= low <= hits / of + 1e-12 and hits / of - 1e-12 <= high <= 1


def test_requests_that_would_do() -> None:
    """1 % failed on both sides and half a percent of margin: z² · 2 · 0.0099 / 0.005² at z = 2."""
    needed = requests_needed(0.01, 0.01, 0.005, 2)
    assert needed == pytest.approx(4 * 2 * 0.0099 / 0.000025, rel=0.001)
    low, high = newcombe(0.01 * needed, needed, 0.01 * needed, needed, 2)
    assert math.isclose(high, 0.005, rel_tol=0.1) and low < 0 < high
