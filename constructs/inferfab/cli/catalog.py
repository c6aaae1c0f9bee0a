"""``inferfab catalog``"""

import json
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated

import typer

from inferfab.cli import catalog_refresh

_WHAT = {
    "models": "Models, with their checkpoints and licences.",
    "gpus": "GPUs.",
    "aws": "Machine types of AWS.",
    "gcp": "Machine types of Google Cloud.",
    "racks": "Servers for owned racks.",
    "leaves": "Switches for owned racks.",
}


class CatalogFormat(StrEnum):
    text = "text"
    json = "json"


def list_kind(kind: str, format: CatalogFormat) -> None:
    """Print one part of the catalog."""
    from inferfab.cli.output import deliver, rendered
    from inferfab.render.text.catalog_tables import entries, print_catalog

    if format is CatalogFormat.json:
        found = {name: record.model_dump(mode="json") for name, record in entries(kind).items()}
        deliver(json.dumps(found, indent=1, ensure_ascii=False), None)
    else:
        deliver(rendered(lambda c: print_catalog(c, kind)), None)


def _listing(kind: str) -> Callable[[CatalogFormat], None]:
    def command(
        format: Annotated[
            CatalogFormat, typer.Option("--format", "-f", help="For people or machines.")
        ] = CatalogFormat.text,
    ) -> None:
        list_kind(kind, format)

    command.__doc__ = _WHAT[kind]
    return command


def register(app: typer.Typer) -> None:
    catalog = typer.Typer(
        no_args_is_help=True,
        rich_markup_mode="markdown",
        help="""List what an environment can name: models, GPUs, machine types; or look for newer prices and facts.

        Examples: `inferfab catalog models`, `inferfab catalog aws`, `inferfab catalog refresh`""",
    )
    for kind in _WHAT:
        catalog.command(kind)(_listing(kind))
    catalog_refresh.register(catalog)
    app.add_typer(catalog, name="catalog")
