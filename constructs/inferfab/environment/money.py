"""Budget and a team's own prices."""

from typing import Literal

from inferfab.environment.base import Day, Input, Items, Usd


class Budget(Input):
    """What the environment may cost."""

    usd_per_month: Usd
    """Ceiling at the desired size (730 hours); a plan over it is an error."""
    usd_per_month_at_max: Usd | None = None
    """Ceiling when every pool is at its maximum. Default: not checked."""
    usd_per_month_rise: Usd | None = None
    """Most that one change may add at the desired size; `inferfab review` enforces it. Default: not checked."""


class PriceOverlay(Input):
    """A price that your team has and the catalog cannot know."""

    cloud: Literal["aws", "gcp"]
    """Cloud whose price it is."""
    instance: str
    """Machine type, `p5en.48xlarge`."""
    kind: Literal["on_demand", "spot", "reservation", "capacity_block"]
    """How the capacity is bought."""
    region: str | None = None
    """Default: every region of that cloud."""
    usd_per_hour: Usd
    """Per instance-hour."""
    source: str
    """Where the figure comes from (contract, bill), shown beside every sum that uses it."""
    as_of: Day
    """Date of the figure, quoted, `2026-11-01`."""


class Prices(Input):
    """Prices laid over the catalog's."""

    overlay: Items[PriceOverlay] = ()
