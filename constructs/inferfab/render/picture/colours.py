"""Colours of tiers."""

from dataclasses import dataclass

from inferfab.plan.fleet import FleetPlan


@dataclass(frozen=True)
class Colour:
    line: str
    tint: str
    """The same, light enough for dark text on it."""


_PALETTE = (
    Colour("#0072b2", "#e0eef6"),  # blue
    Colour("#e69f00", "#fcf1d9"),  # orange
    Colour("#009e73", "#dcf3ec"),  # green
    Colour("#cc79a7", "#f8ebf2"),  # purple
    Colour("#56b4e9", "#e6f4fc"),  # sky
    Colour("#6b6b6b", "#ececec"),  # grey
)
"""Okabe and Ito's palette, which people with any colour vision tell apart. Its vermilion is left out: it
marks what is broken, and a tier in that colour would look it. Names stand beside the colours everywhere."""


def tier_colours(plan: FleetPlan) -> dict[str, Colour]:
    """A colour for each tier, by rank; they repeat from the seventh on."""
    return {tier.name: _PALETTE[n % len(_PALETTE)] for n, tier in enumerate(plan.tiers)}
