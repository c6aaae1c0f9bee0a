"""The tiers of an environment with the defaults filled in."""

from pydantic import PositiveFloat, PositiveInt

from inferfab.environment.environment import Environment
from inferfab.environment.tiers import Metric, Promise, Spill, Tier, Workload
from inferfab.plan.traffic import TrafficPlan, plan_traffic
from inferfab.record import Record

_PRIORITY = Tier(
    promises=(
        Promise(metric="ttft", percentile=50.0, at_most_ms=200.0),
        Promise(metric="ttft", percentile=95.0, at_most_ms=500.0),
    ),
    availability_percent=99.9,
    workload=Workload(prompt_tokens=2000, output_tokens=300),
    spill="when_down",
)
_STANDARD = Tier(
    promises=(
        Promise(metric="ttft", percentile=95.0, at_most_ms=2000.0),
        Promise(metric="whole_answer", percentile=95.0, at_most_ms=5000.0, answers_up_to_tokens=128),
    ),
    availability_percent=99.5,
    workload=Workload(prompt_tokens=8000, output_tokens=500),
    spill="any",
)
_OTHER = Tier(promises=(), workload=Workload(prompt_tokens=4000, output_tokens=500), spill="any")
DEFAULT_TIERS = {"priority": _PRIORITY, "standard": _STANDARD, "batch": _OTHER}
"""The project's mission: chat, documents, and work that nobody waits for."""
_MOST_IMPORTANT = 900_000
_STEP = 1_000
"""Between neighbouring tiers, so that a team's own classes fit between; a file has far fewer than 900 tiers.
Kubernetes keeps what is above a billion for itself (PriorityClass API, HIGHEST_USER_DEFINABLE_PRIORITY)."""


class PromisePlan(Record):
    """One latency promise."""

    metric: Metric
    percentile: PositiveFloat
    at_most_ms: PositiveFloat
    answers_up_to_tokens: PositiveInt | None = None

    def __str__(self) -> str:
        words = {"ttft": "TTFT", "itl": "ITL", "whole_answer": "whole answer"}[self.metric]
        upto = f" (answers of up to {self.answers_up_to_tokens} tokens)" if self.answers_up_to_tokens else ""
        return f"{words} p{self.percentile:g} ≤ {self.at_most_ms:,.10g} ms{upto}"


class TierPlan(Record):
    """What is promised to one class of requests."""

    name: str
    rank: PositiveInt
    """1 is served first; the order in the file."""
    pod_priority: PositiveInt
    """Value of the tier's Kubernetes PriorityClass: a pod of a better rank may take the place of a worse one's."""
    promises: tuple[PromisePlan, ...]
    availability_target_percent: float | None
    workload: Workload
    spill: Spill
    traffic: TrafficPlan | None = None
    """What simulation and sizing replay; None: what they are told."""

    def strictest_ms(self, metric: Metric) -> float | None:
        """The lowest bound that the tier promises for a metric; None if it promises none."""
        return min((p.at_most_ms for p in self.promises if p.metric == metric), default=None)


def plan_tiers(environment: Environment) -> tuple[TierPlan, ...]:
    asked = environment.tiers if environment.tiers is not None else {name: Tier() for name in DEFAULT_TIERS}
    return tuple(_plan(name, tier, rank) for rank, (name, tier) in enumerate(asked.items(), start=1))


def _plan(name: str, asked: Tier, rank: int) -> TierPlan:
    default = DEFAULT_TIERS.get(name, _OTHER)
    promises = asked.promises if asked.promises is not None else default.promises
    target = asked.availability_percent if asked.availability_percent is not None else default.availability_percent
    workload, spill = asked.workload or default.workload, asked.spill or default.spill
    assert workload is not None
    assert spill is not None
    return TierPlan(
        name=name,
        rank=rank,
        pod_priority=_MOST_IMPORTANT - _STEP * rank,
        promises=tuple(PromisePlan.model_validate(p.model_dump()) for p in promises or ()),
        availability_target_percent=target,
        workload=workload,
        spill=spill,
        traffic=plan_traffic(asked.traffic),
    )
