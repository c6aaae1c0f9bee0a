"""Both fleets of an environment."""

from dataclasses import dataclass

from inferfab.plan.fleet import FleetPlan


@dataclass(frozen=True)
class Pictured:
    """For formats that draw them, and for what a plan of a stack is held against; None where there is none."""

    environment: str
    before: FleetPlan | None
    after: FleetPlan | None
