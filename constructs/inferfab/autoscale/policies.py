"""What a way of scaling would have done: workers that are ready, and those that are paid for, window by window."""

import math
from collections import deque
from dataclasses import dataclass

from inferfab.autoscale.rolling import Samples


@dataclass(frozen=True)
class Fleet:
    """The workers of one role, as the plan has them."""

    requests_per_second: float
    """Of one worker at the planned utilization: the load up to which promises are planned to hold."""
    spare: int
    least: int
    most: int
    delay: int
    """Windows between asking for workers and the first in which they serve from its beginning."""
    hold: int
    """Windows in which a worker must not have been needed before it goes."""
    step: int
    """Workers that go at most in one window."""

    def needed(self, rate: float) -> int:
        """Workers for a demand, without spare ones and without bounds."""
        return math.ceil(rate / self.requests_per_second - 1e-9)

    def asked(self, rate: float) -> int:
        """What an autoscaler asks for."""
        return min(max(self.needed(rate) + self.spare, self.least), self.most)


@dataclass(frozen=True)
class Run:
    """One role over the whole series."""

    ready: list[int]
    """Workers that serve in each window."""
    paid: list[int]
    """Workers that are there or on their way in each window."""


def follow(asks: Samples, fleet: Fleet) -> Run:
    """Scale by a series of demand to be ready for; ``asks[i]`` is known when window ``i`` ends.

    Where it is missing, what was asked for last is held.
    """
    first = next((a for a in asks if a is not None), 0.0)
    wanted = fleet.asked(first)
    orders: list[int] = []
    """By the window at whose end it stands."""
    recent: deque[tuple[int, int]] = deque()
    """(window, workers), falling: the first is the most that was asked for within ``hold`` windows."""
    ready = [wanted]
    paid = [wanted]
    for at, ask in enumerate(asks):
        asked = wanted if ask is None else fleet.asked(ask)
        while recent and recent[-1][1] <= asked:
            recent.pop()
        recent.append((at, asked))
        while recent[0][0] <= at - max(1, fleet.hold):
            recent.popleft()
        top = recent[0][1]
        wanted = top if top >= wanted else max(top, wanted - fleet.step)
        orders.append(wanted)
        coming = at + 1
        if coming == len(asks):
            break
        arrived = orders[coming - fleet.delay] if coming >= fleet.delay else paid[0]
        ready.append(min(wanted, max(ready[-1], arrived)))
        paid.append(wanted)
    return Run(ready=ready, paid=paid)


def constant(workers: int, windows: int) -> Run:
    return Run(ready=[workers] * windows, paid=[workers] * windows)


def clairvoyant(rate: Samples, fleet: Fleet) -> Run:
    """Exactly what each window needs, without delay or bounds below: no way of scaling can pay less and keep all."""
    last = 0
    found = []
    for value in rate:
        last = last if value is None else min(max(fleet.needed(value), 0), fleet.most)
        found.append(last)
    return Run(ready=found, paid=found)
