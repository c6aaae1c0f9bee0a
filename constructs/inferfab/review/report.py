"""The whole answer to a pull request. Frozen, JSON out; every format renders this and decides nothing."""

from typing import Literal

from inferfab.record import Record
from inferfab.review.findings import FindingsReview
from inferfab.review.fleet import FleetReview
from inferfab.review.stack import StackReview

REVIEW_VERSION = 1
Word = Literal["BLOCK", "REVIEW", "OK"]


class Reason(Record):
    """One reason for a verdict, worst first."""

    word: Word
    exit_code: Literal[0, 2, 3, 4]
    what: str


class Verdict(Record):
    """BLOCK: must not be merged as it is. REVIEW: somebody has to look. OK: nothing to look at."""

    word: Word
    exit_code: Literal[0, 2, 3, 4]
    """2 plan invalid or incomplete, 3 budget or policy breached, 4 destructive or irreversible without its label; the
    smallest that applies."""
    why: str
    reasons: tuple[Reason, ...]
    labels: tuple[str, ...] = ()
    """Override labels that were given and count."""


class Report(Record):
    """A review."""

    review_version: int = REVIEW_VERSION
    verdict: Verdict
    fleets: tuple[FleetReview, ...]
    """One for each environment that was asked for."""
    stacks: tuple[StackReview, ...]
    """One for each Terraform plan."""
    scanner: FindingsReview | None
    """checkov's findings; None where no run was given."""
    scanner_problem: str = ""
    """Why a checkov run does not count: it read nothing, or not everything."""
    revision: str = ""
    """What was reviewed, as the caller names it (a commit)."""
