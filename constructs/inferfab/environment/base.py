"""What every part of the environment file has in common: strict types, closed keys, names, words for what is wrong."""

import calendar
from datetime import datetime
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError


class Input(BaseModel):
    """A mapping of the environment file.

    Strict: ``"8"`` is not 8 and ``8.0`` is not 8, so that what stands in the file is what is meant.
    Closed: a key that nothing reads is an error. The string under each field is its documentation in the
    JSON Schema and in editors; a default is described as behaviour.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


PATTERN_WORDS: dict[str, str] = {}
"""What to write, by pattern: nobody should have to read a regular expression to mend a file."""


def matching(pattern: str, words: str, **more: Any) -> Any:
    """A field of text that matches ``pattern``; ``words`` tell a person what to write."""
    PATTERN_WORDS[pattern] = words
    return Field(pattern=pattern, **more)


def contradiction(what: str, fix: str) -> PydanticCustomError:
    """For validators of a mapping: fields that cannot both be meant. ``IF-ENV-014``."""
    return PydanticCustomError("contradiction", "{what}", {"what": what, "fix": fix})


def impossible(what: str, fix: str) -> PydanticCustomError:
    """For validators of one value that looks right and is not possible. ``IF-ENV-013``."""
    return PydanticCustomError("impossible", "{what}", {"what": what, "fix": fix})


T = TypeVar("T")
Items = Annotated[tuple[T, ...], Field(strict=False)]
"""A YAML list."""

NAME_PATTERN = r"^[a-z]([-a-z0-9]*[a-z0-9])?$"
Name = Annotated[
    str, matching(NAME_PATTERN, "lower-case letters, digits and dashes, starting with a letter", max_length=40)
]
"""Lower-case letters, digits and dashes, starting with a letter: it becomes part of cloud and cluster names."""

# Numbers have a lower and an upper end, so that no quotient or product of a plan is infinite.
Tokens = Annotated[int, Field(gt=0, le=10_000_000)]
Percent = Annotated[float, Field(ge=0, le=100)]
Share = Annotated[float, Field(ge=0.001, le=1)]
"""A part of a whole, at least a thousandth."""
MemoryShare = Annotated[float, Field(ge=0.05, le=1)]
"""Part of a GPU's memory that one engine may take."""
Milliseconds = Annotated[float, Field(ge=0.1, le=86_400_000)]
Usd = Annotated[float, Field(ge=0.001, le=1e12)]
Count = Annotated[int, Field(ge=0, le=100_000)]
PositiveCount = Annotated[int, Field(ge=1, le=100_000)]
Cidr = Annotated[str, matching(r"^[0-9]{1,3}(\.[0-9]{1,3}){3}/[0-9]{1,2}$", "write an IPv4 range like 10.20.0.0/16")]
"""IPv4 range in CIDR notation, ``10.20.0.0/16``."""


def _in_the_calendar(text: str) -> str:
    """A day or a time that exists. Nothing is compared with today."""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        year, month, day = int(text[:4]), int(text[5:7]), int(text[8:10])
        example = "2026-11-01" if len(text) == len("2026-11-01") else "2027-01-31T11:30:00Z"
        fix = f"write one that there is, like {example}"
        if year and 1 <= month <= 12 and day:
            last = calendar.monthrange(year, month)[1]
            fix = f"that month ends on {text[:8]}{last:02}" if day > last else "write a time from 00:00:00 to 23:59:59"
        raise impossible(f"`{text}` is not in any calendar", fix) from None
    return text


Day = Annotated[
    str, matching(r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$", "write a date, like 2026-11-01"), AfterValidator(_in_the_calendar)
]
"""``2026-11-01``."""
UtcTime = Annotated[
    str,
    matching(
        r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$", "write a time in UTC, like 2027-01-31T11:30:00Z"
    ),
    AfterValidator(_in_the_calendar),
]
"""``2027-01-31T11:30:00Z``."""
