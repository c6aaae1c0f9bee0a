"""``inferfab simulate``"""

from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from inferfab.cli.arguments import Env, Out


class SimulateFormat(StrEnum):
    text = "text"
    json = "json"


class Fabric(StrEnum):
    planned = "planned"
    tcp = "tcp"


TraceFile = Annotated[
    Path | None, typer.Option("--trace", help="Each pool gets this trace, its cell's share of it.", show_default=False)
]
ProfileFile = Annotated[
    Path | None, typer.Option("--traffic", help="The same from a traffic profile.", show_default=False)
]
Scale = Annotated[float, typer.Option("--scale", help="Times the rate of --trace or --traffic.", min=0.001)]
AsOf = Annotated[
    datetime | None,
    typer.Option("--as-of", formats=["%Y-%m-%d"], help="Day on which ages are judged. Default: today.",
                 show_default=False),
]  # fmt: skip


def simulate_command(
    env: Env,
    trace: TraceFile = None,
    traffic: ProfileFile = None,
    pool: Annotated[
        list[str] | None, typer.Option("--pool", "-p", help="Only this pool; may be repeated.", show_default=False)
    ] = None,
    scale: Scale = 1.0,
    fabric: Annotated[Fabric, typer.Option("--fabric", help="`tcp`: as if there were no RDMA.")] = Fabric.planned,
    lose: Annotated[
        str | None,
        typer.Option("--lose", help="`node`, `cell` (the largest) or `cell:NAME`.", show_default=False),
    ] = None,
    limits: Annotated[bool, typer.Option(help="Search the load at which the first promise breaks.")] = True,
    as_of: AsOf = None,
    format: Annotated[SimulateFormat, typer.Option("--format", "-f", help="For people or machines.")] = (
        SimulateFormat.text
    ),
    out: Out = None,
) -> None:
    """Replay traffic on Dynamo's own simulator, with the planned engines, caches, batches and KV bandwidth.

    Without --trace or --traffic: the profiles that the file names. Needs Dynamo (`make dynamo`). Exit code 1 if a
    promise is broken.

    Examples: `inferfab simulate prod --trace azure.csv`, `inferfab simulate prod --traffic chat.json --scale 3
    --fabric tcp`, `inferfab simulate prod --trace azure.csv --lose node`
    """
    import sys

    from inferfab.cli.output import deliver, rendered
    from inferfab.cli.running import environment_folder, planned_for, refusing, told
    from inferfab.extras import DYNAMO, python_of
    from inferfab.render.text.simulation import print_simulation
    from inferfab.simulate.simulate import simulate

    fleet = planned_for(env, tcp=fabric is Fabric.tcp)
    names = list(dict.fromkeys(p.name for p in fleet.pools))
    for name in pool or ():
        if name not in names:
            raise typer.BadParameter(f"there is no pool `{name}`; one of: {', '.join(names)}", param_hint="--pool")
    lost = _lost_cell(lose, {c.name: c.traffic_share for c in fleet.cells})
    words = ["as planned" if fabric is Fabric.planned else "KV transfer over TCP"]
    words += [f"cell {lost} lost"] if lost else ["a node lost"] if lose else []
    source = told(trace, traffic, scale)
    with refusing():
        found = simulate(
            fleet,
            python_of(DYNAMO),
            folder=environment_folder(env),
            told=source,
            as_of=(as_of or datetime.now(UTC)).date(),
            only=tuple(pool or ()),
            lose_node=lose == "node",
            lost_cell=lost,
            scenario=", ".join(words),
            find_knee=limits,
            progress=lambda line: typer.echo(f"simulating {line}", err=True) if sys.stderr.isatty() else None,
        )
    if format is SimulateFormat.json:
        deliver(found.model_dump_json(indent=1), out)
    else:
        deliver(rendered(lambda c: print_simulation(c, found), colour=out is None), out)
    if not found.kept or not any(p.status == "simulated" for p in found.pools):
        raise typer.Exit(1)


def _lost_cell(lose: str | None, shares: dict[str, float]) -> str | None:
    if lose in (None, "node"):
        return None
    if lose == "cell":
        return max(shares, key=lambda name: shares[name])
    assert lose is not None
    name = lose.removeprefix("cell:")
    if not lose.startswith("cell:") or name not in shares:
        raise typer.BadParameter(
            f"`{lose}`; one of: node, cell, {', '.join(f'cell:{n}' for n in shares)}", param_hint="--lose"
        )
    return name


def register(app: typer.Typer) -> None:
    app.command("simulate")(simulate_command)
