"""Findings that an object's own annotations accept, each with its reason."""

from collections.abc import Iterable

from inferfab.findings import Finding
from inferfab.manifests.model import Manifests
from inferfab.manifests.pods import labels_of

PREFIX = "inferfab/accept."
"""``inferfab/accept.IF-ENG-016: we upgrade in March`` on an object switches that rule off for it."""
_LEAST_REASON = 10


def accepted(findings: Iterable[Finding], manifests: Manifests) -> tuple[list[Finding], list[Finding]]:
    """(findings that stay, findings that an annotation switched off). What is wrong with files always stays."""
    reasons: dict[tuple[str, str, str], str] = {}
    for one in manifests.objects:
        for key, reason in labels_of(one.node.get("metadata", "annotations")).items():
            if key.startswith(PREFIX) and len(reason.strip()) >= _LEAST_REASON:
                reasons[one.file, one.node.title, key.removeprefix(PREFIX)] = reason.strip()
    kept: list[Finding] = []
    off: list[Finding] = []
    for finding in findings:
        title = str(finding.path[0]) if finding.path else ""
        why = reasons.get((finding.location.file, title, finding.rule))
        if why is None or finding.rule.startswith("IF-MAN-"):
            kept.append(finding)
        else:
            off.append(finding.model_copy(update={"lowered_from": finding.severity, "accepted": why}))
    return kept, off
