"""How long the GPUs of a thing are away under an action."""

from inferfab.catalog.plan_review import plan_review_facts
from inferfab.plan.quantities import Range
from inferfab.record import Record
from inferfab.review.lines import Action


class Loss(Record):
    """Seconds without the capacity, and where the figure comes from."""

    seconds_without: Range | None
    basis: str


def capacity_loss(action: Action) -> Loss:
    """From ``catalog/data/plan_review.yaml``: a floor from one measured cold start, without an upper bound."""
    fact = plan_review_facts().capacity_loss[action]
    seconds = fact.seconds
    return Loss(
        seconds_without=None if seconds is None else Range(low=seconds.low, high=seconds.high), basis=fact.basis
    )
