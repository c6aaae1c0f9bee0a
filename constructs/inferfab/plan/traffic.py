"""Traffic of a tier or pool: which profile, and how much of it."""

from pydantic import PositiveFloat

from inferfab.environment.traffic import Traffic
from inferfab.record import Record


class TrafficPlan(Record):
    """A profile's place, relative to the environment file: a plan holds no copy of it."""

    profile: str
    scale: PositiveFloat


def plan_traffic(asked: Traffic | None) -> TrafficPlan | None:
    return TrafficPlan(profile=asked.profile, scale=asked.scale) if asked else None
