"""Counts in bounded memory: arrivals in windows that widen, lengths in logarithmic bins."""

import math
from collections import Counter

MOST_WINDOWS = 200_000
BINS_PER_OCTAVE = 12
"""Bins 6 % wide."""
JOINT_BINS_PER_OCTAVE = 2
QUANTILES = (1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 100.0)


class Windows:
    """Arrivals by window; windows double in width when they get too many."""

    def __init__(self, width_s: float) -> None:
        self.width_s = width_s
        self.counts: Counter[int] = Counter()

    def add(self, at_s: float, count: float = 1) -> None:
        self.counts[math.floor(at_s / self.width_s)] += count  # type: ignore[assignment]
        if len(self.counts) > MOST_WINDOWS:
            self.width_s *= 2
            wider: Counter[int] = Counter()
            for index, n in self.counts.items():
                wider[index // 2] += n
            self.counts = wider

    def moments(self, first_s: float, last_s: float) -> tuple[float, float] | None:
        """Mean and variance of whole windows between two moments, empty ones counted; None under ten."""
        low, high = math.floor(first_s / self.width_s) + 1, math.floor(last_s / self.width_s)
        count = high - low
        if count < 10:
            return None
        values = [n for index, n in self.counts.items() if low <= index < high]
        mean = sum(values) / count
        variance = (sum((n - mean) ** 2 for n in values) + (count - len(values)) * mean**2) / (count - 1)
        return mean, variance

    def busiest(self, span_s: float) -> float:
        """Most arrivals in any row of windows that is ``span_s`` long."""
        row = max(1, round(span_s / self.width_s))
        return max((sum(self.counts.get(i, 0) for i in range(at, at + row)) for at in self.counts), default=0)


class LogBins:
    """Whole numbers from 1 on in bins 6 % wide, with exact mean and maximum."""

    def __init__(self) -> None:
        self.bins: Counter[int] = Counter()
        self.count = 0
        self.total = 0
        self.longest = 0

    def add(self, value: int) -> None:
        self.bins[bin_of(value, BINS_PER_OCTAVE)] += 1
        self.count += 1
        self.total += value
        self.longest = max(self.longest, value)

    def quantiles(self) -> tuple[tuple[float, int], ...]:
        found = []
        ordered = sorted(self.bins.items())
        for percent in QUANTILES:
            seen = 0
            value = self.longest
            for index, count in ordered:
                seen += count
                if seen >= percent / 100 * self.count:
                    low, high = edges(index, BINS_PER_OCTAVE)
                    value = min(self.longest, round(math.sqrt(low * high)))
                    break
            found.append((percent, self.longest if percent == 100 else value))
        return tuple(found)


def bin_of(value: int, per_octave: int) -> int:
    """Index of the bin that holds a whole number."""
    return math.floor(math.log2(value) * per_octave + 1e-9)


def edges(index: int, per_octave: int) -> tuple[int, int]:
    """Lowest and highest whole number of a bin."""
    low = math.ceil(2 ** (index / per_octave) - 1e-9)
    high = math.ceil(2 ** ((index + 1) / per_octave) - 1e-9) - 1
    return low, max(low, high)
