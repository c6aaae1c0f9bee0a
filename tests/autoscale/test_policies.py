"""Ways of scaling, window by window, against what a person works out."""

from hypothesis import given
from hypothesis import strategies as st

from inferfab.autoscale.policies import Fleet, clairvoyant, constant, follow
from strategies import cheap


def fleet(**changes: int) -> Fleet:
    """A worker serves 10 requests a second; what is asked for serves two windows later, and stays three."""
    settings = {"spare": 0, "least": 1, "most": 9, "delay": 2, "hold": 3, "step": 9, **changes}
    return Fleet(requests_per_second=10.0, **settings)


def test_up_after_the_delay_and_paid_from_the_order_on() -> None:
    """25 is seen when window 1 ends: three workers are paid for from window 2 on, and serve from window 3 on."""
    run = follow([10.0, 25.0, 25.0, 25.0, 25.0], fleet())
    assert run.paid == [1, 1, 3, 3, 3]
    assert run.ready == [1, 1, 1, 3, 3]


def test_down_only_when_none_was_needed_for_so_long() -> None:
    """30 in window 0; 10 afterwards. Three windows without need for it, then it goes at once."""
    run = follow([30.0, 10.0, 10.0, 10.0, 10.0, 10.0], fleet())
    assert run.paid == [3, 3, 3, 3, 1, 1]
    assert run.ready == run.paid


def test_down_by_steps() -> None:
    run = follow([50.0] + [10.0] * 7, fleet(step=2))
    assert run.paid == [5, 5, 5, 5, 3, 1, 1, 1]


def test_a_missing_sample_holds_what_is_there() -> None:
    run = follow([40.0, None, None, None, None, None, None], fleet())
    assert run.paid == [4] * 7


def test_bounds_and_spare() -> None:
    """Two for the demand of 15 and one spare; never above nine."""
    assert follow([15.0, 15.0], fleet(spare=1)).paid == [3, 3]
    assert follow([1000.0, 0.0], fleet(spare=1)).paid == [9, 9]
    assert follow([0.0, 0.0], fleet(least=2)).paid == [2, 2]


def test_clairvoyant_needs_exactly_what_it_needs() -> None:
    run = clairvoyant([10.0, 10.1, None, 0.0, 1000.0], fleet(spare=2, least=3))
    assert run.ready == run.paid == [1, 2, 2, 0, 9]
    assert constant(4, 3).ready == [4, 4, 4]


@cheap
@given(
    st.lists(st.one_of(st.none(), st.floats(0, 120)), min_size=1, max_size=40),
    st.integers(1, 5), st.integers(0, 6), st.integers(1, 9),
)  # fmt: skip
def test_for_any_demand(asks: list[float | None], delay: int, hold: int, step: int) -> None:
    here = fleet(delay=delay, hold=hold, step=step, spare=1)
    run = follow(asks, here)
    assert len(run.ready) == len(run.paid) == len(asks)
    for at, (ready, paid) in enumerate(zip(run.ready, run.paid, strict=True)):
        # Nothing serves that is not paid for; nothing leaves the bounds; steps down are small.
        assert here.least <= ready <= paid <= here.most
        if at:
            assert run.paid[at - 1] - paid <= step
            # What serves now was asked for at least `delay` windows ago, or served before.
            assert ready <= max(run.ready[at - 1], *run.paid[: max(1, at - delay + 2)])
    # Where demand is known, what was asked for covers it, up to the most.
    for at in range(1, len(asks)):
        ask = asks[at - 1]
        if ask is not None:
            assert run.paid[at] >= min(here.most, here.needed(ask) + 1)
