"""checkov finds nothing in the environment-wide constructs that has no reason beside the resource."""

import json
from pathlib import Path

import pytest

from inferfab.terraform.skips import recorded_skips

from .checkov import scan
from .samples_global import everything
from .synth_global import write_stack


@pytest.mark.slow
def test_each_finding_has_a_reason_and_each_reason_a_finding(tmp_path: Path) -> None:
    """Unexplained findings fail, and so do reasons that explain nothing any more."""
    document = json.loads(write_stack(tmp_path, everything).read_text())
    scanned = scan({"global": document}, tmp_path / "scanned")
    assert scanned.checks > 100
    assert scanned.failed == ()
    explained = {(finding.address, finding.check_id) for finding in scanned.explained}
    assert explained == {(skip.address, skip.check_id) for skip in recorded_skips(document)}
