"""One number of a cell, by which all that an answer passes through waits for it."""

import pytest

from inferfab.plan.draining import answer_seconds, deregistration_seconds, drain_seconds


@pytest.mark.parametrize(
    ("timeouts", "told", "grace", "balancer"),
    [
        # Half an hour at least, of which the last minute is for cleaning up.
        ((), 1740, 1800, 1800),
        ((60, 1740), 1740, 1800, 1800),
        ((1741,), 1741, 1801, 1801),
        # Staging: 3,360 s in its slower tier.
        ((900, 3360), 3360, 3420, 3420),
        ((3600,), 3600, 3660, 3600),
        # AWS takes no more than 3,600 s.
        ((5000, 60), 3600, 3660, 3600),
    ],
)
def test_everything_waits_for_the_longest_answer(
    timeouts: tuple[int, ...], told: int, grace: int, balancer: int
) -> None:
    assert drain_seconds(timeouts) == grace
    assert answer_seconds(grace) == told
    assert deregistration_seconds(grace) == balancer
