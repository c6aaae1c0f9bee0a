"""The workflow that carries a change from cell to cell, and the script that its steps run."""

from pathlib import PurePosixPath

from inferfab.catalog.actions import actions
from inferfab.plan.fleet import FleetPlan
from inferfab.plan.names import SERVING_NAMESPACE
from inferfab.plan.prometheus import prometheus_url
from inferfab.plan.rollout.plan import AROUND_MINUTES, READY_MINUTES, CellRollout, RolloutPlan
from inferfab.render.templates import render


class NotAWorkflow(Exception):
    """No workflow can be written for the environment; the message says why."""


def rollout_files(fleet: FleetPlan, rollout: RolloutPlan, *, file: str, runner: str) -> dict[str, str]:
    """Text by path below ``.github``.

    :param file: of the environment, from the top of the repository.
    :param runner: label of runners that reach the clusters.
    :raises NotAWorkflow: if the file is not below the repository's top.
    """
    path = PurePosixPath(file)
    if path.is_absolute() or ".." in path.parts or len(path.parts) < 2:
        raise NotAWorkflow(f"{file} is not in a folder below here; run this at the top of the repository")
    name = fleet.ownership.name
    accounts = fleet.ownership.accounts
    common = {"environment": name, "namespace": SERVING_NAMESPACE}
    workflow = render(
        "rollout/github.yml.j2",
        **common,
        file=file,
        script=f".github/rollout-{name}.sh",
        tag=f"serving/{name}",
        runner=runner,
        judge=rollout.judge,
        prometheus=prometheus_url(),
        actions=actions(),
        aws_role=f"arn:aws:iam::{accounts.aws.account_id}:role/{accounts.aws.deploy_role}" if accounts.aws else None,
        aws_region=fleet.aws_regions[0].region if fleet.aws_regions else "us-east-1",
        google_account=(
            f"{accounts.gcp.deploy_service_account}@{accounts.gcp.project}.iam.gserviceaccount.com"
            if accounts.gcp
            else None
        ),
        seconds=60 * max(_minutes(rollout, part) for part in rollout.cells),
        cells=[_cell(fleet, rollout, position) for position in range(len(rollout.cells))],
    )
    return {f"workflows/rollout-{name}.yml": workflow, f"rollout-{name}.sh": render("rollout/rollout.sh.j2", **common)}


def _minutes(rollout: RolloutPlan, part: CellRollout) -> int:
    """The longest that a cell may take."""
    # The last look may begin just before the deadline.
    return AROUND_MINUTES + READY_MINUTES + len(part.steps) * (rollout.judge.longest_minutes + 10)


def _cell(fleet: FleetPlan, rollout: RolloutPlan, position: int) -> dict[str, object]:
    part = rollout.cells[position]
    cell = next(c for c in fleet.cells if c.name == part.cell)
    names = [c.cell for c in rollout.cells]
    project = fleet.ownership.accounts.gcp.project if cell.cloud == "gcp" and fleet.ownership.accounts.gcp else None
    return {
        "cell": cell.name,
        # Job ids are letters, digits, dashes and underscores, as names of cells are.
        "job": f"cell-{cell.name}",
        "cloud": cell.cloud,
        "region": cell.region,
        "project": project,
        "cluster": cell.cluster,
        "steps": part.steps,
        "minutes": _minutes(rollout, part),
        # The last cell has only changed ones beside it, which were judged good.
        "baseline": names[position + 1 :] or names[:position],
    }
