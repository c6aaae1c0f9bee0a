"""The steps of an upgrade."""

from inferfab.plan.quantities import Range
from inferfab.record import Record
from inferfab.upgrade.keeps import Keeps


class Step(Record):
    """One thing to do, by a person, and what it costs while it lasts."""

    where: str
    """Cell, or the environment."""
    title: str
    edit: str = ""
    """What to write in the environment file first."""
    commands: tuple[str, ...] = ()
    keeps: tuple[Keeps, ...] = ()
    """Tiers that lose something; the others lose nothing."""
    minutes: Range | None = None
    notes: tuple[str, ...] = ()


class Upgrade(Record):
    """All steps, or why there are none."""

    environment: str
    targets: tuple[str, ...]
    blocked: tuple[str, ...]
    """Reasons why it must not be begun."""
    changes: tuple[str, ...]
    """What differs between the plans before and after: `inferfab diff` of them."""
    new_graphs: tuple[str, ...]
    """Graphs that stand beside the old ones until these are drained."""
    steps: tuple[Step, ...]
    unproven: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return not self.blocked
