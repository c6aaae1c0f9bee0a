"""``inferfab init``"""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class StarterCloud(StrEnum):
    aws = "aws"
    gcp = "gcp"


def init_command(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the environment, for example `dev`.", show_default=False)
    ],
    cloud: Annotated[StarterCloud, typer.Option(help="Cloud of the first cell.")] = StarterCloud.aws,
    folder: Annotated[Path, typer.Option("--folder", help="Where to write it.", file_okay=False)] = Path(
        "environments"
    ),
    force: Annotated[bool, typer.Option("--force", help="Overwrite an environment of that name.")] = False,
) -> None:
    """Write a commented starter environment that passes `inferfab check`, and the schema beside it.

    Example: `inferfab init dev && inferfab check dev`
    """
    import json

    from inferfab.cli.output import Refused, write_whole
    from inferfab.environment.loading import load_text
    from inferfab.environment.schema import json_schema
    from inferfab.render.starter import starter

    text = starter(name, cloud.value)
    # A line break in the name breaks the whole file, so a finding about the file counts too.
    wrong = [f for f in load_text(text).findings if f.path in ((), ("name",))]
    if wrong:
        name_alone = load_text(f"name: {json.dumps(name)}\n").findings
        first = next((f for f in name_alone if f.path == ("name",)), wrong[0])
        raise typer.BadParameter(f"{first.what}; {first.fix}", param_hint="NAME")
    target = folder / f"{name}.yaml"
    if target.exists() and not force:
        raise Refused(f"{target} is there already; choose another name, or say --force to overwrite it")
    # The schema first: when the second write fails, init can simply be run again.
    write_whole(folder / "environment.schema.json", json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n")
    write_whole(target, text)
    typer.echo(
        f"wrote {target}\nNext: edit it, then `inferfab check {_shown(target, name)}` and `inferfab plan "
        f"{_shown(target, name)}`"
    )


def _shown(target: Path, name: str) -> str:
    return name if target.parent == Path("environments") else str(target)


def register(app: typer.Typer) -> None:
    app.command("init")(init_command)
