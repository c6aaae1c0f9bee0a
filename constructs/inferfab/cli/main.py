"""``inferfab``: plan, check and compare LLM-inference fleets before a GPU is paid for."""

from typing import Annotated

import typer

from inferfab.cli import (
    autoscale,
    bootstrap,
    catalog,
    check,
    cost,
    destroy,
    diff,
    drift,
    explain,
    failures,
    images,
    import_,
    init,
    models,
    plan,
    preflight,
    profile,
    rehearse,
    render,
    retune,
    review,
    rollout,
    schema,
    simulate,
    size,
    synth,
    traffic,
    upgrade,
    verify,
)
from inferfab.cli.guard import guarded

app = typer.Typer(
    name="inferfab",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""Turn one typed environment file into a checked plan of an LLM-inference fleet.

    ENV is the name of a file in `environments/` (`prod`) or a path (`fleet/prod.yaml`).

    Start with `inferfab init NAME`, then `inferfab check NAME` and `inferfab plan NAME`.

    Exit codes: 0 fine, 1 an error in a file, 2 wrong usage; `inferfab review --help` has its own.""",
)

for module in (
    init,
    check,
    plan,
    diff,
    review,
    preflight,
    bootstrap,
    synth,
    verify,
    import_,
    upgrade,
    destroy,
    drift,
    render,
    images,
    retune,
    rehearse,
    traffic,
    profile,
    simulate,
    size,
    models,
    rollout,
    failures,
    autoscale,
    cost,
    explain,
    schema,
    catalog,
):
    module.register(app)


def _version(show: bool) -> None:
    if show:
        from importlib.metadata import version

        typer.echo(f"inferfab {version('inferfab')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options that stand before a command."""


def main() -> None:
    """Run the command line."""
    guarded(lambda: app(prog_name="inferfab"))
