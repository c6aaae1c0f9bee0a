"""What preflight found, one row a thing."""

from datetime import date
from typing import Literal

from inferfab.plan.observed import Observed
from inferfab.record import Record

Status = Literal["ok", "missing", "unknown"]
Area = Literal[
    "account", "quota", "offering", "reservation", "locality", "kubernetes", "image", "permission", "role", "dns",
    "state", "model", "secret", "licence", "network", "google",
]  # fmt: skip


class Row(Record):
    """One thing that the fleet needs."""

    area: Area
    where: str
    """Region, cell or account."""
    what: str
    needed: str
    found: str
    status: Status
    do: str = ""
    """The exact command or step; empty where nothing is to do."""


class Report(Record):
    """All rows, and what was seen beside them."""

    environment: str
    account_id: str | None
    rows: tuple[Row, ...]
    observed: Observed

    @property
    def as_of(self) -> date:
        return self.observed.as_of

    def count(self, status: Status) -> int:
        return sum(row.status == status for row in self.rows)

    @property
    def blind(self) -> bool:
        """Whose account it is was told, and nothing else could be looked at.

        Google is never asked, and a machine that tells no place needs no question.
        """
        asked = [row.status for row in self.rows if row.area not in ("account", "google", "locality")]
        return bool(asked) and set(asked) == {"unknown"}

    @property
    def ok(self) -> bool:
        """Nothing is known to be missing, and something is known."""
        return not self.count("missing") and not self.blind
