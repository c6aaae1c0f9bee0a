"""``inferfab size``"""

import sys
from enum import StrEnum
from typing import Annotated

import typer

from inferfab.cli.arguments import Env, Out
from inferfab.cli.simulate import ProfileFile, Scale, TraceFile


class SizeFormat(StrEnum):
    text = "text"
    json = "json"
    html = "html"


def size_command(
    env: Env,
    trace: TraceFile = None,
    traffic: ProfileFile = None,
    scale: Scale = 1.0,
    cell: Annotated[list[str] | None, typer.Option("--cell", "-c", help="Only this cell.", show_default=False)] = None,
    pool: Annotated[list[str] | None, typer.Option("--pool", "-p", help="Only this pool.", show_default=False)] = None,
    gpu: Annotated[
        list[str] | None,
        typer.Option("--gpu", help="Only machines with this GPU, also by roofline.", show_default=False),
    ] = None,
    utilization: Annotated[
        float, typer.Option("--utilization", help="At the peak, of what the promises allow.", min=0.3, max=1.0)
    ] = 0.75,
    spare: Annotated[
        int,
        typer.Option(
            "--spare",
            min=1,
            max=3,
            help="Nodes of a role that may be away at once in the worst hour: 1 for a loss or for maintenance, 2 for a "
            "loss during maintenance.",
        ),
    ] = 1,
    requests: Annotated[int, typer.Option("--requests", help="Of the busiest hour, in each run.", min=500)] = 8000,
    format: Annotated[SizeFormat, typer.Option("--format", "-f", help="For people, machines, or a browser.")] = (
        SizeFormat.text
    ),
    out: Out = None,
) -> None:
    """Find the cheapest fleet that keeps every promise in the worst hour, with a node to spare.

    Tries machine types, prefill and decode together or apart, their ratio, tensor parallelism (of each role), workers
    over several nodes and batch limits on Dynamo's own simulator (`make dynamo`), whole nodes at real prices. Shared
    pools are sized by nodes. Exit code 1 if a pool has none.

    Examples: `inferfab size prod --trace azure.csv --cell use1-a`, `inferfab size prod --traffic chat.json --scale 20
    --pool chat-priority --format html --out size.html`
    """
    from inferfab.cli.locate import locate
    from inferfab.cli.output import Refused, deliver, rendered
    from inferfab.cli.running import environment_folder, planned_for, refusing, told
    from inferfab.environment.loading import load
    from inferfab.extras import DYNAMO, python_of
    from inferfab.render.text.sizing import print_sizing
    from inferfab.sizing.size import size

    if locate(env).suffix == ".json":
        raise Refused("sizing plans the fleet anew: name an environment, not a plan")
    fleet = planned_for(env, tcp=False)
    environment = load(locate(env)).environment
    assert environment is not None
    known = {
        "--cell": (cell, [c.name for c in fleet.cells]),
        "--pool": (pool, list(dict.fromkeys(p.name for p in fleet.pools))),
        "--gpu": (gpu, _gpus()),
    }
    for flag, (asked, names) in known.items():
        for name in asked or ():
            if name not in names:
                raise typer.BadParameter(f"there is no `{name}`; one of: {', '.join(names)}", param_hint=flag)
    source = told(trace, traffic, scale)
    with refusing():
        found = size(
            environment, fleet, python_of(DYNAMO), folder=environment_folder(env), told=source,
            cells=tuple(cell or ()), pools=tuple(pool or ()), gpus=tuple(gpu or ()), utilization=utilization,
            spare=spare, requests=requests, progress=_progress,
        )  # fmt: skip
    if format is SizeFormat.json:
        deliver(found.model_dump_json(indent=1), out)
    elif format is SizeFormat.html:
        from inferfab.render.sizing_page import sizing_page

        deliver(sizing_page(found), out)
    else:
        deliver(rendered(lambda c: print_sizing(c, found), colour=out is None), out)
    if not found.complete or all(p.why for p in found.pools):
        raise typer.Exit(1)


def _gpus() -> list[str]:
    from inferfab.catalog.gpus import gpus

    return list(gpus())


def _progress(line: str) -> None:
    """On stderr, so that a report can be piped."""
    typer.echo(f"trying {line}", err=True) if sys.stderr.isatty() else None


def register(app: typer.Typer) -> None:
    app.command("size")(size_command)
