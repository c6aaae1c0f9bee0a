"""Engine pairs (a Dynamo version and the vLLM version it pins) and their flag lists."""

import json
import operator
from collections.abc import Callable
from functools import cache
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from inferfab.catalog.facts import DATA, BadFactFile, FactFile, read_facts
from inferfab.record import Record


class EnginePair(Record):
    """One Dynamo release with what it pins."""

    dynamo: str
    vllm: str
    nixl: str
    cuda: str
    minimum_driver: str
    image: str
    """Runtime image repository without tag."""
    efa_tag_suffix: str
    """Appended to the version to name the image that holds the EFA userland."""
    frontend_image: str
    planner_image: str
    """Planner and routers; like ``image`` without tag."""
    default_block_tokens: int
    variant: str = ""
    """Folder under ``templates/dynamo`` whose templates take the place of those of the same name, where a release
    changed the syntax; empty for none."""
    source: str


class EnginePairFile(FactFile):
    pairs: tuple[EnginePair, ...]


_BOUNDS: dict[str, tuple[Callable[[float, float], bool], str]] = {
    "gt": (operator.gt, "more than"), "ge": (operator.ge, "at least"),
    "lt": (operator.lt, "less than"), "le": (operator.le, "at most"),
}  # fmt: skip


class Flag(BaseModel):
    """One command-line flag as the released package declares it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    flags: tuple[str, ...] = Field(min_length=1)
    """Every spelling; a positional argument (``model_tag``) has its bare name."""
    group: str = ""
    type: str = "str"
    optional: bool = False
    default: Any = None
    choices: tuple[Any, ...] | str | None = None
    """A list, or the expression by which the engine computes it at start; then any value may be right."""
    choices_open: bool = False
    negatable: bool = False
    action: str | None = None
    nargs: str | int | None = None
    constraints: dict[str, float] | None = None
    """Bounds of a number: ``gt``, ``ge``, ``lt``, ``le``."""
    deprecated: bool | str | None = None

    @property
    def servers(self) -> bool:
        """``vllm serve`` has it and an engine alone does not: its HTTP server's, or of the command itself."""
        return self.group == "Frontend" or bool({"--api-server-count", "--grpc", "model_tag"} & set(self.flags))

    @property
    def takes_json(self) -> bool:
        """The value is one JSON object: a dictionary, or one of the engine's configuration classes."""
        first = self.type.split("|", maxsplit=1)[0]
        mapping = first.startswith("dict") or (first.endswith("Config") and first.isalnum())
        return mapping and self.action is None and self.choices is None and self.nargs is None

    def outside(self, value: float) -> str:
        """The bound that a number breaks, in words; empty if it keeps all."""
        for name, limit in (self.constraints or {}).items():
            keeps, words = _BOUNDS[name]
            if not keeps(value, limit):
                return f"{words} {limit:g}"
        return ""

    @field_validator("constraints")
    @classmethod
    def _known_bounds(cls, value: dict[str, float] | None) -> dict[str, float] | None:
        unknown = set(value or {}) - set(_BOUNDS)
        if unknown:
            raise ValueError(f"unknown bounds: {', '.join(sorted(unknown))}")
        return value

    @model_validator(mode="after")
    def _spelled_as_one_word(self) -> "Flag":
        for spelling in self.flags:
            if not spelling or spelling.split() != [spelling]:
                raise ValueError(f"{spelling!r} is neither a flag nor a positional argument")
        return self


@cache
def engine_pairs() -> dict[str, EnginePair]:
    """All pairs by Dynamo version."""
    found = read_facts(DATA / "engine_pairs.yaml", EnginePairFile).pairs
    return {pair.dynamo: pair for pair in found}


@cache
def vllm_flags(version: str) -> dict[str, Flag]:
    """Flags of one vLLM version by every spelling (``--tensor-parallel-size`` and ``-tp``).

    :raises BadFactFile: if no list of that version is in the catalog, or the list is broken.
    """
    path = DATA / f"vllm_flags_{version}.json"
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        if raw["version"] != version:
            raise ValueError(f"version: the list is of {raw['version']!r}")
        declared = [Flag.model_validate(flag) for flag in raw["flags"].values()]
        if len(declared) != raw["count"]:
            raise ValueError(f"count: {raw['count']} flags announced, {len(declared)} listed")
        found: dict[str, Flag] = {}
        for flag in declared:
            for spelling in flag.flags:
                if spelling in found:
                    raise ValueError(f"{spelling}: spelled by two flags")
                found[spelling] = flag
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadFactFile(path, [f"missing {error}" if isinstance(error, KeyError) else str(error)]) from error
    return found


@cache
def vllm_versions() -> tuple[str, ...]:
    """Versions whose flag list is in the catalog, oldest first."""
    names = [path.stem.removeprefix("vllm_flags_") for path in DATA.glob("vllm_flags_*.json")]
    return tuple(sorted(names, key=lambda name: tuple(int(part) for part in name.split("."))))


Program = Literal["dynamo.frontend", "dynamo.vllm"]
_TABLES: dict[str, tuple[str, ...]] = {
    "dynamo.frontend": ("dynamo.frontend",),
    "dynamo.vllm": ("dynamo.vllm wrapper", "dynamo.runtime(common worker flags)"),
}


class DynamoFlag(BaseModel):
    """One flag of a Dynamo program."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    aliases: tuple[str, ...] = ()
    type: str
    choices: tuple[Any, ...] | None = None
    default: Any = None
    nargs: str | int | None = None
    env: str | None = None
    deprecated_remove_in: str | None = None
    """Release that no longer has it."""


@cache
def dynamo_flags(version: str, program: Program) -> dict[str, Flag]:
    """Flags of one Dynamo program by every spelling, in the shape of vLLM's.

    :raises BadFactFile: if no list of that version is in the catalog, or the list is broken.
    """
    path = DATA / f"dynamo_flags_{version}.json"
    found: dict[str, Flag] = {}
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        for table in _TABLES[program]:
            for name, entry in raw[table].items():
                flag = DynamoFlag.model_validate(entry)
                switch = flag.type in ("bool", "flag")
                positive = [s for s in (name, *flag.aliases) if not s.startswith("--no-")]
                one = Flag(
                    flags=tuple(positive or (name,)),
                    group="dynamo",
                    type="bool" if switch else flag.type,
                    default=flag.default,
                    choices=flag.choices,
                    negatable=any(alias.startswith("--no-") for alias in flag.aliases),
                    action="store_true" if flag.type == "flag" else None,
                    nargs=None if switch else flag.nargs,
                    deprecated=flag.deprecated_remove_in,
                )
                found |= dict.fromkeys(one.flags, one)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadFactFile(path, [f"missing {error}" if isinstance(error, KeyError) else str(error)]) from error
    return found


def worker_flags(vllm: str, dynamo: str) -> dict[str, Flag]:
    """Flags of ``dynamo.vllm`` by every spelling: its own, and those that it hands to vLLM's ``AsyncEngineArgs``
    (dynamo/vllm/args.py); none of vLLM's HTTP server, which does not run.
    """
    engine = {spelling: flag for spelling, flag in vllm_flags(vllm).items() if not flag.servers}
    return {**engine, **dynamo_flags(dynamo, "dynamo.vllm")}
