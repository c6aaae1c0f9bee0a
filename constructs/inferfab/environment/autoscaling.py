"""How pools that have room to scale follow demand."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from inferfab.environment.base import Input, PositiveCount, Share, contradiction

Mode = Literal["planner", "keda"]
AdvisoryPlanner = Literal["none", "advisory"]
Quantile = Annotated[float, Field(ge=0.5, le=0.999)]
WindowHours = Annotated[int, Field(ge=6, le=168)]
HeadroomFactor = Annotated[float, Field(ge=1, le=3)]
Provisioning = Annotated[int, Field(ge=30, le=7200)]
Horizon = Annotated[int, Field(ge=60, le=14_400)]
ScaleInMinutes = Annotated[int, Field(ge=5, le=60)]


class Autoscaling(Input):
    """Defaults of all pools that scale. Quantile, window and headroom come from a back-test on real arrivals
    (docs/autoscaling.md).
    """

    mode: Mode = "planner"
    """Who owns the number of workers. `planner`: Dynamo's planner, from load and promises, and the forecast keeps nodes
    warm. `keda`: KEDA, from the largest of forecast, queue, latency and unusual demand. Never both. Default: planner.
    """
    planner: AdvisoryPlanner = "none"
    """With `mode: keda`, whether Dynamo's planner runs beside it and only says what it would do. Default: none."""
    quantile: Quantile = 0.95
    """Share of the time in which demand, one horizon later, is to be at or below the forecast. Default: 0.95."""
    window_hours: WindowHours = 72
    """Trailing window of relative changes of demand, in hours. Default: 72."""
    headroom: HeadroomFactor = 1.35
    """Constant factor over present demand, used while the forecast has not been better. Default: 1.35."""
    provisioning_seconds: Provisioning | None = None
    """From asking for a worker to its first answer, node included, where it was measured. Default: from one measured
    cold start, with the weights of the pool's model in place of that one's.
    """
    horizon_seconds: Horizon | None = None
    """How far ahead demand is forecast. Default: provisioning, the ten minutes over which a rate is taken, and two in
    which rules, KEDA and the autoscaler notice.
    """
    placeholders: bool | None = None
    """Pods of no importance that hold room for the workers that the forecast asks for, so that nodes come early. They
    cost what those nodes cost. Default: for tiers with a promise, on capacity that is paid by use.
    """
    latency_share: Share = 0.8
    """With `mode: keda`: workers are added from this share of the promised p95 on. Default: 0.8."""
    queue_per_worker: PositiveCount | None = None
    """With `mode: keda`: waiting requests for which one more worker is added. Default: what a worker serves within the
    tier's strictest TTFT promise, or in a minute without one.
    """
    scale_in_minutes: ScaleInMinutes = 30
    """Workers go only when none was needed for so long. Default: 30 minutes, twice a cold start."""

    @model_validator(mode="after")
    def _one_owner(self) -> "Autoscaling":
        _only_keda(self.mode, self.planner)
        return self


class PoolScaling(Input):
    """What differs in one pool. Default of every field: what `autoscaling` says."""

    mode: Mode | None = None
    """Who owns the number of workers."""
    planner: AdvisoryPlanner | None = None
    """Whether Dynamo's planner advises beside KEDA."""
    quantile: Quantile | None = None
    """Share of the time in which demand is to be at or below the forecast."""
    window_hours: WindowHours | None = None
    """Trailing window of relative changes, in hours."""
    headroom: HeadroomFactor | None = None
    """Constant factor over present demand."""
    provisioning_seconds: Provisioning | None = None
    """Measured time from asking for a worker to its first answer."""
    horizon_seconds: Horizon | None = None
    """How far ahead demand is forecast."""
    placeholders: bool | None = None
    """Pods of no importance that hold room."""
    latency_share: Share | None = None
    """Share of the promised p95 from which workers are added."""
    queue_per_worker: PositiveCount | None = None
    """Waiting requests for which one more worker is added."""
    scale_in_minutes: ScaleInMinutes | None = None
    """How long a worker must not have been needed."""

    @model_validator(mode="after")
    def _one_owner(self) -> "PoolScaling":
        if self.mode is not None and self.planner is not None:
            _only_keda(self.mode, self.planner)
        return self

    def over(self, defaults: Autoscaling) -> Autoscaling:
        """The environment's, with this pool's laid over."""
        stated = {name: value for name, value in self if value is not None}
        if stated.get("mode") == "planner":
            # What the environment asks for beside KEDA means nothing here.
            stated["planner"] = "none"
        return defaults.model_copy(update=stated)


def scaling_of(stated: PoolScaling | None, defaults: Autoscaling) -> Autoscaling:
    """What holds for a pool that says ``stated``, or nothing."""
    return stated.over(defaults) if stated else defaults


def _only_keda(mode: Mode, planner: AdvisoryPlanner) -> None:
    if mode == "planner" and planner == "advisory":
        raise contradiction(
            "with `mode: planner` Dynamo's planner owns the workers, so it cannot only advise",
            "remove `planner: advisory`, or write `mode: keda`",
        )
