"""One question to an account, and how its answer is kept."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from inferfab.plan.observed import ObservedReservation
from inferfab.preflight.reader import Denied, ReadFailed
from inferfab.preflight.report import Area, Row


@dataclass
class Seen:
    """What a question adds to the plan's observed part."""

    quotas: dict[str, float] = field(default_factory=dict)
    used: dict[str, float] = field(default_factory=dict)
    offered: dict[str, bool] = field(default_factory=dict)
    reservations: dict[str, ObservedReservation] = field(default_factory=dict)
    topology: dict[str, tuple[str, ...]] = field(default_factory=dict)


Ask = Callable[[Seen], Iterable[Row]]


@dataclass(frozen=True)
class Probe:
    """A question. ``what`` and ``needed`` are for the row that says that there was no answer."""

    area: Area
    where: str
    what: str
    needed: str
    ask: Ask
    do: str = ""
    """How a person finds out, where the call fails."""

    def run(self) -> tuple[list[Row], Seen]:
        """Rows, always at least one; a call that is refused makes the thing unknown, and names the permission."""
        seen = Seen()
        try:
            return list(self.ask(seen)), seen
        except Denied as error:
            do = f"allow {error.permission} (`inferfab preflight --policy`), or look yourself"
            return [self._unknown(str(error), f"{do}: {self.do}" if self.do else do)], seen
        except ReadFailed as error:
            return [self._unknown(str(error), self.do or "run it again, or look yourself")], seen

    def _unknown(self, found: str, do: str) -> Row:
        return Row(
            area=self.area, where=self.where, what=self.what, needed=self.needed, found=found, status="unknown", do=do
        )
