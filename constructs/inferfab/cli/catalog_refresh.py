"""``inferfab catalog refresh``"""

from datetime import date, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from inferfab.catalog.prices import Price
    from inferfab.refresh.sources import Fact


class RefreshFormat(StrEnum):
    text = "text"
    json = "json"


def refresh_command(
    files: Annotated[
        list[Path] | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="Read prices from here instead of AWS: a region's public price list (index.json of AmazonEC2), an "
            "answer of `aws pricing get-products`, or CSV. May be repeated.",
            show_default=False,
            dir_okay=False,
        ),
    ] = None,
    instances: Annotated[
        Path | None,
        typer.Option(
            "--instances",
            metavar="FILE",
            help="Read instance facts from here instead of AWS: an answer of `aws ec2 describe-instance-types`.",
            show_default=False,
            dir_okay=False,
        ),
    ] = None,
    region: Annotated[
        list[str] | None,
        typer.Option(
            "--region",
            help="AWS region to ask about every machine type. Default: what the catalog prices.",
            show_default=False,
        ),
    ] = None,
    spot: Annotated[bool, typer.Option("--spot", help="Ask AWS for spot prices of this moment, too.")] = False,
    env: Annotated[
        list[str] | None,
        typer.Option(
            "--env", help="Environment to plan with both. Default: all in `environments/`.", show_default=False
        ),
    ] = None,
    as_of: Annotated[
        datetime | None,
        typer.Option("--as-of", formats=["%Y-%m-%d"], help="Date of what is read. Default: today.", show_default=False),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            help="Folder of the catalog's data. Default: this installation's.",
            file_okay=False,
            show_default=False,
        ),
    ] = None,
    format: Annotated[RefreshFormat, typer.Option("--format", "-f", help="For people or machines.")] = (
        RefreshFormat.text
    ),
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write the diff here, too.", show_default=False, dir_okay=False),
    ] = None,
    write: Annotated[bool, typer.Option("--write", help="Write the catalog's files. Without it nothing is.")] = False,
) -> None:
    """Look for newer prices and instance facts, and show what they change in the catalog and in plans.

    Asks AWS's Price List and EC2, or reads files. Shows a dated diff; only `--write` changes the catalog's data files,
    which are meant to be reviewed and committed.

    Examples: `inferfab catalog refresh`, `inferfab catalog refresh --from index.json --env prod`,
    `inferfab catalog refresh --spot --write`
    """  # fmt: skip
    import json

    from inferfab.catalog.facts import DATA, BadFactFile, read_facts
    from inferfab.catalog.instances import InstanceFile
    from inferfab.catalog.prices import PriceFile
    from inferfab.cli.locate import locate
    from inferfab.cli.output import Refused, deliver, rendered, write_whole
    from inferfab.cli.preflight import today
    from inferfab.refresh.changes import compare, instance_text, price_text
    from inferfab.refresh.effect import effects
    from inferfab.refresh.sources import UnreadablePrices
    from inferfab.render.text.refresh import print_refresh

    folder, day = data or DATA, as_of.date() if as_of else today()
    price_path, machine_path = folder / "prices.json", folder / "aws_instances.json"
    named = [_there(locate(one)) for one in env] if env else sorted(Path("environments").glob("*.yaml"))
    if not folder.is_dir():
        raise Refused(f"--data {folder}: there is no such folder")
    try:
        before, machines = read_facts(price_path, PriceFile), read_facts(machine_path, InstanceFile)
    except BadFactFile as error:
        if data is None:
            raise
        raise Refused(f"--data {folder} is no folder of the catalog's data: {error}") from error
    types = tuple(m.name for m in machines.instances)
    # A region that is named is asked for every type; otherwise what the catalog prices is asked for again.
    priced = {(p.region, p.instance) for p in before.prices if p.cloud == "aws" and p.kind == "on_demand"}
    wanted = sorted({(r, t) for r in region for t in types} if region else priced)
    try:
        prices, facts, asked = _read(files or [], instances, wanted, types, day, spot=spot)
    except UnreadablePrices as error:
        raise Refused(str(error)) from error
    refresh, after, newer = compare(before, machines, prices, facts, asked=asked)
    costs, broken = effects(named, after)
    if write:
        write_whole(price_path, price_text(after), over_input=True)
        if newer != machines:
            write_whole(machine_path, instance_text(newer), over_input=True)
    if out is not None or format is RefreshFormat.text:
        text = rendered(lambda c: print_refresh(c, refresh, costs, broken, day, written=write), colour=False)
        if out is not None:
            write_whole(out, text)
    if format is RefreshFormat.json:
        body = {
            "as_of": day.isoformat(),
            "written": write,
            **refresh.model_dump(mode="json"),
            "environments": [cost.model_dump(mode="json") for cost in costs],
            "unplannable": broken,
        }
        deliver(json.dumps(body, indent=1, ensure_ascii=False), None)
    else:
        deliver(text, None)


def _there(file: Path) -> Path:
    """:raises Refused: if there is no such file: that is a name to mend, and no environment with errors."""
    from inferfab.cli.output import Refused

    if not file.is_file():
        raise Refused(f"{file}: there is no such file")
    return file


def _read(
    files: list[Path],
    instances: Path | None,
    wanted: list[tuple[str, str]],
    types: tuple[str, ...],
    day: date,
    *,
    spot: bool,
) -> "tuple[list[Price], list[Fact], set[tuple[str, str, str, str]]]":
    """Prices, facts, and which prices were looked for everywhere that they can be."""
    from inferfab.refresh import sources

    if files or instances is not None:
        if spot:
            raise typer.BadParameter("spot prices are asked of AWS; there is no list of them", param_hint="--spot")
        prices = [price for file in files for price in sources.prices_in(file, day)]
        return prices, sources.facts_in(instances) if instances is not None else [], set()
    from inferfab.cli.preflight import refusing
    from inferfab.preflight.aws import AwsReader

    with refusing():
        reader = AwsReader(sources.PRICE_LIST_REGION)
        prices = sources.live_prices(reader, wanted, day)
        facts = sources.live_facts(reader, types, sources.PRICE_LIST_REGION)
        asked = {("aws", region, instance, "on_demand") for region, instance in wanted}
        if spot:
            prices += sources.live_spot(reader, sorted({region for region, _ in wanted}), types, day)
            asked |= {("aws", region, instance, "spot") for region, instance in wanted}
    return prices, facts, asked


def register(app: typer.Typer) -> None:
    app.command("refresh")(refresh_command)
