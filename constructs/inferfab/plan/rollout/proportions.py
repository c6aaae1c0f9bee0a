"""Intervals for shares of requests and for their differences, from score tests: sound for small counts and rare events.

Sources: E. B. Wilson, J. Am. Stat. Assoc. 22 (1927); R. G. Newcombe, Statistics in Medicine 17 (1998), 857-872 (one
share, method 3) and 873-890 (a difference, method 10); both without correction for continuity.
"""

from math import sqrt
from statistics import NormalDist


def z_of(confidence_percent: float, judgements: int) -> float:
    """Quantile for one side of one of several judgements that are to hold together (Bonferroni).

    :param confidence_percent: of all of them together.
    """
    return NormalDist().inv_cdf(1 - (1 - confidence_percent / 100) / max(1, judgements))


def wilson(hits: float, of: float, z: float) -> tuple[float, float]:
    """Interval of a share."""
    share = hits / of
    middle, spread = share + z * z / (2 * of), z * sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    scale = 1 + z * z / of
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)


def newcombe(hits: float, of: float, base_hits: float, base_of: float, z: float) -> tuple[float, float]:
    """Interval of a share minus the base's."""
    share, base = hits / of, base_hits / base_of
    low, high = wilson(hits, of, z)
    base_low, base_high = wilson(base_hits, base_of, z)
    difference = share - base
    return (
        difference - sqrt((share - low) ** 2 + (base_high - base) ** 2),
        difference + sqrt((high - share) ** 2 + (base - base_low) ** 2),
    )


def requests_needed(share: float, base: float, margin: float, z: float) -> int:
    """Requests on each side at which an interval about no difference fits into the margin, roughly."""
    return round(z * z * (share * (1 - share) + base * (1 - base)) / margin**2) + 1
