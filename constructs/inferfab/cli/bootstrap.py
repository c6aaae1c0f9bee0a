"""``inferfab bootstrap``"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inferfab.cli.arguments import Env

if TYPE_CHECKING:
    from inferfab.plan.fleet import Ownership


def bootstrap_command(
    env: Env,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Folder for the Terraform JSON. Default: `cdktf.out/bootstrap/<environment>`.",
            file_okay=False,
            show_default=False,
        ),
    ] = None,
    in_bucket: Annotated[
        bool, typer.Option("--in-bucket", help="The bucket is there: this stack's own state moves into it.")
    ] = False,
) -> None:
    """Write the small stack that makes the state bucket and its key, then say what to run.

    Once an environment, before everything else. Its own state begins in a file beside it and moves into the bucket.

    Examples: `inferfab bootstrap prod`, then `inferfab bootstrap prod --in-bucket`
    """
    from inferfab.cli.fleet import sound_plan
    from inferfab.cli.output import Refused, deliver
    from inferfab.render.text.bootstrap import bootstrap_text
    from inferfab.synthesis import BOOTSTRAP, SynthesisError, environment_in, synthesize_bootstrap

    fleet = sound_plan(env)
    _refuse_foreign_state(fleet.ownership)
    folder = out if out is not None else Path("cdktf.out", BOOTSTRAP, fleet.ownership.name)
    before = environment_in(folder)
    try:
        (stack,) = synthesize_bootstrap(fleet, folder, in_bucket=in_bucket)
    except SynthesisError as error:
        raise Refused(str(error)) from error
    from inferfab.aws.cluster_key import SERVICE_LINKED_ROLES
    from inferfab.aws.projection import launchers

    needed = dict.fromkeys(one for cell in fleet.cells if cell.cloud == "aws" for one in launchers(cell))
    again = ["inferfab", "bootstrap", env, *([] if out is None else ["--out", str(out)])]
    text = bootstrap_text(
        fleet.ownership,
        (folder / stack.path).parent,
        again,
        [SERVICE_LINKED_ROLES[one].partition("/")[0] for one in needed],
        in_bucket=in_bucket,
    )
    if before is not None and before != fleet.ownership.name:
        text += f"This replaced the stacks of {before} that were in {folder}.\n"
    deliver(text, None)


def _refuse_foreign_state(own: "Ownership") -> None:
    from inferfab.cli.output import Refused

    if own.accounts.aws is None or own.state is None:
        raise Refused(
            f"{own.name} has no state bucket to make: state lives in S3, and the environment has no AWS cell "
            "with an account in `accounts.aws`"
        )
    if not own.state.made_by_bootstrap:
        ours = f"inferfab-state-{own.accounts.aws.account_id}-{own.name}"
        raise Refused(
            f"{own.name} keeps its state in {own.state.bucket}, which `state.bucket` names: somebody else's bucket, so "
            f"there is nothing to make, and every stack uses it as it is. Leave `state` out, or name {ours} there, "
            "and bootstrap makes that one"
        )


def register(app: typer.Typer) -> None:
    app.command("bootstrap")(bootstrap_command)
