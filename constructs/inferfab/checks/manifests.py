"""All rules that judge manifests, over everything that was read."""

from dataclasses import dataclass

import inferfab.checks.check  # noqa: F401 - enters every rule
from inferfab.checks.registry import RULES, finding_in_manifests, run_on_manifests
from inferfab.checks.serving.accepted import accepted
from inferfab.checks.serving.unseen import judged, unseen
from inferfab.findings import Finding, has_errors, ranked
from inferfab.manifests.model import Manifests


@dataclass(frozen=True)
class CheckedManifests:
    """Findings, and what they are findings about."""

    findings: tuple[Finding, ...]
    switched_off: tuple[Finding, ...]
    """What annotations of the objects accept, with their reasons."""
    judged: dict[str, int]
    """Objects, workloads and processes that were judged."""
    not_judged: list[str]
    """What rules could not see, one remark a place."""

    @property
    def ok(self) -> bool:
        return not has_errors(self.findings)

    @property
    def summary(self) -> list[str]:
        """What was judged, for people."""
        counts = [f"{n} {name}" for name, n in self.judged.items() if n]
        return [f"judged: {', '.join(counts) or 'nothing'}; {len(self.not_judged)} thing(s) not seen"]


def check_manifests(manifests: Manifests, before: Manifests | None = None) -> CheckedManifests:
    """Run every rule that judges manifests.

    :param before: what runs now; then rules about the change are run too.
    """
    found = [*manifests.findings, *run_on_manifests(manifests)]
    if before is not None:
        for rule in RULES.values():
            if rule.run_change_manifests is not None:
                found += [finding_in_manifests(rule, p) for p in rule.run_change_manifests(before, manifests)]
        # What cannot be read there is not compared, and silence would look like no change.
        found += [f for f in before.findings if f.rule in ("IF-MAN-001", "IF-MAN-002", "IF-MAN-006")]
    remarks = [*manifests.patches, *unseen(manifests)]
    kept, off = accepted(found, manifests)
    return CheckedManifests(
        findings=ranked([*kept, *remarks]),
        switched_off=ranked(off),
        judged=judged(manifests),
        not_judged=[f"{f.location}: {f.what}" for f in remarks if f.rule == "IF-MAN-005"],
    )
