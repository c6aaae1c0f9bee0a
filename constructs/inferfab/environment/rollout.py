"""How a change of what serves reaches the cells."""

from typing import Annotated

from pydantic import Field, model_validator

from inferfab.environment.base import Input, Items, Name, contradiction

Minutes = Annotated[int, Field(ge=1, le=10_080)]


class Rollout(Input):
    """Cell by cell, and by share where DNS can move a share; judged before each step. `inferfab rollout` writes the
    workflow that does it.
    """

    order: Items[Name] = ()
    """Cells in the order in which they change. Default: the cell with the least traffic first."""
    share_percent_steps: Annotated[Items[Annotated[int, Field(ge=1, le=100)]], Field(max_length=10)] = (10, 50, 100)
    """Steps by which a changed cell takes its traffic back, in percent of its `traffic_share`; rising, the last is 100.
    Only where another cell can take the rest: one of its region, or any with `policy: weighted`. Default: 10, 50, 100.
    """
    judge_minutes: Minutes = 30
    """Time that a step must serve before it is judged; the judgement looks at this much. Default: 30 minutes."""
    longest_minutes: Minutes = 180
    """When a step that is not decided by then is backed out. Default: 180 minutes."""
    least_requests: Annotated[int, Field(ge=50, le=10_000_000)] = 500
    """With fewer requests of a model in the window nothing is judged, and the step waits. Default: 500."""
    confidence_percent: Annotated[float, Field(ge=80, le=99.99)] = 95.0
    """Confidence of each step's judgement over all that it looks at together. Default: 95 %."""
    slower_percent: Annotated[float, Field(ge=0.01, le=50)] = 2.0
    """Of requests: so many more than in the other cells may be slower than what all but one in twenty are faster than
    there; for the first token and between tokens. Default: 2 % of requests.
    """
    failed_percent: Annotated[float, Field(ge=0.01, le=50)] = 0.5
    """Of requests: so many more than in the other cells may fail. Default: 0.5 % of requests."""

    @model_validator(mode="after")
    def _sound(self) -> "Rollout":
        steps = self.share_percent_steps
        if not steps or list(steps) != sorted(set(steps)) or steps[-1] != 100:
            raise contradiction(
                "`share_percent_steps` rise to 100, or the cell never gets its traffic back", "write [10, 50, 100]"
            )
        if self.longest_minutes < self.judge_minutes:
            raise contradiction(
                f"a step is given up after {self.longest_minutes} min, before its {self.judge_minutes} min of "
                "judgement are over",
                "raise `longest_minutes`, or lower `judge_minutes`",
            )
        return self
