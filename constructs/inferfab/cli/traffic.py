"""``inferfab traffic``"""

from pathlib import Path
from typing import Annotated

import typer

from inferfab.cli.arguments import Out

app = typer.Typer(no_args_is_help=True, help="Traffic profiles from traces.")


@app.command("fit")
def fit_command(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Trace: CSV or JSON lines, also .gz.", show_default=False)
    ],
    out: Out = None,
    name: Annotated[
        str | None, typer.Option("--name", help="Name of the profile. Default: the file's.", show_default=False)
    ] = None,
) -> None:
    """Fit a traffic profile to a trace: rates, lengths with their tail, burstiness, shared prefixes.

    Reads Azure LLM traces, Mooncake JSONL, BurstGPT CSV, rate series and CSV with the columns
    timestamp,prompt_tokens,output_tokens. A bad row is told with its line and skipped; more than 1 % bad is an error.

    Examples: `inferfab traffic fit trace.csv`, `inferfab traffic fit trace.csv --out environments/traffic/chat.json`
    """
    from inferfab.cli.output import Refused, deliver, rendered
    from inferfab.render.text.findings import printable
    from inferfab.render.text.traffic import print_profile
    from inferfab.traffic.fit import fit
    from inferfab.traffic.rows import UnusableTrace

    try:
        profile, trace = fit(file, name)
    except UnusableTrace as error:
        raise Refused(str(error)) from error
    for line in trace.shown:
        typer.echo(printable(line), err=True)
    if trace.bad > len(trace.shown):
        typer.echo(f"and {trace.bad - len(trace.shown):,} more bad rows", err=True)
    deliver(rendered(lambda c: print_profile(c, profile)), None)
    if out is not None:
        deliver(profile.to_json(), out)


def register(parent: typer.Typer) -> None:
    parent.add_typer(app, name="traffic")
