"""``inferfab images``"""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from inferfab.cli.arguments import Env, Out


class ImagesFormat(StrEnum):
    text = "text"
    json = "json"


def images_command(
    env: Env,
    format: Annotated[ImagesFormat, typer.Option("--format", "-f", help="For people or machines.")] = ImagesFormat.text,
    out: Out = None,
    script: Annotated[
        Path | None,
        typer.Option(
            "--mirror-script",
            metavar="FILE",
            help="Write the shell script that copies all of it into `images.mirror`.",
            show_default=False,
        ),
    ] = None,
    namespaces: Annotated[
        Path | None,
        typer.Option(
            "--namespaces",
            metavar="FILE",
            help="Write the namespaces with pods of ours, for a pull secret that has to stand there first.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """List every image and chart that the fleet's clusters pull, by cell and why.

    It is read from the stacks themselves, so what they install is there.

    Examples: `inferfab images prod`, `inferfab images prod --mirror-script mirror.sh`,
    `inferfab images prod --namespaces namespaces.yaml`
    """
    from inferfab.cli.fleet import sound_plan
    from inferfab.cli.output import Refused, deliver, rendered, write_whole
    from inferfab.mirror.inventory import inventory
    from inferfab.mirror.namespaces import namespaces_text
    from inferfab.mirror.script import mirror_script
    from inferfab.render.mirrored_values import UnknownChart
    from inferfab.render.text.images import print_images
    from inferfab.synthesis import SynthesisError

    fleet = sound_plan(env)
    source = fleet.cells[0].images
    if script is not None and source.mirror is None:
        raise Refused(
            f"{fleet.ownership.name} has no mirror to fill: write `images: {{mirror: HOST/PATH}}` in the environment, "
            "a registry and a path in it"
        )
    try:
        found = inventory(fleet)
    except (SynthesisError, UnknownChart) as error:
        raise Refused(str(error)) from error
    if script is not None:
        write_whole(script, mirror_script(found, source))
        script.chmod(0o755)
        typer.echo(f"wrote {script}", err=True)
    if namespaces is not None:
        write_whole(namespaces, namespaces_text(found))
        typer.echo(f"wrote {namespaces}", err=True)
    if format is ImagesFormat.json:
        body = found.model_dump(mode="json", exclude={"charts": {"__all__": {"values"}}})
        body["images"] = [
            {**one, "reference": use.reference} for one, use in zip(body["images"], found.images, strict=True)
        ]
        deliver(json.dumps(body, indent=1), out)
    else:
        deliver(rendered(lambda c: print_images(c, found, source), colour=out is None), out)


def register(app: typer.Typer) -> None:
    app.command("images")(images_command)
