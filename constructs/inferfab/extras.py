"""Heavy programs in virtual environments of their own: each is named by a variable, or stands in the checkout.

Nothing of ours imports them. What needs one runs its python, and says how to set it up where it is not there.
"""

import os
import shutil
from pathlib import Path

from inferfab.record import Record


class Extra(Record):
    """One of them."""

    name: str
    variable: str
    folder: str
    target: str
    """Of make, which sets it up."""
    for_: str
    """What cannot be done without it."""


DYNAMO = Extra(
    name="Dynamo",
    variable="DYNAMO_PYTHON",
    folder=".venv-dynamo",
    target="dynamo",
    for_="simulate, size and rehearse run Dynamo's own simulator and processes",
)
AICONFIGURATOR = Extra(
    name="aiconfigurator",
    variable="AICONFIGURATOR_PYTHON",
    folder=".venv-aiconfigurator",
    target="aiconfigurator",
    for_="new performance profiles come from its kernel measurements (shipped ones need nothing)",
)


class ExtraMissing(Exception):
    """An extra is not there; the message says what to run."""


def python_of(extra: Extra) -> str:
    """Path of the python that has it.

    :raises ExtraMissing: if it is neither named nor in the checkout.
    """
    named = os.environ.get(extra.variable)
    if named:
        found = shutil.which(named)
        if found is None:
            raise ExtraMissing(f"{extra.variable}={named} is not a program that can run")
        return found
    for folder in (Path.cwd(), *Path.cwd().parents, Path(__file__).resolve().parents[2]):
        own = folder / extra.folder / "bin" / "python"
        if own.is_file():
            return str(own)
    raise ExtraMissing(
        f"{extra.name} is not here: {extra.for_}. Run `make {extra.target}` in a checkout of inferfab, or set "
        f"{extra.variable} to the python that has it"
    )
