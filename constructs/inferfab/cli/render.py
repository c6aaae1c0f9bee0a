"""``inferfab render``"""

from pathlib import Path
from typing import Annotated

import typer

from inferfab.cli.arguments import Env


def render_command(
    env: Env,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the files.", file_okay=False)] = Path("rendered"),
) -> None:
    """Write every Kubernetes object that the cells run, a folder a cell, as files that `kubectl apply` takes.

    Terraform installs the same objects as Helm releases; `charts` in each folder holds their charts.

    Examples: `inferfab render prod`, `inferfab render prod --out build/prod`
    """
    from inferfab.cli.fleet import sound_plan
    from inferfab.cli.folder import deliver_folder
    from inferfab.cli.output import Refused, deliver, rendered
    from inferfab.render.release import ReleaseTooLargeError
    from inferfab.render.rendering import rendered_files
    from inferfab.render.text.rendered import print_rendered

    fleet = sound_plan(env)
    try:
        files = rendered_files(fleet)
    except ReleaseTooLargeError as error:
        raise Refused(str(error)) from error
    deliver_folder(files, out)
    deliver(rendered(lambda c: print_rendered(c, fleet, out, tuple(files))), None)


def register(app: typer.Typer) -> None:
    app.command("render")(render_command)
