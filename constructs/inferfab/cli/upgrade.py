"""``inferfab upgrade``"""

from enum import StrEnum
from typing import Annotated

import typer

from inferfab.cli.arguments import Env, Out
from inferfab.input_files import read_text


class UpgradeFormat(StrEnum):
    text = "text"
    json = "json"


upgrade_app = typer.Typer(
    name="upgrade", no_args_is_help=True, help="Plan upgrades of clusters, nodes, charts and engines."
)


@upgrade_app.command("plan")
def upgrade_plan_command(
    env: Env,
    to: Annotated[
        list[str],
        typer.Option(
            "--to",
            metavar="TARGET",
            help="kubernetes=1.37, ami=1.36.2-20261120, dynamo=1.7.0, chart:NAME=VERSION or generation:POOL; several "
            "come one after the other.",
            show_default=False,
        ),
    ],
    format: Annotated[
        UpgradeFormat, typer.Option("--format", "-f", help="For people or machines.")
    ] = UpgradeFormat.text,
    out: Out = None,
) -> None:
    """Say what an upgrade changes, in which order, with which commands, and what each tier keeps meanwhile.

    It takes no step itself. Exit code 1 if the upgrade must not be begun.

    Examples: `inferfab upgrade plan prod --to ami=1.36.2-20261120`, `inferfab upgrade plan prod --to generation:chat`
    """
    from inferfab.cli.fleet import sound_plan
    from inferfab.cli.locate import locate
    from inferfab.cli.output import Refused, deliver
    from inferfab.render.text.upgrade import upgrade_text
    from inferfab.synthesis import SynthesisError
    from inferfab.upgrade.target import BadTarget, target_of
    from inferfab.upgrade.upgrade import upgrade

    try:
        targets = tuple(target_of(text) for text in to)
    except BadTarget as error:
        raise typer.BadParameter(str(error)) from error
    fleet = sound_plan(env)
    try:
        found = upgrade(read_text(locate(env)), fleet, targets)
    except SynthesisError as error:
        raise Refused(str(error)) from error
    deliver(found.model_dump_json(indent=1) if format is UpgradeFormat.json else upgrade_text(found), out)
    if not found.ok:
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    app.add_typer(upgrade_app)
