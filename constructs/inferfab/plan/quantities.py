"""Bounds and ranges."""

from collections.abc import Callable, Iterable

from pydantic import NonNegativeInt

from inferfab.record import Record

GIB = 1024**3
GB = 10**9
HOURS_PER_MONTH = 730
"""8,760 hours over 12 months, as the clouds' own calculators count."""


class Bounds(Record):
    """A number that scales: never below ``min``, starts at ``desired``, never above ``max``."""

    min: NonNegativeInt
    desired: NonNegativeInt
    max: NonNegativeInt

    def map(self, change: Callable[[int], int]) -> "Bounds":
        return Bounds(min=change(self.min), desired=change(self.desired), max=change(self.max))

    def plus(self, other: "Bounds") -> "Bounds":
        return Bounds(min=self.min + other.min, desired=self.desired + other.desired, max=self.max + other.max)

    @staticmethod
    def total(parts: Iterable["Bounds"]) -> "Bounds":
        sum_ = Bounds(min=0, desired=0, max=0)
        for part in parts:
            sum_ = sum_.plus(part)
        return sum_


class Range(Record):
    """A figure between two bounds; ``high`` is None where no source bounds it from above.

    Equal ends mean a known figure. A range is never narrowed by a guess.
    """

    low: float
    high: float | None

    @staticmethod
    def exact(value: float) -> "Range":
        return Range(low=value, high=value)

    def times(self, factor: float) -> "Range":
        return Range(low=self.low * factor, high=None if self.high is None else self.high * factor)

    def plus(self, other: "Range") -> "Range":
        high = None if self.high is None or other.high is None else self.high + other.high
        return Range(low=self.low + other.low, high=high)

    def over(self, other: "Range") -> "Range":
        """Lowest and highest quotient; both ranges are positive and ``other`` is bounded."""
        assert other.high is not None
        return Range(low=self.low / other.high, high=None if self.high is None else self.high / other.low)

    @property
    def known(self) -> bool:
        return self.high == self.low

    @staticmethod
    def total(parts: Iterable["Range"]) -> "Range":
        sum_ = Range.exact(0.0)
        for part in parts:
            sum_ = sum_.plus(part)
        return sum_
