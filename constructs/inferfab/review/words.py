"""Numbers of a review in words, the same in every format."""

from collections.abc import Sequence

from inferfab.plan.quantities import Range
from inferfab.render.text.numbers import usd, usd_range
from inferfab.review.lines import MoneyLine
from inferfab.review.span import UNKNOWN, Span


def plural(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def joined(words: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def money(value: Range) -> str:
    return usd_range(value)


def usd_change(line: MoneyLine) -> str:
    """Of a month: ``+$12,345``, ``−$10 to +$20``, ``an unknown amount``."""
    return change_of(line.before.usd_per_month, line.after.usd_per_month)


def change_of(before: Range, after: Range) -> str:
    """End by end: what is unknown of a price is as unknown before as after."""
    if before == after:
        return "±$0"
    if before.high is None or after.high is None:
        return "an unknown amount"
    ends = sorted((after.low - before.low, after.high - before.high))
    signed = [("+" if v > 0 else "−") + usd(abs(v)) if v else "$0" for v in ends]
    return signed[0] if signed[0] == signed[1] else f"{signed[0]} to {signed[1]}"


def whole(value: Range) -> str:
    """A number of GPUs or nodes: ``16``, ``8–16``, ``8 or more``, ``unknown``."""
    if value.high is None:
        return "unknown" if value.low == 0 else f"{value.low:,.0f} or more"
    return f"{value.low:,.0f}" if value.known else f"{value.low:,.0f}–{value.high:,.0f}"


def span(value: Span) -> str:
    """``16``, or ``16 (8–32)`` with the bounds between which it scales."""
    if value.min == value.desired == value.max or value.max == value.desired == UNKNOWN:
        return whole(value.desired)
    ends = (
        f"{whole(value.min)}–{whole(value.max)}"
        if value.min.known and value.max.known
        else f"min {whole(value.min)}, max {whole(value.max)}"
    )
    return f"{whole(value.desired)} ({ends})"


def seconds(value: Range | None) -> str:
    if value is None:
        return "for good"
    if value.high is None:
        return f"{value.low:,.0f} s or more" if value.low else "0 s or more"
    return f"{value.low:,.0f} s" if value.known else f"{value.low:,.0f}–{value.high:,.0f} s"


def per_million(value: Range | None) -> str:
    return "–" if value is None else usd_range(value)
