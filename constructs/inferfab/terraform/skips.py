"""Why a resource fails a checkov check on purpose: the reason stands beside the resource, in the Terraform JSON itself.

JSON has no comments for checkov's own ``checkov:skip``, so the reason goes into the resource's ``"//"`` block, which
Terraform ignores. Whoever runs checkov takes the findings with a reason away: ``recorded_skips`` reads them back.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from inferfab.terraform.engine import TerraformElement

_KEY = "checkov_skips"
_CHECK_ID = re.compile(r"CKV\d?_[A-Z0-9]+_\d+")


@dataclass(frozen=True)
class SkippedCheck:
    """One check that a resource is excused from."""

    address: str
    """Address of the resource in its stack, ``aws_vpc.network_vpc``."""
    check_id: str
    reason: str


def skip_check(resource: TerraformElement, check_id: str, reason: str) -> None:
    """Record why a resource or data source does not satisfy a check.

    :param reason: A sentence for the reviewer who would otherwise see the finding.
    """
    where = f"{resource.node.path}: "
    if not _CHECK_ID.fullmatch(check_id):
        raise ValueError(f'{where}"{check_id}" is not the id of a checkov check, such as CKV_AWS_158')
    if not reason.strip():
        raise ValueError(f"{where}skipping {check_id} needs a reason")
    if "${" in reason or "%{" in reason:
        raise ValueError(f"{where}the reason for skipping {check_id} must be plain text, without Terraform templates")
    resource.add_override(f"//.{_KEY}.{check_id}", reason)


def recorded_skips(document: Mapping[str, object]) -> Iterator[SkippedCheck]:
    """Every skip in a stack's Terraform JSON."""
    for kind, prefix in (("resource", ""), ("data", "data.")):
        for type_, members in _mapping(document.get(kind)).items():
            for name, body in _mapping(members).items():
                reasons = _mapping(_mapping(_mapping(body).get("//")).get(_KEY))
                for check_id, reason in reasons.items():
                    yield SkippedCheck(f"{prefix}{type_}.{name}", check_id, str(reason))


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}
