"""``inferfab rehearse``"""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from inferfab.cli.arguments import Env, Out


class RehearseFormat(StrEnum):
    text = "text"
    json = "json"


def rehearse_command(
    env: Env,
    cell: Annotated[
        str | None, typer.Option("--cell", "-c", help="One cell. Default: all, one after another.", show_default=False)
    ] = None,
    format: Annotated[
        RehearseFormat, typer.Option("--format", "-f", help="For people or machines.")
    ] = RehearseFormat.text,
    out: Out = None,
    logs: Annotated[
        Path | None,
        typer.Option("--logs", help="Keep the logs of all processes here.", file_okay=False, show_default=False),
    ] = None,
) -> None:
    """Run what `inferfab render` writes with real Dynamo processes and mock engines on this machine.

    No GPU, no cluster. It sends streaming chats of every tier, looks where they went, kills one of each two processes
    that serve a pool, and ends everything. Needs Dynamo (`make dynamo`). Exit code 1 if anything is not as planned.

    Examples: `inferfab rehearse prod`, `inferfab rehearse prod --cell use1-a --logs build/logs`
    """
    from inferfab.cli.fleet import sound_plan
    from inferfab.cli.output import Refused, deliver, rendered
    from inferfab.environment.problems import meant
    from inferfab.extras import DYNAMO, ExtraMissing, python_of
    from inferfab.rehearse.cast import Unrehearsable
    from inferfab.rehearse.rehearse import rehearse
    from inferfab.render.text.rehearsal import print_rehearsals

    fleet = sound_plan(env)
    names = [c.name for c in fleet.cells]
    if cell is not None and cell not in names:
        raise typer.BadParameter(
            f"{fleet.ownership.name} has no cell `{cell}`; {meant(cell, names)}", param_hint="CELL"
        )
    try:
        python = python_of(DYNAMO)
        found = [rehearse(fleet, c, python, keep=logs) for c in fleet.cells if cell in (None, c.name)]
    except (ExtraMissing, Unrehearsable) as error:
        raise Refused(str(error)) from error
    except KeyboardInterrupt:
        typer.echo("inferfab: interrupted; every process is ended", err=True)
        raise typer.Exit(130) from None
    if format is RehearseFormat.json:
        body = [{**one.model_dump(mode="json"), "ok": one.ok} for one in found]
        deliver(json.dumps(body, indent=1, ensure_ascii=False), out)
    else:
        deliver(rendered(lambda c: print_rehearsals(c, found), colour=out is None), out)
    if not all(one.ok for one in found):
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    app.command("rehearse")(rehearse_command)
