"""``inferfab cost``"""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from inferfab.cli.arguments import Env, Out
from inferfab.input_files import read_bytes


class CostFormat(StrEnum):
    table = "table"
    csv = "csv"
    json = "json"


def cost_command(
    env: Env,
    prometheus: Annotated[
        list[str] | None,
        typer.Option("--prometheus", help="Address of a cell's Prometheus, or of a store of all; may be repeated."),
    ] = None,
    answer: Annotated[
        list[Path] | None,
        typer.Option("--answer", help="A kept answer of query_range instead.", exists=True, dir_okay=False),
    ] = None,
    days: Annotated[int, typer.Option("--days", help="Whole days (UTC).", min=1, max=400)] = 14,
    until: Annotated[
        str | None, typer.Option("--until", help="The day after the last one, 2026-11-30. Default: today.")
    ] = None,
    format: Annotated[CostFormat, typer.Option("--format", "-f", help="For people, sheets, or machines.")] = (
        CostFormat.table
    ),
    out: Out = None,
) -> None:
    """Say what a million tokens really cost, by day, for pools, tiers and models; idle nodes included.

    Reads what the cells recorded by the plan's prices. Both definitions: over answer tokens, and over all tokens.

    Examples: `inferfab cost prod --prometheus http://127.0.0.1:9090`, `inferfab cost prod --answer answer.json
    --until 2026-11-30 --format csv --out cost.csv`
    """
    from datetime import UTC, date, datetime

    from inferfab.cli.fleet import plan_or_environment
    from inferfab.cli.output import Refused, deliver, rendered
    from inferfab.prometheus_http import BadAddress, NoAnswer, address_of
    from inferfab.render.text.token_costs import costs_csv, print_costs
    from inferfab.token_costs.prometheus import AnswerFile, PrometheusServer, Source
    from inferfab.token_costs.report import cost_report

    if not prometheus and not answer:
        raise typer.BadParameter("name a Prometheus, or a kept answer with --answer", param_hint="--prometheus")
    for url in prometheus or ():
        try:
            address_of(url)
        except BadAddress as error:
            raise typer.BadParameter(
                f"no address like http://127.0.0.1:9090: {error}", param_hint="--prometheus"
            ) from None
    try:
        end = date.fromisoformat(until) if until else datetime.now(UTC).date()
    except ValueError as error:
        raise typer.BadParameter(f"`{until}` is no day like 2026-11-30", param_hint="--until") from error
    fleet = plan_or_environment(env)
    try:
        sources: list[Source] = [
            *(PrometheusServer(url) for url in prometheus or ()),
            *(AnswerFile(str(path), read_bytes(path)) for path in answer or ()),
        ]
        report = cost_report(fleet, sources, end, days)
    except OSError as error:
        raise Refused(f"{error.filename}: {error.strerror or error}") from error
    except NoAnswer as error:
        raise Refused(str(error)) from error
    if not report.days:
        asked = ", ".join(s.name for s in sources)
        raise Refused(
            f"{asked}: no cost of a pool of this environment before {end} is recorded; the observability release "
            "records it once a pool has a price, from a day after its installation"
        )
    if format is CostFormat.csv:
        deliver(costs_csv(report), out)
    elif format is CostFormat.json:
        deliver(report.model_dump_json(indent=1), out)
    else:
        deliver(rendered(lambda c: print_costs(c, report), colour=out is None), out)


def register(app: typer.Typer) -> None:
    app.command("cost")(cost_command)
