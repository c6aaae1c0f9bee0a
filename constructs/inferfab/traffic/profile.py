"""A traffic profile: what a trace says of its traffic, small enough to review, with where it came from.

What a trace cannot tell is None, not a guess: an hour has no time of day, a rate series no lengths but their means.
"""

import hashlib
from datetime import date
from pathlib import Path
from typing import Literal

from pydantic import NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt, ValidationError

from inferfab.input_files import read_text
from inferfab.record import Record


class Provenance(Record):
    """Where a profile comes from."""

    file: str
    """Name only: a path says more of a machine than of traffic."""
    format: str
    sha256: str
    rows: NonNegativeInt
    bad_rows: NonNegativeInt
    failed_rows: NonNegativeInt
    """Requests that the trace itself calls failed; they are in no figure."""
    first_day: date | None
    """None where the trace has no dates."""
    span_s: NonNegativeFloat


class Rates(Record):
    """Requests a second."""

    mean_rps: PositiveFloat
    peak_rps: PositiveFloat
    """Mean of the busiest window."""
    window_s: PositiveFloat
    worst_hour_rps: PositiveFloat | None
    """Mean of the busiest hour, wherever it begins (to a twelfth of an hour); None under an hour."""
    hours_of_day: tuple[float, ...] | None
    """Rate of each hour over the mean, UTC (from the trace's start where it has no dates); None under two days."""
    days_of_week: tuple[float, ...] | None
    """The same by day, Monday first (from the start's day without dates); None under two weeks."""


class Burstiness(Record):
    """How uneven arrivals are; 1 is what independent users make (Poisson), more is worse for queues."""

    gap_cv2: NonNegativeFloat
    """Squared coefficient of variation of the time between arrivals."""
    dispersion_10s: NonNegativeFloat
    """Variance over mean of the arrivals in 10 s."""
    peak_over_mean: PositiveFloat
    """Busiest window over the mean."""


class Lengths(Record):
    """Tokens of prompts or answers."""

    mean: PositiveFloat
    quantiles: tuple[tuple[float, int], ...]
    """(percent, tokens): within 6 % of the true one; the last is the longest."""

    def at(self, percent: float) -> int:
        """Smallest stated quantile at or above ``percent``."""
        return next(value for share, value in self.quantiles if share >= percent)


class Cell(Record):
    """Requests whose prompt and answer are about this long."""

    prompt_from: PositiveInt
    prompt_to: PositiveInt
    output_from: PositiveInt
    output_to: PositiveInt
    count: PositiveInt


class PrefixSharing(Record):
    """What of the prompts was text that an earlier prompt began with too."""

    block_tokens: PositiveInt
    shared_share: NonNegativeFloat
    """Of all prompt tokens, with a cache that forgets nothing: an upper bound."""
    first_block_groups: PositiveInt
    """Different beginnings, the most common 90 % of requests."""
    whole: bool
    """False if there were more blocks than memory was spent on; then the share is a lower bound of that upper bound."""


class TrafficProfile(Record):
    """Traffic of one tier or pool."""

    profile_version: Literal[1] = 1
    name: str
    provenance: Provenance
    rates: Rates
    burstiness: Burstiness | None
    prompts: Lengths | None
    outputs: Lengths | None
    mean_prompt_tokens: PositiveFloat
    mean_output_tokens: PositiveFloat
    joint: tuple[Cell, ...]
    """Prompt and answer together: long prompts with short answers stay what they are. Empty for rate series."""
    prefix: PrefixSharing | None
    unknown: tuple[str, ...]
    """What the trace could not tell, in words."""

    def to_json(self) -> str:
        return self.model_dump_json(indent=1) + "\n"


class UnreadableProfile(Exception):
    """A file is no traffic profile; the message says why."""


def read_profile(path: Path) -> TrafficProfile:
    """:raises UnreadableProfile: if the file is missing or no profile of a version that this release reads."""
    try:
        text = read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableProfile(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    try:
        return TrafficProfile.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise UnreadableProfile(
            f"{path} is no traffic profile: {where}: {first['msg']}; `inferfab traffic fit TRACE` makes one"
        ) from error


def digest_of(path: Path) -> str:
    """SHA-256 of a file, read in pieces."""
    found = hashlib.sha256()
    with path.open("rb") as stream:
        while piece := stream.read(1 << 20):
            found.update(piece)
    return found.hexdigest()
