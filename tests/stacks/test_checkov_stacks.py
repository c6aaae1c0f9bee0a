"""checkov over every stack of every environment: what fails has its reason beside it, and every reason is needed."""

from typing import Any

import pytest
from synthesized import ALL, FABRICS, stacks

from aws.checkov import Scan, scan
from inferfab.terraform.skips import recorded_skips

CANARY = "aws_ebs_volume.canary"
"""An open disk that goes into each stack beside the rest: a stack whose scan does not find it was not read. Helm
releases alone give checkov nothing to look at, so nothing else would tell."""
IDLE = {
    # The network's and the load balancer's groups are used by what another construct makes: alone they need it
    # (tests/aws/test_checkov_net.py), in a whole stack checkov sees who uses them.
    "CKV2_AWS_5",
    # Says why a policy looks at everything; checkov itself knows that Describe calls take no resource. Held by
    # tests/stacks/test_least_privilege.py.
    "CKV_AWS_355",
    # An alias record to a load balancer of another stack: checkov compares only where it can follow the reference.
    "CKV2_AWS_23",
}
"""Checks with a reason in these stacks that checkov does not make there."""


def with_canary(document: Any) -> Any:
    disk = {"availability_zone": "us-east-1a", "size": 1}
    return {**document, "resource": {**document.get("resource", {}), "aws_ebs_volume": {"canary": disk}}}


@pytest.fixture(scope="module")
def everything() -> dict[str, Any]:
    """All stacks of all environments by name."""
    return {
        stack: document for name in (*ALL, *FABRICS, "several-accounts") for stack, document in stacks(name).items()
    }


@pytest.fixture(scope="module")
def scanned(everything: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Scan:
    """One run: starting checkov is what takes the time."""
    watched = {stack: with_canary(document) for stack, document in everything.items()}
    return scan(watched, tmp_path_factory.mktemp("checkov"))


@pytest.mark.slow
@pytest.mark.xdist_group("checkov")
def test_no_stack_fails_a_check_without_a_reason(everything: dict[str, Any], scanned: Scan) -> None:
    """And every stack was read, to the last: the open disk in each was found."""
    found = {finding.stack for finding in scanned.failed if finding.address == CANARY}
    assert found == set(everything)
    assert [finding for finding in scanned.failed if finding.address != CANARY] == []
    assert scanned.checks > 1500


@pytest.mark.slow
@pytest.mark.xdist_group("checkov")
def test_no_reason_is_left_over(everything: dict[str, Any], scanned: Scan) -> None:
    """Where the check no longer fails, its excuse goes: it would hide the next failure."""
    used = {(finding.stack, finding.address, finding.check_id) for finding in scanned.explained}
    recorded = {
        (stack, skip.address, skip.check_id)
        for stack, document in everything.items()
        for skip in recorded_skips(document)
    }
    assert used <= recorded
    assert {check_id for _, _, check_id in recorded - used} == IDLE
