"""GitHub actions of rendered workflows, pinned."""

from functools import cache
from typing import Annotated

from pydantic import Field

from inferfab.catalog.facts import DATA, FactFile, read_facts
from inferfab.record import Record


class Action(Record):
    """One action at the commit of a release."""

    repository: str
    version: str
    commit: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]

    @property
    def uses(self) -> str:
        """``uses:`` of a step, with the version as a comment."""
        return f"{self.repository}@{self.commit} # {self.version}"


class ActionsFile(FactFile):
    actions: dict[str, Action]


@cache
def actions() -> dict[str, Action]:
    """By a short name."""
    return read_facts(DATA / "actions.yaml", ActionsFile).actions
