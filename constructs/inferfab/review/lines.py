"""Rows of a review: one thing before and after. Amounts are of GPU nodes; dollars are list prices or the team's own."""

import math
from typing import Literal

from inferfab.plan.cost import Money
from inferfab.plan.quantities import Range
from inferfab.record import Record
from inferfab.review.span import Span

Axis = Literal["all", "type", "tier", "role", "region", "capacity"]


class GpuLine(Record):
    """GPUs of one name on one axis: ``type h200``, ``tier priority``."""

    axis: Axis
    name: str
    before: Span
    after: Span

    @property
    def changed(self) -> bool:
        return self.before != self.after


class MoneyLine(Record):
    """Cost of GPU nodes; ``scope`` is ``all`` or a tier, ``size`` says at which size of the pools."""

    scope: str
    size: Literal["desired", "max"]
    before: Money
    after: Money

    @property
    def changed(self) -> bool:
        return self.before != self.after


class TokenLine(Record):
    """A pool's dollars per million tokens in both definitions; None where the pool is not there or not computable."""

    cell: str
    pool: str
    tier: str
    output_before: Range | None
    """USD per million output tokens: all cost over answer tokens alone, at the planned utilization."""
    output_after: Range | None
    total_before: Range | None
    """USD per million tokens, prompt and output together."""
    total_after: Range | None

    @property
    def changed(self) -> bool:
        """To a millionth: cost and load that grow alike leave a rounding error."""
        return not (_near(self.output_before, self.output_after) and _near(self.total_before, self.total_after))


def _near(a: Range | None, b: Range | None) -> bool:
    if a is None or b is None or a.high is None or b.high is None:
        return a == b
    return math.isclose(a.low, b.low, rel_tol=1e-6) and math.isclose(a.high, b.high, rel_tol=1e-6)


class ServedLine(Record):
    """Requests a second that a pool's desired workers serve within the plan, at the planned utilization."""

    cell: str
    pool: str
    tier: str
    before: Range | None
    after: Range | None

    @property
    def changed(self) -> bool:
        return self.before != self.after


class PriceLine(Record):
    """Where a price comes from; ``how`` names source and date, or why it is a range."""

    instance: str
    region: str
    kind: str
    usd_per_hour: Range
    basis: str
    how: str


class Unseen(Record):
    """Something that the review could not see or compute: listed, never guessed."""

    subject: str
    what: str


Action = Literal["delete", "replace", "replace, create first", "forget", "roll nodes", "shrink"]
BLOCKING: tuple[Action, ...] = ("delete", "replace", "replace, create first")
"""What Terraform destroys. Rolling, shrinking and forgetting are shown and need no label."""
Basis = Literal["terraform plan", "environment"]


class Destruction(Record):
    """Something that goes away, or whose nodes do."""

    subject: str
    """Address in the plan, or ``cell/node group`` of an environment."""
    stack: str
    basis: Basis
    action: Action
    reason: str
    because_of: tuple[str, ...] = ()
    """Attributes that force it (``replace_paths``), as paths."""
    gpus_lost: Span
    """GPUs that the thing holds before."""
    seconds_without: Range | None
    """How long that capacity is away; None when it does not come back. Zero where it holds no GPU."""
    seconds_basis: str
    keeps_data: str = ""
    """What is lost with it besides capacity; empty for a thing that holds nothing."""
    harmless: bool = False
    """Holds no data, capacity or connectivity: listed, but it needs no override."""

    @property
    def blocks(self) -> bool:
        return self.action in BLOCKING and not self.harmless


class Purchase(Record):
    """A commitment to pay that no later plan takes back, or one whose end this plan only forgets."""

    subject: str
    stack: str
    action: Literal["buy", "give back", "forget", "replace"]
    irreversible: bool
    what: str
    gpus: Span
    upfront_usd: float | None
    """Cash at once; None where the plan does not say it."""
    source: str


class Opening(Record):
    """Network, IAM or protection that is wider, or less, after the change than before."""

    subject: str
    stack: str
    kind: Literal["network", "iam", "protection"]
    what: str


class EngineChange(Record):
    """One decided value of a pool's engine, its promises or its size: what the engine sees, not YAML."""

    pool: str
    section: str
    what: str
    before: str | None
    after: str | None
