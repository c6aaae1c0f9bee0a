"""``inferfab schema``"""

import json

import typer

from inferfab.cli.arguments import Out


def schema_command(out: Out = None) -> None:
    """Print the JSON Schema of the environment file, so that editors complete and check it.

    The first line of an environment file names it: `# yaml-language-server: $schema=environment.schema.json`

    Example: `inferfab schema --out environments/environment.schema.json`
    """
    from inferfab.cli.output import deliver
    from inferfab.environment.schema import json_schema

    deliver(json.dumps(json_schema(), indent=1, ensure_ascii=False), out)


def register(app: typer.Typer) -> None:
    app.command("schema")(schema_command)
