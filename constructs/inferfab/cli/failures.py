"""``inferfab failures``"""

import json
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from inferfab.cli.arguments import Env, Out
from inferfab.cli.simulate import AsOf, ProfileFile, Scale, TraceFile

if TYPE_CHECKING:
    from rich.console import Console

    from inferfab.simulate.result import Simulation


class FailuresFormat(StrEnum):
    text = "text"
    json = "json"


def failures_command(
    env: Env,
    simulate: Annotated[
        bool, typer.Option("--simulate", help="Replay traffic through the loss of a node and of each cell.")
    ] = False,
    trace: TraceFile = None,
    traffic: ProfileFile = None,
    scale: Scale = 1.0,
    as_of: AsOf = None,
    format: Annotated[
        FailuresFormat, typer.Option("--format", "-f", help="For people or machines.")
    ] = FailuresFormat.text,
    out: Out = None,
) -> None:
    """Say what each loss does to each tier: capacity left, whether the load fits, seconds until it is back.

    GPU, node, leaf, cell, zone, region; what holds no GPU; and the arithmetic of availability, factor by factor. With
    --simulate promises are held against replayed traffic, too (needs Dynamo, `make dynamo`).

    Examples: `inferfab failures prod`, `inferfab failures prod --simulate --trace azure.csv`
    """
    from inferfab.cli.output import deliver, rendered
    from inferfab.cli.running import environment_folder, planned_for, refusing, told
    from inferfab.plan.losses import losses
    from inferfab.render.text.failures import print_failures, print_simulated

    source = told(trace, traffic, scale)
    if source is not None and not simulate:
        raise typer.BadParameter("traffic is only replayed with --simulate", param_hint="--simulate")
    fleet = planned_for(env, tcp=False)
    found = losses(fleet)
    runs: tuple[Simulation, ...] = ()
    if simulate:
        from inferfab.extras import DYNAMO, python_of
        from inferfab.simulate.losing import simulate_losses

        with refusing():
            runs = simulate_losses(
                fleet,
                python_of(DYNAMO),
                folder=environment_folder(env),
                told=source,
                as_of=(as_of or datetime.now(UTC)).date(),
            )
    if format is FailuresFormat.json:
        body = {
            "losses": [
                {
                    **loss.model_dump(mode="json"),
                    "tiers": [
                        {**t.model_dump(mode="json"), "fits": t.fits, "n_plus_one": t.n_plus_one} for t in loss.tiers
                    ],
                }
                for loss in found
            ],
            "availability": [a.model_dump(mode="json") for a in fleet.availability],
            "simulated": [run.model_dump(mode="json") for run in runs],
        }
        deliver(json.dumps(body, indent=1, ensure_ascii=False), out)
        return

    def draw(console: "Console") -> None:
        print_failures(console, fleet, found)
        if runs:
            print_simulated(console, runs)

    deliver(rendered(draw, colour=out is None), out)


def register(app: typer.Typer) -> None:
    app.command("failures")(failures_command)
