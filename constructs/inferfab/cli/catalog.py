"""``inferfab catalog``"""

import json
from enum import StrEnum
from typing import Annotated

import typer


class Kind(StrEnum):
    models = "models"
    gpus = "gpus"
    aws = "aws"
    gcp = "gcp"
    racks = "racks"
    leaves = "leaves"


class CatalogFormat(StrEnum):
    text = "text"
    json = "json"


def catalog_command(
    kind: Annotated[
        Kind,
        typer.Argument(help="Models, GPUs, machine types, servers, switches.", show_default=False),
    ],
    format: Annotated[
        CatalogFormat, typer.Option("--format", "-f", help="For people or machines.")
    ] = CatalogFormat.text,
) -> None:
    """List what an environment can name: models, GPUs, machine types.

    Examples: `inferfab catalog models`, `inferfab catalog aws`
    """
    from inferfab.cli.output import deliver, rendered
    from inferfab.render.text.catalog_tables import entries, print_catalog

    if format is CatalogFormat.json:
        found = {name: record.model_dump(mode="json") for name, record in entries(kind.value).items()}
        deliver(json.dumps(found, indent=1, ensure_ascii=False), None)
    else:
        deliver(rendered(lambda c: print_catalog(c, kind.value)), None)


def register(app: typer.Typer) -> None:
    app.command("catalog")(catalog_command)
