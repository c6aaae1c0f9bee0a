"""``inferfab plan``"""

from enum import StrEnum
from typing import Annotated

import typer

from inferfab.cli.arguments import Env, Out
from inferfab.cli.observed import ObservedFile


class PlanFormat(StrEnum):
    table = "table"
    json = "json"
    mermaid = "mermaid"
    svg = "svg"


def plan_command(
    env: Env,
    format: Annotated[
        PlanFormat, typer.Option("--format", "-f", help="Tables, JSON that reads back equal, or a picture.")
    ] = PlanFormat.table,
    out: Out = None,
    observed: ObservedFile = None,
    defaults: Annotated[
        bool, typer.Option("--defaults", help="Tables: list every field that the file left open.")
    ] = False,
) -> None:
    """Plan the fleet: every cell, pool, node group, NIC, flag, price and promise.

    Pure arithmetic: no cloud, no network. Exit code 1 if the file has an error; nothing is written then.

    Examples: `inferfab plan prod`, `inferfab plan prod --format json --out prod.plan.json`,
    `inferfab plan prod -f svg -o prod.svg`
    """
    from inferfab.cli.fleet import sound_plan
    from inferfab.cli.output import deliver, rendered

    fleet = sound_plan(env, observed)
    if format is PlanFormat.json:
        deliver(fleet.to_json(), out)
    elif format is PlanFormat.svg:
        from inferfab.render.picture import render_svg

        deliver(render_svg(fleet), out)
    elif format is PlanFormat.mermaid:
        from inferfab.render.picture import render_mermaid

        deliver(render_mermaid(fleet), out)
    else:
        from inferfab.render.text.plan_tables import print_plan

        deliver(rendered(lambda c: print_plan(c, fleet, defaults=defaults), colour=out is None), out)


def register(app: typer.Typer) -> None:
    app.command("plan")(plan_command)
