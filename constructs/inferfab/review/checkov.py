"""Findings of a checkov run (``checkov -o json``), held to have read something.

checkov ends with exit code 0 when it could not parse its input (bridgecrewio/checkov#7454), and writes a summary with
nothing in it when it found no file. Either would read as "no findings"; here it is a failure.
"""

import json
from pathlib import Path
from typing import Any

from inferfab.catalog.checkov import checkov_severity
from inferfab.input_files import MOST_PLAN_BYTES, read_bytes
from inferfab.record import Record
from inferfab.review.decode import decoded
from inferfab.review.errors import BadPlan, ReviewError
from inferfab.review.findings import PolicyFinding


class CheckovRun(Record):
    """Failed checks of a run, and why the run does not count if it does not."""

    findings: tuple[PolicyFinding, ...]
    problem: str = ""


def read_checkov(path: Path, constructs: dict[str, str]) -> CheckovRun:
    """Read a run. ``constructs`` gives construct paths by resource address.

    :raises ReviewError: if the file is no JSON of checkov.
    """
    try:
        raw = json.loads(decoded(read_bytes(path, MOST_PLAN_BYTES)))
    except OSError as error:
        raise ReviewError(f"{path}: {error.strerror or error}") from error
    except (ValueError, RecursionError, BadPlan) as error:
        raise ReviewError(
            f"{path} is no JSON of checkov: run `checkov -f plan.json -o json --soft-fail > {path.name}`"
        ) from error
    runs = raw if isinstance(raw, list) else [raw]
    findings: list[PolicyFinding] = []
    parsed = broken = 0
    for run in runs:
        if not isinstance(run, dict):
            raise ReviewError(f"{path} is no JSON of checkov")
        results = run.get("results")
        summary = run.get("summary", run)
        if not isinstance(summary, dict) or not ("failed" in summary or isinstance(results, dict)):
            raise ReviewError(f"{path} is no JSON of checkov: it has no summary")
        broken += _number(summary.get("parsing_errors"))
        parsed += sum(_number(summary.get(name)) for name in ("passed", "failed", "skipped"))
        failed = results.get("failed_checks") if isinstance(results, dict) else None
        findings += [_finding(one, constructs) for one in failed or () if isinstance(one, dict)]
    problem = ""
    if broken:
        problem = f"checkov could not parse {broken} file(s): what is in them was not checked"
    elif not parsed:
        problem = "checkov checked nothing: it found no resource in what it was given"
    return CheckovRun(findings=tuple(findings), problem=problem)


def _finding(raw: dict[str, Any], constructs: dict[str, str]) -> PolicyFinding:
    resource = _text(raw.get("resource"))
    rule = _text(raw.get("check_id")) or "unknown rule"
    lines = raw.get("file_line_range")
    line = lines[0] if isinstance(lines, list) and lines and isinstance(lines[0], int) else 1
    return PolicyFinding(
        tool="checkov",
        rule=rule,
        severity=checkov_severity(rule),
        subject=resource or "?",
        construct_path=constructs.get(resource, ""),
        what=_text(raw.get("check_name")) or rule,
        fix=_text(raw.get("guideline")),
        file=_text(raw.get("file_path")).lstrip("/"),
        line=max(1, line),
    )


def _text(value: Any) -> str:
    return value[:500] if isinstance(value, str) else ""


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def construct_paths(folder: Path) -> dict[str, str]:
    """Construct path by resource address, from what `inferfab synth` (or cdktf) wrote.

    :raises ReviewError: if there is no ``cdk.tf.json`` in the folder.
    """
    files = sorted(folder.rglob("cdk.tf.json"))
    if not files:
        raise ReviewError(f"{folder}: there is no cdk.tf.json in it; name the folder that `inferfab synth` wrote")
    found = {}
    for file in files:
        try:
            document = json.loads(read_bytes(file))
            for type_, members in document.get("resource", {}).items():
                for name, body in members.items():
                    path = body.get("//", {}).get("metadata", {}).get("path")
                    if isinstance(path, str):
                        found[f"{type_}.{name}"] = path
        except (OSError, ValueError, AttributeError, RecursionError) as error:
            raise ReviewError(f"{file}: cannot be read as Terraform JSON") from error
    return found
