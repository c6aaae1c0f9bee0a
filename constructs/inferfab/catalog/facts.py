"""Reading one fact file: YAML where people keep it by hand, JSON where a tool writes it.

Every file opens with its provenance. A file that does not match its type is refused whole, with all
of its problems at once, because a half-right table of facts produces a wholly wrong plan.
"""

import json
from datetime import date
from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import ValidationError

from inferfab.input_files import read_text
from inferfab.record import Record

DATA = Path(__file__).parent / "data"


class Provenance(Record):
    """Where the facts of a file come from."""

    source: str
    """Repository and path at a commit, document page, or paper. Rows may name a source of their own."""
    retrieved: date
    """The day on which the facts were read."""
    note: str = ""


class FactFile(Record):
    """What every fact file has in common."""

    provenance: Provenance


class BadFactFile(Exception):
    """A data file of the catalog does not hold what its type promises.

    This is our mistake (or an edited installation), never the user's environment file.
    """

    def __init__(self, path: Path, problems: list[str]) -> None:
        self.path = path
        self.problems = problems
        super().__init__(f"{path.name}: {len(problems)} problem(s)\n" + "\n".join(f"  {p}" for p in problems))


F = TypeVar("F", bound=FactFile)


def read_facts(path: Path, kind: type[F]) -> F:
    """Read and validate one fact file.

    :raises BadFactFile: if the file is missing, is not YAML/JSON, or does not match ``kind``.
    """
    try:
        text = read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise BadFactFile(path, [f"cannot be read: {getattr(error, 'strerror', None) or error}"]) from error
    try:
        if path.suffix == ".json":
            raw = json.loads(text)
        else:
            raw = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (ValueError, yaml.YAMLError) as error:
        raise BadFactFile(path, [f"does not parse: {error}"]) from error
    try:
        return kind.model_validate(raw)
    except ValidationError as error:
        problems = [
            f"{'.'.join(str(part) for part in e['loc']) or '(file)'}: {e['msg']} (got {e['input']!r:.80})"
            for e in error.errors()
        ]
        raise BadFactFile(path, problems) from error
