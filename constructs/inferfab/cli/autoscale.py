"""``inferfab autoscale``"""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from inferfab.cli.arguments import Env, Out

app = typer.Typer(no_args_is_help=True, help="How pools follow demand.")


class BacktestFormat(StrEnum):
    text = "text"
    json = "json"
    html = "html"


@app.command("backtest")
def backtest_command(
    env: Env,
    traffic: Annotated[
        Path,
        typer.Option("--traffic", "-t", help="Rate series or trace: CSV or JSON lines, also .gz.", show_default=False),
    ],
    scale: Annotated[
        float | None,
        typer.Option("--scale", help="Multiply its rates. Default: 1.", min=1e-6, max=1e6, show_default=False),
    ] = None,
    fit: Annotated[
        bool,
        typer.Option("--fit", help="Scale it so that its first half's peak takes each pool's largest fleet."),
    ] = False,
    cell: Annotated[list[str] | None, typer.Option("--cell", "-c", help="Only this cell.", show_default=False)] = None,
    pool: Annotated[list[str] | None, typer.Option("--pool", "-p", help="Only this pool.", show_default=False)] = None,
    most_broken: Annotated[
        float,
        typer.Option("--most-broken", help="Percent of windows that the tuned forecast may break.", min=0, max=50),
    ] = 1.0,
    format: Annotated[
        BacktestFormat, typer.Option("--format", "-f", help="For people, machines, or a browser.")
    ] = BacktestFormat.text,
    out: Out = None,
) -> None:
    """Try the forecast of each pool on a real series, beside other ways of scaling.

    The same arithmetic as the recording rules, at the resolution of the series (single requests by the minute). What
    is chosen is chosen on its first half; promise-breaking minutes, GPU-hours, pinball loss and coverage are of the
    second. Beside it stand a static peak, KEDA on present demand, a constant factor, and a clairvoyant lower bound.

    Examples: `inferfab autoscale backtest prod --traffic rates.csv --pool documents`, `inferfab autoscale backtest
    prod --traffic week.csv.gz --fit --format html --out backtest.html`
    """
    from inferfab.autoscale.backtest import TooShortSeries
    from inferfab.autoscale.trial import try_fleet
    from inferfab.cli.fleet import plan_or_environment
    from inferfab.cli.output import Refused, deliver, rendered
    from inferfab.cli.running import refusing
    from inferfab.render.text.backtest import print_backtest

    if fit and scale is not None:
        raise typer.BadParameter("give one of --scale and --fit", param_hint="--fit")
    fleet = plan_or_environment(env)
    known = {
        "--cell": (cell, [c.name for c in fleet.cells]),
        "--pool": (pool, list(dict.fromkeys(p.name for p in fleet.pools))),
    }
    for flag, (asked, names) in known.items():
        for name in asked or ():
            if name not in names:
                raise typer.BadParameter(f"there is no `{name}`; one of: {', '.join(names)}", param_hint=flag)
    with refusing():
        try:
            found = try_fleet(
                fleet,
                traffic,
                scale=None if fit else scale or 1.0,
                cells=tuple(cell or ()),
                pools=tuple(pool or ()),
                most_broken_percent=most_broken,
            )
        except TooShortSeries as error:
            raise Refused(str(error)) from error
    if format is BacktestFormat.json:
        deliver(found.model_dump_json(indent=1), out)
    elif format is BacktestFormat.html:
        from inferfab.render.backtest_page import backtest_page

        deliver(backtest_page(found), out)
    else:
        deliver(rendered(lambda c: print_backtest(c, found), colour=out is None), out)
    if not found.pools:
        raise typer.Exit(1)


def register(parent: typer.Typer) -> None:
    parent.add_typer(app, name="autoscale")
