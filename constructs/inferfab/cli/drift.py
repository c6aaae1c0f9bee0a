"""``inferfab drift-workflow``"""

import re
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from inferfab.cli.arguments import Env, Out

_CRON = re.compile(r"[\d*,/-]+( [\d*,/-]+){4}")


def drift_command(
    env: Env,
    cron: Annotated[
        str | None, typer.Option("--cron", help="When, UTC. Default: every night at 03:17.", show_default=False)
    ] = None,
    out: Out = None,
) -> None:
    """Write the GitHub workflow that plans each stack every night and reviews what is not as planned.

    Example: `inferfab drift-workflow prod --out .github/workflows/drift-prod.yml`
    """
    from inferfab.cli.fleet import sound_plan
    from inferfab.cli.output import Refused, deliver
    from inferfab.render.drift import NIGHTLY, drift_workflow
    from inferfab.synthesis import SynthesisError, synthesize

    if cron is not None and not _CRON.fullmatch(cron):
        raise typer.BadParameter(f"`{cron}` is no schedule of five fields, like 17 3 * * *")
    if not re.fullmatch(r"[\w./-]+", env):
        raise typer.BadParameter(f"`{env}` cannot stand in a workflow's script as it is: letters, digits and . _ / -")
    fleet = sound_plan(env)
    try:
        with tempfile.TemporaryDirectory() as scratch:
            stacks = [stack.name for stack in synthesize(fleet, Path(scratch) / "out")]
    except SynthesisError as error:
        raise Refused(str(error)) from error
    deliver(drift_workflow(fleet, env, stacks, cron=cron or NIGHTLY), out, ours=_ours)


def _ours(text: str) -> bool:
    return any("Written by `inferfab drift-workflow" in line for line in text.splitlines()[:3])


def register(app: typer.Typer) -> None:
    app.command("drift-workflow")(drift_command)
