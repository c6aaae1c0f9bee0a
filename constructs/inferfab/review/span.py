"""A number of GPUs or nodes at its three sizes, each a range where a plan does not say it."""

from collections.abc import Iterable

from inferfab.plan.quantities import Bounds, Range
from inferfab.record import Record


class Span(Record):
    """``min``, ``desired`` and ``max``; ``high`` None of any means that nothing in the plan bounds it."""

    min: Range
    desired: Range
    max: Range

    @staticmethod
    def exact(value: int) -> "Span":
        one = Range.exact(value)
        return Span(min=one, desired=one, max=one)

    @staticmethod
    def of(bounds: Bounds) -> "Span":
        return Span(min=Range.exact(bounds.min), desired=Range.exact(bounds.desired), max=Range.exact(bounds.max))

    @staticmethod
    def total(parts: "Iterable[Span]") -> "Span":
        sum_ = NOTHING
        for part in parts:
            sum_ = sum_.plus(part)
        return sum_

    def plus(self, other: "Span") -> "Span":
        return Span(
            min=self.min.plus(other.min), desired=self.desired.plus(other.desired), max=self.max.plus(other.max)
        )

    def times(self, each: Range) -> "Span":
        """Nodes to GPUs: each end times the same end of ``each``."""
        return Span(min=product(self.min, each), desired=product(self.desired, each), max=product(self.max, each))

    @property
    def known(self) -> bool:
        return self.min.known and self.desired.known and self.max.known


def product(a: Range, b: Range) -> Range:
    """Of two ranges that are not negative; nothing of something unbounded is still nothing."""
    if a.high == 0 or b.high == 0:
        return Range.exact(0.0)
    high = None if a.high is None or b.high is None else a.high * b.high
    return Range(low=a.low * b.low, high=high)


NOTHING = Span.exact(0)
UNKNOWN = Range(low=0.0, high=None)
