"""``inferfab drift-workflow``"""

import re
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from inferfab.cli.arguments import Env, Out

_FIELDS = (("minutes", 0, 59), ("hours", 0, 23), ("days", 1, 31), ("months", 1, 12), ("weekdays", 0, 6))
"""As GitHub's `schedule` takes them (POSIX cron; Sunday is 0)."""
_PART = re.compile(r"(?:\*|(\d{1,2})(?:-(\d{1,2}))?)(?:/(\d{1,2}))?")


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

    if cron is not None and (wrong := _wrong(cron)):
        raise typer.BadParameter(f"{cron!r} is no schedule of five fields, like 17 3 * * *: {wrong}")
    if not re.fullmatch(r"[\w./-]+", env):
        raise typer.BadParameter(f"`{env}` cannot stand in a workflow's script as it is: letters, digits and . _ / -")
    if env.startswith("/") or ".." in Path(env).parts:
        raise Refused(f"{env} is not below here; run this at the top of the repository, and name the file from there")
    fleet = sound_plan(env)
    try:
        with tempfile.TemporaryDirectory() as scratch:
            stacks = [stack.name for stack in synthesize(fleet, Path(scratch) / "out")]
    except SynthesisError as error:
        raise Refused(str(error)) from error
    deliver(drift_workflow(fleet, env, stacks, cron=cron or NIGHTLY), out, ours=_ours)


def _wrong(cron: str) -> str:
    """What is wrong with a schedule; empty where nothing is."""
    words = cron.split(" ")
    if len(words) != len(_FIELDS):
        return f"{len(words)} fields"
    for word, (name, low, high) in zip(words, _FIELDS, strict=True):
        for part in word.split(","):
            found = _PART.fullmatch(part)
            if found is None:
                return f"{part!r} is no {name}"
            first, last, step = (int(text) if text is not None else None for text in found.groups())
            if any(value is not None and not low <= value <= high for value in (first, last)):
                return f"{name} are {low} to {high}"
            if step == 0 or (first is not None and last is not None and last < first):
                return f"{part!r} is never"
    return ""


def _ours(text: str) -> bool:
    return any("Written by `inferfab drift-workflow" in line for line in text.splitlines()[:3])


def register(app: typer.Typer) -> None:
    app.command("drift-workflow")(drift_command)
