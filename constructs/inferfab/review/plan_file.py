"""Finding the plan in a file: any encoding, after a CI wrapper's log lines, of a version that we can read."""

import json
import re
from pathlib import Path

from inferfab.input_files import MOST_PLAN_BYTES, read_bytes
from inferfab.review.decode import SHOW, decoded
from inferfab.review.errors import BadPlan
from inferfab.review.json_sections import JsonObject

NEWEST_MAJOR = 1
"""Terraform promises compatibility within a major version (developer.hashicorp.com, JSON output format)."""
_BRACE = re.compile(r"^(?:[ \t]*\{(?=\s*[\"}])|[^{\"\n]{1,200}\{(?=\s*\"format_version\"))", re.MULTILINE)
"""Where an object may begin: at a line's beginning, and a plan also after a log's prefix (a time, a stream's name)."""
_MOST_FAULTS = 200
"""Each may cost a walk to the end of the file; whole objects are passed over at once, however many they are."""
_VERSION = re.compile(r"^(\d{1,4})\.(\d{1,4})")


def read_plan_file(path: Path) -> JsonObject:
    """The plan's JSON object.

    :raises BadPlan: if the file is not one; the message says what it is instead and which command to run.
    """
    try:
        data = read_bytes(path, MOST_PLAN_BYTES)
    except OSError as error:
        raise BadPlan(f"cannot be read: {error.strerror or error}") from error
    return find_plan(decoded(data))


def find_plan(text: str) -> JsonObject:
    """The first JSON object in the text that has a ``format_version``; lines before and after it are skipped."""
    fault, faults, at = "", 0, 0
    while faults < _MOST_FAULTS and (found := _BRACE.search(text, at)):
        at = found.end()
        try:
            plan = JsonObject(text, found.end() - 1)
        except RecursionError:
            fault, faults = fault or "is nested deeper than any plan", faults + 1
            continue
        except ValueError as error:
            fault, faults = fault or f"is not whole JSON: {_short(error)}", faults + 1
            # This was the plan, cut off: what is whole inside of it must not be taken for one.
            if '"format_version"' in text[found.end() : found.end() + 200]:
                break
            continue
        if "format_version" in plan.places:
            _check_version(plan)
            if plan.twice:
                raise BadPlan(f"has a part twice, so one of them would be passed over; run {SHOW}")
            # Reading one of them would leave the other's changes out without a word.
            if _another(text, found.end() - 1, plan.end):
                raise BadPlan("holds more than one plan: give each a file of its own")
            return plan
        at = plan.end
        fault = fault or _something_else(plan)
    raise BadPlan(f"{fault}; run {SHOW}" if fault else _no_json(text))


def _another(text: str, start: int, end: int) -> bool:
    """Whether another plan follows; a wrapper that logs what it ran may print the same one again."""
    plan, at = text[start:end], end
    while (at := text.find('"format_version"', at)) >= 0:
        again = text.rfind("{", end, at)
        if not text.startswith(plan, again):
            return True
        at = again + len(plan)
    return False


def _short(error: ValueError) -> str:
    """Never a piece of the file: that may be a secret."""
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} (line {error.lineno}, column {error.colno})"
    return str(error)[:120]


def _check_version(plan: JsonObject) -> None:
    value = plan.value("format_version")
    found = _VERSION.match(value) if isinstance(value, str) else None
    if found is None:
        raise BadPlan(f"has a format_version that is none; run {SHOW}")
    if int(found[1]) > NEWEST_MAJOR:
        raise BadPlan(
            f"has format_version {found[0]}; this inferfab reads 0.x and {NEWEST_MAJOR}.x: use a newer inferfab"
        )
    if "resource_changes" not in plan.places and "planned_values" not in plan.places:
        if "values" in plan.places:
            raise BadPlan(f"is a state, not a plan: `terraform show -json` was given no plan file; run {SHOW}")
        if "provider_schemas" in plan.places:
            raise BadPlan(f"holds provider schemas, not a plan; run {SHOW}")
        if "errored" not in plan.places and "configuration" not in plan.places:
            raise BadPlan(f"has neither resource changes nor planned values; run {SHOW}")


def _something_else(plan: JsonObject) -> str:
    if "@level" in plan.places or "@message" in plan.places:
        return "is the log of `terraform plan -json`, not the plan: add `-out PLANFILE`, then read that"
    if "plan_version" in plan.places:
        return "is a saved FleetPlan of inferfab, which --base and `inferfab diff` take. For a Terraform plan"
    if "terraform_version" in plan.places and "lineage" in plan.places:
        return "is a state file"
    if "resource" in plan.places or "terraform" in plan.places:
        return "is Terraform configuration in JSON, not a plan: run `terraform plan -out PLANFILE` on it first"
    return "is JSON, but no plan: there is no `format_version`"


def _no_json(text: str) -> str:
    words = (
        "Terraform will perform the following actions",
        "OpenTofu will perform the following actions",
        "No changes.",
    )
    if any(word in text for word in (*words, "Plan: ", "Changes to Outputs")):
        return f"is the plan as text, which no program should read; run `terraform plan -out PLANFILE`, then {SHOW}"
    if "Error:" in text or "╷" in text:
        return f"holds an error message of Terraform instead of a plan; mend it, then run {SHOW}"
    return f"holds no JSON; run {SHOW}"
