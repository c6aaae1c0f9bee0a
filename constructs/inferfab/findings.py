"""What inferfab has to say about an input: one type for a bad file, a broken rule and a hint."""

from collections.abc import Iterable
from typing import Literal

from inferfab.record import Record

Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")

YamlPath = tuple[str | int, ...]
"""Keys and list positions from the top of the file: ``("pools", "chat", "prefill", "replicas")``."""


class Location(Record):
    """A place in a file. Lines and columns count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Finding(Record):
    """One problem, complete enough to act on without looking anything up."""

    rule: str
    """Stable id, ``IF-MEM-002``."""
    severity: Severity
    location: Location
    path: YamlPath = ()
    """Where in the environment file; empty when the finding is about the whole file."""
    value: str = ""
    """The offending value as the file or the plan has it."""
    what: str
    """What is wrong, with the numbers."""
    why: str
    """Why it matters."""
    fix: str
    """What to write instead."""
    lowered_from: Severity | None = None
    """The severity before the environment lowered it; None where it did not."""
    accepted: str = ""
    """The reason that the environment gives for lowering the rule, or for switching it off."""

    @property
    def dotted_path(self) -> str:
        return dotted(self.path)


def dotted(path: YamlPath) -> str:
    """``pools.chat.models[0]``; a key that holds a dot or a space is quoted."""
    out = ""
    for part in path:
        if isinstance(part, int):
            out += f"[{part}]"
        else:
            text = part if part.replace("-", "").replace("_", "").isalnum() else f'"{part}"'
            out += f".{text}" if out else text
    return out


def ranked(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Worst first, then in file order; equal findings once."""
    unique = dict.fromkeys(findings)
    return tuple(
        sorted(
            unique,
            key=lambda f: (
                SEVERITIES.index(f.severity),
                f.location.file,
                f.location.line,
                f.location.column,
                f.rule,
                f.what,
            ),
        )
    )


def has_errors(findings: Iterable[Finding]) -> bool:
    return any(f.severity == "error" for f in findings)
