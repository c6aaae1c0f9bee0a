"""What a review takes from a plan's configuration: which resource refers to which, and regions of providers.

Nothing else of it is kept. Constants in it are the file's own text, secrets that somebody wrote there included.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from inferfab.review.changes import ResourceChange
from inferfab.review.gpus.templates import module_path

_REGION = re.compile(r"^[a-z]{2,}(-[a-z]+)+-?\d{1,2}$")
"""What a region may look like; anything else in its place is not shown."""
_MOST_NODES = 5_000


@dataclass
class Configuration:
    """References by resource, and where providers are."""

    references: dict[tuple[str, str, str], tuple[str, ...]] = field(default_factory=dict)
    _provider_of: dict[tuple[str, str, str], str] = field(default_factory=dict)
    _region_of: dict[str, str] = field(default_factory=dict)

    def region(self, change: ResourceChange) -> str:
        """The region of a resource's provider; the only one there is of that cloud, if it names none."""
        key = self._provider_of.get((module_path(change.module), change.type, change.name))
        if key and key in self._region_of:
            return self._region_of[key]
        cloud = change.type.split("_", 1)[0]
        # What stands in a cluster says nothing of a region; Karpenter's pools are on AWS.
        cloud = "aws" if cloud in ("kubernetes", "kubectl", "helm") else cloud
        regions = {r for k, r in self._region_of.items() if k.split(":")[-1].split(".")[0] == cloud}
        return next(iter(regions)) if len(regions) == 1 else ""


def region_variables(raw: Any) -> dict[str, str]:
    """Variables of the plan whose value looks like a region; no other value is kept."""
    found = {}
    for name, variable in raw.items() if isinstance(raw, dict) else ():
        value = variable.get("value") if isinstance(variable, dict) else None
        if isinstance(value, str) and _REGION.match(value):
            found[name] = value
    return found


def read_configuration(raw: Any, variables: dict[str, str], types: Iterable[str]) -> Configuration:
    """Keep references of the resource types given, and provider regions."""
    made = Configuration()
    if not isinstance(raw, dict):
        return made
    wanted = frozenset(types)
    declared = dict(_members(_object(raw.get("root_module")).get("variables")))
    variables = {name: value for name, value in variables.items() if not declared.get(name, {}).get("sensitive")}
    for key, provider in _members(raw.get("provider_config")):
        expression = _object(_object(provider.get("expressions")).get("region"))
        value = expression.get("constant_value")
        for reference in _texts(expression.get("references")):
            value = value or variables.get(reference.removeprefix("var."))
        if isinstance(value, str) and _REGION.match(value):
            made._region_of[key] = value
    _module(_object(raw.get("root_module")), "", wanted, made, 0)
    return made


def _module(module: dict[str, Any], path: str, wanted: frozenset[str], made: Configuration, depth: int) -> None:
    if depth > 16:
        return
    resources = module.get("resources")
    for resource in resources if isinstance(resources, list) else ():
        if not isinstance(resource, dict) or resource.get("type") not in wanted:
            continue
        place = (path, str(resource.get("type")), str(resource.get("name")))
        made.references[place] = tuple(dict.fromkeys(_references(resource.get("expressions"))))
        if isinstance(key := resource.get("provider_config_key"), str):
            made._provider_of[place] = key
    for name, call in _members(module.get("module_calls")):
        inner = f"{path}.{name}" if path else name
        _module(_object(call.get("module")), inner, wanted, made, depth + 1)


def _references(expressions: Any) -> Iterator[str]:
    waiting, seen = [expressions], 0
    while waiting and seen < _MOST_NODES:
        one = waiting.pop()
        seen += 1
        if isinstance(one, dict):
            yield from _texts(one.get("references"))
            waiting += [v for k, v in one.items() if k not in ("references", "constant_value")]
        elif isinstance(one, list):
            waiting += one


def _members(value: Any) -> list[tuple[str, dict[str, Any]]]:
    return [(k, v) for k, v in value.items() if isinstance(v, dict)] if isinstance(value, dict) else []


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _texts(value: Any) -> list[str]:
    return [v for v in value if isinstance(v, str)] if isinstance(value, list) else []
