"""``inferfab synth``"""

from pathlib import Path
from typing import Annotated

import typer

from inferfab.cli.arguments import Env


def synth_command(
    env: Env,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the Terraform JSON.", file_okay=False)] = Path(
        "cdktf.out"
    ),
) -> None:
    """Write the Terraform JSON of every stack, then say what is where.

    One folder holds one environment: `--out build/prod` and `--out build/dev` keep both.

    Examples: `inferfab synth prod`, `inferfab synth prod --out build/prod`
    """
    from inferfab.cli.fleet import sound_plan
    from inferfab.cli.output import Refused, deliver, rendered
    from inferfab.render.text.stacks import print_stacks
    from inferfab.synthesis import SynthesisError, environment_in, synthesize

    fleet = sound_plan(env)
    before = environment_in(out)
    try:
        files = synthesize(fleet, out)
    except SynthesisError as error:
        raise Refused(str(error)) from error
    deliver(rendered(lambda c: print_stacks(c, fleet, out, files, before)), None)


def register(app: typer.Typer) -> None:
    app.command("synth")(synth_command)
