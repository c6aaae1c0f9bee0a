"""One thing that keeps a tier from being available."""

import math
from typing import Literal

from inferfab.plan.quantities import HOURS_PER_MONTH
from inferfab.record import Record

FactorName = Literal["nodes", "cells", "regions", "stranded", "names", "gateways", "routers", "changes"]
MINUTES_PER_MONTH = HOURS_PER_MONTH * 60
_IN_THE_FIGURE: tuple[FactorName, ...] = ("nodes", "cells", "regions")


class AvailabilityFactor(Record):
    """One thing that fails, as if nothing else did."""

    name: FactorName
    unavailability: float
    """Share of the time, or of requests, that it costs the tier."""
    basis: str
    """How good the figure is: measured, provider SLA, assumption; a mixture where it is worked out from several."""
    how: str

    @property
    def minutes_per_month(self) -> float:
        return self.unavailability * MINUTES_PER_MONTH


def with_operations(percent: float, factors: tuple[AvailabilityFactor, ...]) -> float:
    """A tier's figure with names, gateways, routers and changes in it too, in percent."""
    rest = [f.unavailability for f in factors if f.name not in _IN_THE_FIGURE]
    return percent * math.prod(1 - u for u in rest)
