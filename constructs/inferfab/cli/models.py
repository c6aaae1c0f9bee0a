"""``inferfab models`` and ``inferfab checksum``"""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from inferfab.cli.arguments import Env, Out


class ModelsFormat(StrEnum):
    text = "text"
    json = "json"


def models_command(
    env: Env,
    format: Annotated[ModelsFormat, typer.Option("--format", "-f", help="For people or machines.")] = ModelsFormat.text,
    out: Out = None,
) -> None:
    """List the models that an environment pins: revision, licence, evaluations, where they lie, who serves them.

    Examples: `inferfab models prod`, `inferfab models prod --format json`
    """
    from inferfab.cli.fleet import plan_or_environment
    from inferfab.cli.output import deliver, rendered
    from inferfab.plan.registry import registered_models
    from inferfab.render.text.registry import print_registry

    fleet = plan_or_environment(env)
    found = registered_models(fleet)
    if format is ModelsFormat.json:
        body = [{**one.model_dump(mode="json"), "standing": one.standing} for one in found]
        deliver(json.dumps(body, indent=1, ensure_ascii=False), out)
    else:
        deliver(rendered(lambda c: print_registry(c, fleet.ownership.name, found), colour=out is None), out)


def checksum_command(
    folder: Annotated[
        Path, typer.Argument(help="Folder with one model, as it was downloaded.", file_okay=False, show_default=False)
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Write nothing, only print the digest.")] = False,
) -> None:
    """Write a model's manifest (SHA-256 of every file) into its folder, and print the manifest's own SHA-256.

    Put the digest into `models.<name>.manifest_sha256`, and the folder with its manifest into the model store: nodes
    then take these very files and nothing else.

    Example: `inferfab checksum qwen3-8b`
    """
    from inferfab.cli.output import Refused, deliver, refuse_foreign, write_whole
    from inferfab.model_manifest import MANIFEST, UnusableFolder, digest_of, is_manifest, manifest_of

    if not dry_run:
        refuse_foreign(folder / MANIFEST, is_manifest)
    try:
        text = manifest_of(folder)
    except UnusableFolder as error:
        raise Refused(str(error)) from error
    if not dry_run:
        write_whole(folder / MANIFEST, text, ours=is_manifest)
    deliver(digest_of(text), None)


def register(app: typer.Typer) -> None:
    app.command("models")(models_command)
    app.command("checksum")(checksum_command)
