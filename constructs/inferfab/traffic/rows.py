"""One request of a trace, and what a row may say."""

import math
from datetime import UTC, datetime

from inferfab.record import Record

MOST_TOKENS = 10_000_000
"""Of one prompt or answer: above it a row is wrong, not long."""
LATEST_SECONDS = 100 * 366 * 86_400.0
"""Between first and last row: a century, above it a row is wrong."""


class Request(Record):
    """One request."""

    at_s: float
    """Seconds; since 1970 where the trace has dates, else since its own start."""
    prompt_tokens: int
    output_tokens: int
    blocks: tuple[int, ...] = ()
    """Identities of the prompt's blocks, front to back; equal ones are equal text. Empty where the trace has none."""


class BadRow(Exception):
    """A row says nothing usable; the message says what is wrong with it."""


class UnusableTrace(Exception):
    """A file is no trace, or too much of it is broken; the message says why and what to do."""


def tokens(text: object, name: str, *, least: int = 0) -> int:
    """A count of tokens.

    :raises BadRow: for anything but a whole number from ``least`` on.
    """
    try:
        value = float(str(text).strip())
    except ValueError:
        raise BadRow(f"{name} is {str(text)!r:.40}, not a number") from None
    if not math.isfinite(value) or value != int(value):
        raise BadRow(f"{name} is {str(text)!r:.40}, not a whole number")
    if not least <= value <= MOST_TOKENS:
        raise BadRow(f"{name} is {int(value):,}, not between {least} and {MOST_TOKENS:,}")
    return int(value)


def moment(text: object, name: str = "the time") -> tuple[float, bool]:
    """Seconds, and whether they count from 1970: a date and time (UTC where it names no zone), or plain seconds.

    :raises BadRow: for anything else.
    """
    stripped = str(text).strip()
    try:
        value = float(stripped)
    except ValueError:
        pass
    else:
        if not math.isfinite(value):
            raise BadRow(f"{name} is {stripped!r:.40}, not a time")
        return value, False
    # Azure's traces have seven decimals; Python reads six.
    head, dot, rest = stripped.partition(".")
    digits = len(rest) - len(rest.lstrip("0123456789"))
    shown = f"{head}{dot}{rest[: min(digits, 6)]}{rest[digits:]}"
    try:
        found = datetime.fromisoformat(shown)
    except ValueError:
        raise BadRow(f"{name} is {stripped!r:.40}, not a time") from None
    if found.tzinfo is None:
        found = found.replace(tzinfo=UTC)
    return found.timestamp(), True
