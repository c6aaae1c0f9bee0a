"""JSON that command lines carry: keys that vLLM's flags and Dynamo's planner read."""

from functools import cache
from typing import Any

from inferfab.catalog.facts import DATA, FactFile, read_facts
from inferfab.record import Record


class JsonKey(Record):
    """One key of an object."""

    type: str = ""
    choices: tuple[Any, ...] | None = None
    constraints: dict[str, float] | None = None


class JsonFlagFile(FactFile):
    versions: dict[str, dict[str, dict[str, JsonKey]]]


@cache
def json_flags() -> dict[str, dict[str, dict[str, JsonKey]]]:
    """Keys by vLLM version and flag."""
    return read_facts(DATA / "vllm_json_flags.json", JsonFlagFile).versions


class PlannerKey(Record):
    """One key of the planner's configuration, in JSON Schema's words."""

    type: str = ""
    enum: tuple[str, ...] | None = None
    minimum: float | None = None
    maximum: float | None = None
    exclusiveMinimum: float | None = None  # noqa: N815 - JSON Schema's name
    default: Any = None


class PlannerFile(FactFile):
    dynamo: str
    aliases: tuple[str, ...]
    properties: dict[str, PlannerKey]


@cache
def planner_config(dynamo: str = "1.6.1") -> PlannerFile:
    """What the planner of a Dynamo release reads."""
    return read_facts(DATA / f"planner_config_{dynamo}.json", PlannerFile)
