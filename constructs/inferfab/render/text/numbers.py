"""Numbers as people read them, always with their unit."""

from inferfab.plan.quantities import GB, GIB, Bounds, Range


def usd(value: float) -> str:
    """``$1,114,477``; cents below 100 dollars, and what is less than a cent is not nothing."""
    if 0 < abs(value) < 0.005:
        return f"${value:.1g}"
    return f"${value:,.0f}" if abs(value) >= 100 else f"${value:,.2f}"


def usd_range(money: Range) -> str:
    """``$4.41–7.57``, or ``$2.10 or more`` where nothing bounds it; ``unknown`` where nothing is known."""
    if money.high is None:
        return "unknown" if money.low == 0 else f"{usd(money.low)} or more"
    low, high = usd(money.low), usd(money.high)
    return low if low == high else f"{low}–{high[1:]}"


def figure(value: float) -> str:
    """Three significant digits at most below 100, whole above."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def range_(value: Range, unit: str = "") -> str:
    suffix = f" {unit}" if unit else ""
    if value.high is None:
        return f"{figure(value.low)} or more{suffix}"
    low, high = figure(value.low), figure(value.high)
    return f"{low}{suffix}" if low == high else f"{low}–{high}{suffix}"


def bounds(value: Bounds) -> str:
    """``8 (4–16)``; the bracket only where it scales."""
    return str(value.desired) if value.min == value.max else f"{value.desired} ({value.min}–{value.max})"


def gigabytes(value: float) -> str:
    return f"{value / GB:,.1f} GB"


def gibibytes(value: float) -> str:
    return f"{value / GIB:,.0f} GiB"


def share(value: float) -> str:
    """A part of a whole: ``33%``, and more digits where that would read as nothing or as everything."""
    shown = f"{value:.0%}"
    return f"{value * 100:.3g}%" if shown in ("0%", "100%") and value not in (0, 1) else shown


def percent(value: float) -> str:
    """An availability: as many nines as it has, never rounded up to a better one."""
    shown = f"{int(value * 1000) / 1000:.3f}".rstrip("0").rstrip(".")
    return f"{shown} %"
