"""One Terraform plan as a review needs it: typed, masked, and small whatever the size of the file."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from inferfab.catalog.accelerators import azure_gpus, has_gpus, other_accelerators
from inferfab.catalog.instances import instances
from inferfab.catalog.plan_review import plan_review_facts
from inferfab.review import openings, purchases
from inferfab.review.changes import Malformed, ResourceChange, read_change
from inferfab.review.configuration import Configuration, read_configuration, region_variables
from inferfab.review.decode import SHOW
from inferfab.review.errors import BadPlan
from inferfab.review.gpus import HOLDERS, WANTED
from inferfab.review.gpus.karpenter import MANIFESTS, documents, is_private
from inferfab.review.gpus.templates import TEMPLATES
from inferfab.review.json_sections import JsonObject
from inferfab.review.masking import Hidden, masked
from inferfab.review.plan_file import read_plan_file

_OFFERING = "aws_ec2_capacity_block_offering"


@dataclass
class TerraformPlan:
    """A plan that was read. Names of outputs are kept, values never."""

    name: str
    file: str
    terraform_version: str = ""
    format_version: str = ""
    planned_at: str = ""
    errored: bool = False
    complete: bool = True
    changes: list[ResourceChange] = field(default_factory=list)
    drift: list[ResourceChange] = field(default_factory=list)
    deferred: list[tuple[ResourceChange, str]] = field(default_factory=list)
    """With the reason as the plan has it."""
    configuration: Configuration = field(default_factory=Configuration)
    upfront_fees: dict[str, float] = field(default_factory=dict)
    outputs_changed: list[str] = field(default_factory=list)
    failed_checks: list[str] = field(default_factory=list)
    invocations: int = 0
    """Provider actions that the apply runs."""
    not_understood: list[tuple[str, str]] = field(default_factory=list)
    """(address, machine type with GPUs) of resources of a type that the review does not count."""


def wanted_attributes() -> dict[str, tuple[str, ...]]:
    """What to keep of each resource type."""
    found: dict[str, dict[str, None]] = {}
    kinds = dict.fromkeys(plan_review_facts().purchases, purchases.WANTED)
    for source in (dict(WANTED), openings.wanted(), kinds):
        for type_, names in source.items():
            found.setdefault(type_, {}).update(dict.fromkeys(names))
    return {type_: tuple(names) for type_, names in found.items()}


def read_terraform_plan(path: Path, name: str) -> TerraformPlan:
    """Read a file that `terraform show -json` wrote.

    :raises BadPlan: if it did not, or the plan cannot be relied on.
    """
    try:
        return _read(read_plan_file(path), name, str(path))
    except RecursionError as error:
        raise BadPlan("is nested deeper than any plan") from error
    except Malformed as error:
        raise BadPlan(f"is no plan of Terraform: {error}; run {SHOW}") from error
    except ValueError as error:
        raise BadPlan(f"is no plan of Terraform: {str(error)[:160]}; run {SHOW}") from error


def _read(raw: JsonObject, name: str, file: str) -> TerraformPlan:
    made = TerraformPlan(name=name, file=file)
    made.terraform_version = _short(raw.value("terraform_version"))
    made.format_version = _short(raw.value("format_version"))
    made.planned_at = _short(raw.value("timestamp"))
    made.errored = raw.value("errored") is True
    made.complete = raw.value("complete") is not False
    wanted = wanted_attributes()
    seen: set[tuple[str, str]] = set()
    for item in raw.items("resource_changes"):
        change = read_change(item, wanted)
        # Terraform tells objects left over from a replacement apart by a key; anything else would be counted twice.
        once = (change.address, str(item.get("deposed") or ""))
        if once in seen:
            raise Malformed(f"{change.address[:200]} is in it twice")
        seen.add(once)
        made.changes.append(change)
        made.not_understood += _machines_with_gpus(item, change)
    if not made.changes and _managed(raw.value("planned_values")):
        raise Malformed("it has resources in planned_values and no resource_changes, which say what happens to them")
    made.drift = [read_change(item, wanted) for item in raw.items("resource_drift")]
    made.deferred = list(_deferred(raw, wanted))
    made.configuration = read_configuration(
        raw.value("configuration"), region_variables(raw.value("variables")), (*HOLDERS, *TEMPLATES)
    )
    if f'"{_OFFERING}"' in raw.text:
        made.upfront_fees = dict(_fees(raw.value("prior_state")))
    outputs = raw.value("output_changes")
    for output, change_ in outputs.items() if isinstance(outputs, dict) else ():
        actions = change_.get("actions") if isinstance(change_, dict) else None
        if isinstance(actions, list) and actions not in ([], ["no-op"]):
            made.outputs_changed.append(str(output)[:200])
    made.failed_checks = list(_failed_checks(raw))
    made.invocations = sum(1 for _ in raw.items("action_invocations"))
    return made


def _managed(planned: Any) -> bool:
    """Whether planned values have a resource that Terraform manages."""
    values = planned.get("root_module") if isinstance(planned, dict) else None
    return any(one.get("mode", "managed") == "managed" for one in _resources(values))


def _resources(root_module: Any) -> Iterator[dict[str, Any]]:
    """Resources of a module of a state and of the modules in it.

    :raises Malformed: if they are no lists.
    """
    waiting = [root_module]
    while waiting:
        module = waiting.pop()
        if not isinstance(module, dict):
            continue
        for name in ("child_modules", "resources"):
            if not isinstance(module.get(name) or [], list):
                raise Malformed(f"`{name}` of a module is not a list")
        waiting += module.get("child_modules") or []
        yield from (one for one in module.get("resources") or [] if isinstance(one, dict))


def _short(value: Any) -> str:
    return value[:64] if isinstance(value, str) else ""


def _deferred(raw: JsonObject, wanted: dict[str, tuple[str, ...]]) -> Iterator[tuple[ResourceChange, str]]:
    for item in raw.items("deferred_changes"):
        inner = item.get("resource_change") if isinstance(item, dict) else None
        if isinstance(inner, dict):
            yield read_change(inner, wanted), _short(item.get("reason"))


def _failed_checks(raw: JsonObject) -> Iterator[str]:
    for item in raw.items("checks"):
        if isinstance(item, dict) and item.get("status") in ("fail", "error"):
            address = item.get("address")
            yield _short(address.get("to_display") if isinstance(address, dict) else "") or "a check"


def _fees(prior_state: Any) -> Iterator[tuple[str, float]]:
    """Up-front fees by offering; sensitive ones are left out."""
    values = prior_state.get("values") if isinstance(prior_state, dict) else None
    for resource in _resources(values.get("root_module") if isinstance(values, dict) else None):
        if resource.get("type") != _OFFERING:
            continue
        shown = masked(resource.get("values"), [resource.get("sensitive_values")])
        if isinstance(shown, dict):
            offering, fee = shown.get("capacity_block_offering_id"), _usd(shown.get("upfront_fee"))
            if isinstance(offering, str) and fee is not None:
                yield offering, fee


_USD = re.compile(r"[0-9]{1,12}(\.[0-9]{1,6})?")


def _usd(value: Any) -> float | None:
    """An amount of money; None for anything that is none, so that no sum is made of it."""
    if isinstance(value, str):
        return float(value) if _USD.fullmatch(value) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < 1e12 else None


_MACHINE_NAMES = frozenset({"instancetype", "instancetypes", "machinetype", "nodetype", "vmsize", "size", "sku"})
"""In lower case without underscores: manifests write ``instanceType``."""
_MOST_NODES = 2_000


@cache
def _counted() -> frozenset[str]:
    """Types that are read whole. A manifest may be of anything, so those are searched too."""
    return frozenset({*HOLDERS, *TEMPLATES, *plan_review_facts().purchases} - MANIFESTS.keys())


def _machines_with_gpus(item: Any, change: ResourceChange) -> Iterator[tuple[str, str]]:
    """A resource of a type that the review does not count, and that names a machine with GPUs all the same."""
    if change.type in _counted() or change.no_op or change.mode != "managed":
        return
    inner = item["change"]
    values = inner.get("after") or inner.get("before")
    # Masking is dear, and most resources name no machine.
    if not _names(_readable(change.type, values)):
        return
    shown = masked(values, [inner.get("before_sensitive"), inner.get("after_sensitive")])
    private = change.type in MANIFESTS and isinstance(shown, dict) and is_private(shown)
    for name in dict.fromkeys("a machine" if private else name for name in _names(_readable(change.type, shown))):
        yield change.address, name


def _readable(type_: str, values: Any) -> Any:
    """Values, and what stands in texts of theirs that are YAML."""
    if type_ not in MANIFESTS:
        return values
    return list(documents(type_, values)) if isinstance(values, dict) else None


def _names(values: Any) -> list[str]:
    found, waiting, seen = [], [values], 0
    while waiting and seen < _MOST_NODES:
        one = waiting.pop()
        seen += 1
        if isinstance(one, dict):
            for key, value in one.items():
                if isinstance(key, str) and key.replace("_", "").lower() in _MACHINE_NAMES:
                    found += [v for v in (value if isinstance(value, list) else [value]) if _has_gpus(v)]
                elif isinstance(value, dict | list):
                    waiting.append(value)
        elif isinstance(one, list):
            waiting += [v for v in one if isinstance(v, dict | list)]
    return found


def _has_gpus(value: Any) -> bool:
    if isinstance(value, Hidden) or not isinstance(value, str) or len(value) > 64:
        return False
    name = value.removeprefix("ml.")
    if azure_gpus(name) or (other_accelerators("aws", name) and "." in name):
        return True
    if name in instances("aws") or name in instances("gcp"):
        return True
    # A word of three letters may begin like a family; a machine type has a size.
    return (has_gpus("aws", name) and "." in name) or (has_gpus("gcp", name) and name.count("-") >= 2)
