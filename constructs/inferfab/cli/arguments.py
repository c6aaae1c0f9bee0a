"""Arguments that several commands take."""

from pathlib import Path
from typing import Annotated

import typer

from inferfab.cli.locate import complete_environment

Env = Annotated[
    str,
    typer.Argument(
        metavar="ENV",
        help="Name in `environments/`, or a path to a YAML file.",
        autocompletion=complete_environment,
        show_default=False,
    ),
]
Out = Annotated[
    Path | None, typer.Option("--out", "-o", help="Write here instead of printing.", show_default=False, dir_okay=False)
]
