"""Runs checkov over synthesized stacks, and takes away the findings that have a reason beside their resource.

checkov pins an old boto3, so it lives in a virtual environment of its own: the program that CHECKOV names, or
``.venv-checkov/bin/checkov`` in the repository. Where there is none, tests skip and say so.
"""

import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inferfab.terraform.skips import recorded_skips
from programs import named_or_own

VARIABLE = "CHECKOV"
OWN = Path(__file__).parents[2] / ".venv-checkov" / "bin" / "checkov"

Document = Mapping[str, Any]
"""A stack's Terraform JSON."""


class NothingScannedError(AssertionError):
    """checkov exits with 0 when it could not parse what it was given; that is no pass."""


@dataclass(frozen=True)
class Finding:
    """A failed check."""

    stack: str
    address: str
    check_id: str
    what: str
    reason: str | None = None
    """Why it fails on purpose."""


@dataclass(frozen=True)
class Scan:
    """What checkov found."""

    checks: int
    """How many checks of resources it made."""
    failed: tuple[Finding, ...]
    """Findings without a reason."""
    explained: tuple[Finding, ...]


def program() -> str:
    """The checkov to run; skips the test where there is none."""
    return named_or_own(VARIABLE, OWN, "no checkov: make scanner")


def scan(stacks: Mapping[str, Document], folder: Path) -> Scan:
    """Check stacks, by name. One run for many stacks: starting checkov is what takes the time."""
    checkov = program()
    for name, document in stacks.items():
        (folder / name).mkdir(parents=True)
        # Indented by us, so that a line tells which resource it belongs to.
        (folder / name / "cdk.tf.json").write_text(json.dumps(document, indent=2))
    # The framework "terraform" passes over .tf.json files in silence. Without --skip-download checkov asks a server
    # for guidelines.
    options = ["--framework", "terraform_json", "--skip-download", "--output", "json", "--compact"]
    run = subprocess.run(
        [checkov, "--directory", str(folder), *options],
        capture_output=True, text=True, check=False, timeout=300, env={**os.environ, "LOG_LEVEL": "ERROR"},
    )  # fmt: skip
    report = _report(run.stdout, run.stderr)
    summary = report["summary"]
    if summary["parsing_errors"]:
        raise NothingScannedError(f"checkov could not parse: {report['results'].get('parsing_errors')}")
    results = report["results"]
    made = [_stack(check) for check in (*results["passed_checks"], *results["failed_checks"]) if _of_resource(check)]
    unread = sorted(set(stacks) - set(made))
    if unread:
        raise NothingScannedError(f"checkov checked no resource of {', '.join(unread)}")
    reasons = {
        (name, skip.address, skip.check_id): skip.reason
        for name, document in stacks.items()
        for skip in recorded_skips(document)
    }
    findings = [_finding(failed, stacks, reasons) for failed in results["failed_checks"]]
    return Scan(
        checks=len(made),
        failed=tuple(finding for finding in findings if finding.reason is None),
        explained=tuple(finding for finding in findings if finding.reason is not None),
    )


def _report(stdout: str, stderr: str) -> dict[str, Any]:
    try:
        report = json.loads(stdout)
    except ValueError:
        raise NothingScannedError(f"checkov wrote no JSON: {stdout[:500]!r} {stderr[-500:]!r}") from None
    # Without anything to check it writes a bare summary; with several frameworks, a list.
    if not isinstance(report, dict) or "summary" not in report:
        raise NothingScannedError(f"checkov scanned nothing: {report}")
    return report


def _stack(check: Mapping[str, Any]) -> str:
    return Path(check["file_path"].lstrip("/")).parts[0]


def _of_resource(check: Mapping[str, Any]) -> bool:
    """checkov looks at providers too, which every stack has."""
    return not check["check_class"].startswith("checkov.terraform.checks.provider")


def _finding(
    failed: Mapping[str, Any], stacks: Mapping[str, Document], reasons: Mapping[tuple[str, str, str], str]
) -> Finding:
    stack = _stack(failed)
    address = _address(stacks[stack], failed["resource"], failed["file_line_range"])
    check_id = failed["check_id"]
    return Finding(stack, address, check_id, failed["check_name"], reasons.get((stack, address, check_id)))


def _address(document: Document, resource: str, lines: list[int]) -> str:
    """checkov's graph checks name the address; its other checks lose the type, but their lines are right."""
    places = list(_places(document))
    if any(address == resource for address, _, _ in places):
        return resource
    middle = sum(lines) // 2
    name = resource.rpartition(".")[2]
    around = [address for address, first, last in places if first <= middle <= last and address.endswith(f".{name}")]
    assert len(around) == 1, f"which resource is {resource} at lines {lines}? {around}"
    return around[0]


def _places(document: Document) -> Iterator[tuple[str, int, int]]:
    """Address, first and last line of each resource and data source, as ``json.dumps(indent=2)`` writes them."""
    kind = type_ = name = ""
    first = 0
    for number, line in enumerate(json.dumps(document, indent=2).splitlines(), start=1):
        opened = re.fullmatch(r'( +)"(.+)": \{', line)
        depth = len(line) - len(line.lstrip())
        if opened and depth == 2:
            kind = opened[2]
        elif opened and depth == 4:
            type_ = opened[2]
        elif opened and depth == 6:
            name, first = opened[2], number
        elif line.strip() in {"}", "},"} and depth == 6 and kind in {"resource", "data"}:
            yield ("" if kind == "resource" else "data.") + f"{type_}.{name}", first, number
