"""What one Terraform plan does: counts, GPUs, money, what it destroys, buys, opens, what drifted, what is unseen."""

from inferfab.record import Record
from inferfab.review.lines import Destruction, GpuLine, MoneyLine, Opening, PriceLine, Purchase, Unseen
from inferfab.review.span import Span


class GroupLine(Record):
    """One group of GPU nodes in a plan, before and after."""

    subject: str
    kind: str
    pool: str
    machines_before: str
    machines_after: str
    nodes_before: Span
    nodes_after: Span
    gpus_before: Span
    gpus_after: Span
    capacity_before: str
    capacity_after: str

    @property
    def changed(self) -> bool:
        return (self.machines_before, self.nodes_before, self.gpus_before, self.capacity_before) != (
            self.machines_after,
            self.nodes_after,
            self.gpus_after,
            self.capacity_after,
        )


class DriftLine(Record):
    """Something that was changed behind Terraform's back."""

    subject: str
    what: str
    changed: tuple[str, ...]
    more_changed: int = 0
    gpus_before: Span | None = None
    """As the last apply left it; None for a thing without GPUs."""
    gpus_after: Span | None = None


class UpdateLine(Record):
    """A resource that is created, updated, moved or imported. Attribute names, never values."""

    subject: str
    action: str
    changed: tuple[str, ...] = ()
    more_changed: int = 0
    moved_from: str = ""


class StackReview(Record):
    """The review of one plan."""

    name: str
    file: str
    problem: str = ""
    """Why the plan cannot be read; everything below is then empty."""
    incomplete: str = ""
    """Why the plan cannot be relied on although it was read."""
    terraform_version: str = ""
    format_version: str = ""
    planned_at: str = ""
    counts: dict[str, int] = {}
    gpus: tuple[GpuLine, ...] = ()
    groups: tuple[GroupLine, ...] = ()
    money: tuple[MoneyLine, ...] = ()
    prices: tuple[PriceLine, ...] = ()
    destroyed: tuple[Destruction, ...] = ()
    purchases: tuple[Purchase, ...] = ()
    opened: tuple[Opening, ...] = ()
    drift: tuple[DriftLine, ...] = ()
    updates: tuple[UpdateLine, ...] = ()
    outputs_changed: tuple[str, ...] = ()
    failed_checks: tuple[str, ...] = ()
    invocations: int = 0
    unseen: tuple[Unseen, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether applying it would do anything."""
        quiet = {"no-op", "read"}
        return (
            bool(self.problem or self.incomplete or self.drift or self.outputs_changed or self.invocations)
            or any(n for action, n in self.counts.items() if action not in quiet)
            or bool(self.unseen)
        )

    def cost(self, size: str) -> MoneyLine | None:
        return next((m for m in self.money if m.scope == "all" and m.size == size), None)
