"""The file that `preflight --out` wrote, for commands that plan."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inferfab.input_files import read_bytes

if TYPE_CHECKING:
    from inferfab.environment.loading import Loaded
    from inferfab.plan.observed import Observed

ObservedFile = Annotated[
    Path | None,
    typer.Option(
        "--observed",
        metavar="FILE",
        help="What `inferfab preflight ENV --out FILE` saw in the account: the plan is held against it.",
        show_default=False,
        dir_okay=False,
    ),
]


def observed_in(file: Path | None, loaded: "Loaded") -> "Observed | None":
    """What was seen; None without a file.

    :raises Refused: if the file is not one, or was seen in another account.
    """
    if file is None:
        return None
    from inferfab.cli.output import Refused
    from inferfab.plan.observed import UnreadableObserved, read_observed

    try:
        seen = read_observed(read_bytes(file))
    except OSError as error:
        raise Refused(f"{file}: {error.strerror or error}") from error
    except UnreadableObserved as error:
        raise Refused(f"{file}: {error}") from error
    account = loaded.environment.accounts.aws if loaded.environment else None
    if account and seen.account_id and seen.account_id != account.account_id:
        raise Refused(
            f"{file} was seen in account {seen.account_id}, and the environment lives in {account.account_id}: "
            "run `inferfab preflight` for this environment"
        )
    return seen
