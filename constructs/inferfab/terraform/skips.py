"""Findings of checkov that are accepted, each with its reason beside the resource.

JSON has no comments, so a reason goes into the resource's ``//`` key, which Terraform ignores. The test harness
compares what checkov reports with it: a finding without a reason fails, and so does a reason without a finding.
"""

from inferfab.terraform.base import DataSource, Resource


def skip_check(resource: Resource | DataSource, check_id: str, reason: str) -> None:
    """Accept what checkov says about a resource. The reason says why, not what."""
    resource.add_override(f"//.skips.{check_id}", reason)
