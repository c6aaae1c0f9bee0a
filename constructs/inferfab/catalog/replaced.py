"""Flags and connectors that guides still show and engines no longer have, with what took their place."""

from functools import cache
from typing import Literal

from inferfab.catalog.facts import DATA, FactFile, read_facts
from inferfab.record import Record


class ReplacedFlag(Record):
    """One flag."""

    program: Literal["vllm", "dynamo.vllm", "dynamo.frontend"]
    flag: str
    gone: bool = False
    """No release of the catalog has it."""
    removed_in: str | None = None
    """Deprecated: the release without it."""
    refused: bool = False
    """It is still declared, and the program ends when it is given."""
    ignored: bool = False
    """It is taken and does nothing."""
    instead: str
    source: str

    @property
    def advice(self) -> str:
        """What to do about it, in words."""
        nothing, colon, why = self.instead.partition(":")
        return f"remove it{f' ({why.strip()})' if colon else ''}" if nothing == "nothing" else f"use {self.instead}"


class ReplacedConnector(Record):
    """One connector of vLLM."""

    name: str
    removed_in: str
    instead: str
    source: str


class ReplacedFile(FactFile):
    flags: tuple[ReplacedFlag, ...]
    connectors: tuple[ReplacedConnector, ...]


@cache
def _file() -> ReplacedFile:
    return read_facts(DATA / "replaced_flags.yaml", ReplacedFile)


@cache
def replaced_flags() -> dict[tuple[str, str], ReplacedFlag]:
    """By (program, flag). ``dynamo.vllm`` hands vLLM's flags on, so it has lost the same."""
    found: dict[tuple[str, str], ReplacedFlag] = {}
    for row in _file().flags:
        if row.program == "vllm":
            found.setdefault(("dynamo.vllm", row.flag), row)
        found[row.program, row.flag] = row
    return found


@cache
def replaced_connectors() -> dict[str, ReplacedConnector]:
    return {c.name: c for c in _file().connectors}
