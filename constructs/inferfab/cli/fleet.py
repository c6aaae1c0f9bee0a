"""From ENV to a plan, or to an exit with every finding printed."""

import sys
from pathlib import Path

import typer

from inferfab.checks.check import Checked, check
from inferfab.cli.locate import locate
from inferfab.cli.observed import observed_in
from inferfab.cli.output import Refused, for_encoding
from inferfab.environment.loading import Loaded, load
from inferfab.input_files import read_bytes
from inferfab.plan.fleet import FleetPlan, UnreadablePlan, read_plan


def sound_plan(env: str, observed: Path | None = None) -> FleetPlan:
    """The plan of an environment without errors; warnings are counted on stderr.

    :param observed: file of what `preflight` saw. Default: none.
    :raises typer.Exit: code 1 after printing the findings if there are errors.
    """
    loaded = load(locate(env))
    checked = check(loaded, observed_in(observed, loaded))
    _report(loaded, checked)
    assert checked.plan is not None
    return checked.plan


def plan_or_environment(env: str) -> FleetPlan:
    """A plan from a plan JSON or from an environment.

    :raises Refused: if a ``.json`` file is not a plan.
    """
    path = locate(env)
    if path.suffix != ".json":
        return sound_plan(env)
    try:
        return read_plan(_bytes(path))
    except UnreadablePlan as error:
        raise Refused(f"{path}: {error}") from error


def _bytes(path: Path) -> bytes:
    try:
        return read_bytes(path)
    except OSError as error:
        raise Refused(f"{path}: {error.strerror or error}") from error


def _report(loaded: Loaded, checked: Checked) -> None:
    from inferfab.render.text.findings import counted, findings_text, one_line

    if checked.ok:
        serious = [f for f in checked.findings if f.severity != "info"]
        if serious:
            file = one_line(loaded.source.file)
            typer.echo(f"{file}: {counted(serious)}; `inferfab check {file}` lists them", err=True)
        return
    text = findings_text(checked.findings, loaded.source.lines, colour=True, stderr=True)
    typer.echo(
        for_encoding(text, sys.stderr.encoding)
        + f"{one_line(loaded.source.file)}: {counted(checked.findings)}; there is no plan until the errors are mended",
        err=True,
    )
    raise typer.Exit(1)
