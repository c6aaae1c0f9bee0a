"""``inferfab diff``"""

from enum import StrEnum
from typing import Annotated

import typer

from inferfab.cli.arguments import Out
from inferfab.cli.locate import complete_environment


class DiffFormat(StrEnum):
    text = "text"
    json = "json"


_HELP = "Environment (name or path) or plan JSON."


def diff_command(
    before: Annotated[
        str, typer.Argument(metavar="A", help=_HELP, autocompletion=complete_environment, show_default=False)
    ],
    after: Annotated[
        str, typer.Argument(metavar="B", help=_HELP, autocompletion=complete_environment, show_default=False)
    ],
    format: Annotated[DiffFormat, typer.Option("--format", "-f", help="For people or machines.")] = DiffFormat.text,
    out: Out = None,
) -> None:
    """Compare two fleets: GPUs, nodes, dollars, flags, promises.

    Examples: `inferfab diff staging prod`, `inferfab diff prod.plan.json prod`
    """
    from inferfab.cli.fleet import plan_or_environment
    from inferfab.cli.output import deliver, rendered
    from inferfab.plan.difference import difference

    found = difference(plan_or_environment(before), plan_or_environment(after))
    if format is DiffFormat.json:
        deliver(found.model_dump_json(indent=1), out)
    else:
        from inferfab.render.text.difference import print_difference

        deliver(rendered(lambda c: print_difference(c, found), colour=out is None), out)


def register(app: typer.Typer) -> None:
    app.command("diff")(diff_command)
