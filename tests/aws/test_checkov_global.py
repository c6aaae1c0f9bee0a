"""checkov finds nothing in the environment-wide constructs that has no reason beside the resource."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from inferfab.terraform.skips import recorded_skips

from .samples_global import everything
from .synth_global import write_stack

OWN = Path(__file__).parents[2] / ".venv-checkov" / "bin" / "checkov"


def checkov() -> str:
    """The checkov to run: the one that CHECKOV names, else the repository's."""
    found = shutil.which(os.environ.get("CHECKOV") or str(OWN))
    if found is None:
        pytest.skip("no checkov: make a venv .venv-checkov with it, or name the program in CHECKOV")
    return found


@pytest.mark.slow
def test_each_finding_has_a_reason_and_each_reason_a_finding(tmp_path: Path) -> None:
    """Unexplained findings fail, and so do reasons that explain nothing any more."""
    program = checkov()
    path = write_stack(tmp_path, everything)
    run = subprocess.run(
        [program, "-d", str(path.parent), "--framework", "terraform_json", "--skip-download", "-o", "json", "--quiet"],
        capture_output=True, text=True, check=False, timeout=300, env={**os.environ, "LOG_LEVEL": "ERROR"},
    )  # fmt: skip
    report: dict[str, Any] = json.loads(run.stdout)
    # checkov exits with 0 when it scanned nothing or could not parse.
    assert report["summary"]["parsing_errors"] == 0
    assert report["summary"]["passed"] > 100
    found = {(failed["resource"], failed["check_id"]) for failed in report["results"]["failed_checks"]}
    explained = {(skip.address, skip.check_id) for skip in recorded_skips(json.loads(path.read_text()))}
    assert found == explained
