"""The workflow that plans every night and reviews the drift."""

from collections.abc import Sequence

from inferfab.plan.fleet import FleetPlan
from inferfab.render.templates import render

NIGHTLY = "17 3 * * *"
"""Not on the hour, when everybody's jobs start (GitHub: schedule events are delayed at the start of every hour)."""
TERRAFORM = "1.11.4"
"""The release that read our stacks in tests."""


def drift_workflow(fleet: FleetPlan, environment: str, stacks: Sequence[str], *, cron: str = NIGHTLY) -> str:
    """
    :param environment: as the commands name it: a name in ``environments/`` or a path.
    :param stacks: in the order in which they are applied.
    """
    return render(
        "workflow/drift.yml.j2",
        environment=environment,
        stacks=list(stacks),
        cron=cron,
        terraform=TERRAFORM,
        aws_region=fleet.aws_regions[0].region if fleet.aws_regions else None,
        google=any(cell.cloud == "gcp" for cell in fleet.cells),
    )
