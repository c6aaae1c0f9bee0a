"""Edges of the frontend's histograms, against what Dynamo 1.6.1 really made of its settings."""

from hypothesis import given
from hypothesis import strategies as st

from inferfab.plan.observability.buckets import MOST_EDGES, covering_edge, edges, plan_buckets


def test_edges_are_those_that_a_frontend_exported() -> None:
    """Scraped from ai-dynamo 1.6.1 with these three settings (shared data, metrics README, section 2)."""
    ttft = edges(0.03125, 8, 17)
    assert ttft[ttft.index(0.25) : ttft.index(1.0) + 1] == (0.25, 0.35, 0.5, 0.71, 1.0)
    itl = edges(0.001875, 0.96, 19)
    assert itl[itl.index(0.021) : itl.index(0.042) + 1] == (0.021, 0.03, 0.042)
    assert ttft[0] == itl[0] == 0


def test_defaults_of_the_frontend_have_no_edge_at_half_a_second() -> None:
    """Its default TTFT edges, 18 of them from 0.001 to 480 s: 0.47 and 1 are next to 0.5 (scraped)."""
    default = edges(0.001, 480.0, 18)
    assert default == (
        0, 0.0022, 0.0047, 0.01, 0.022, 0.047, 0.1, 0.22, 0.47, 1, 2.2, 4.7, 10, 22, 48, 100, 220, 480
    )  # fmt: skip


def test_the_missions_promises_lie_on_edges() -> None:
    """200 and 500 ms of priority; with 2 s of standard where one frontend serves both."""
    for promises in ([200.0, 500.0], [200.0, 500.0, 2000.0], [40.0], [5000.0]):
        made = plan_buckets("DYN_METRICS_TTFT", promises)
        assert made is not None
        assert made.missed_ms == ()
        assert {p / 1000 for p in promises} <= set(made.edges_seconds)
        # What the plan says is what the settings give.
        assert made.edges_seconds == edges(made.min_seconds, made.max_seconds, made.count)


def test_three_digits_are_on_no_edge() -> None:
    """The frontend rounds edges to two significant digits, so nothing puts 125 ms on one."""
    made = plan_buckets("DYN_METRICS_TTFT", [125.0])
    assert made is not None
    assert made.missed_ms == (125.0,)
    assert plan_buckets("DYN_METRICS_TTFT", []) is None


@given(st.lists(st.integers(1, 99).map(lambda n: float(n * 10)), min_size=1, max_size=3, unique=True))
def test_edges_reach_far_enough_and_are_few(promises: list[float]) -> None:
    """Whatever is promised: ascending, with room on both sides, and not a series too many."""
    made = plan_buckets("X", promises)
    assert made is not None
    assert list(made.edges_seconds) == sorted(set(made.edges_seconds))
    assert len(made.edges_seconds) <= MOST_EDGES
    assert made.edges_seconds[1] < min(promises) / 1000 <= max(promises) / 1000 < made.edges_seconds[-1]
    missing = {p for p in promises if p / 1000 not in made.edges_seconds}
    assert missing == set(made.missed_ms)


def test_an_edge_that_covers_a_promise_is_never_below_it() -> None:
    assert covering_edge((0.1, 0.25, 0.5), 0.2) == 0.25
    assert covering_edge((0.1, 0.25, 0.5), 0.5) == 0.5
    assert covering_edge((0.1, 0.25, 0.5), 0.51) is None
