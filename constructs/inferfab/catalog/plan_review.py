"""What a reviewer has to know of Terraform plans: reasons in words, capacity lost, purchases, what a thing holds."""

from functools import cache

from inferfab.catalog.facts import DATA, FactFile, read_facts
from inferfab.record import Record


class Seconds(Record):
    """A duration between two bounds; ``high`` None where nothing bounds it."""

    low: float
    high: float | None


class CapacityLoss(Record):
    """How long the GPUs of a thing are away under one action."""

    seconds: Seconds | None
    """None: they do not come back."""
    basis: str


class PurchaseKind(Record):
    """A resource whose creation is a commitment to pay."""

    what: str
    on_delete: str
    irreversible: bool
    source: str


class RollsNodes(Record):
    """Attributes whose update in place replaces nodes."""

    attributes: tuple[str, ...]
    only_with: str = ""
    """Attribute without which running nodes stay as they are."""
    source: str


class PlanReviewFile(FactFile):
    action_reasons: dict[str, str]
    deferral_reasons: dict[str, str]
    capacity_loss: dict[str, CapacityLoss]
    purchases: dict[str, PurchaseKind]
    holds: dict[str, str]
    harmless: tuple[str, ...]
    rolls_nodes: dict[str, RollsNodes]


@cache
def plan_review_facts() -> PlanReviewFile:
    return read_facts(DATA / "plan_review.yaml", PlanReviewFile)
