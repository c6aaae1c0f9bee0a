"""Findings that an object's own annotations accept, each with its reason."""

import re
from collections.abc import Iterable, Iterator

from inferfab.checks.registry import RULES, Problem, finding_in_manifests, manifest_rule
from inferfab.checks.serving.manifest_views import spot
from inferfab.environment.problems import closest
from inferfab.findings import Finding
from inferfab.manifests.model import Manifests
from inferfab.manifests.nodes import Node
from inferfab.manifests.pods import labels_of

PREFIX = "inferfab/accept."
"""``inferfab/accept.IF-ENG-016: we upgrade in March`` on an object switches that rule off for it."""
_LEAST_REASON = 10
_RULE = "IF-CHK-004"
_MEANT = re.compile(r"inferfab.*\bif-[a-z]{3}-[0-9]+", re.IGNORECASE)


@manifest_rule(
    _RULE,
    "an annotation that accepts nothing",
    joins=("pod",),
    why="who reads it believes that a risk was accepted, and the finding that it was meant for stays.",
    do="write `inferfab/accept.IF-ENG-016: REASON` into the metadata of the object itself, or remove it.",
    source="inferfab's annotations, docs/manifests.md",
)
def annotations_accept(manifests: Manifests) -> Iterator[Problem]:
    for one in manifests.objects:
        for node, of_object in _annotations(one.node):
            for key, value in node.entries():
                if not (key.startswith(PREFIX) or _MEANT.search(key)):
                    continue
                rule, where = key.removeprefix(PREFIX), spot(value.key_ref)
                if not key.startswith(PREFIX):
                    yield where.problem(f"`{key}` accepts nothing: it does not begin with `{PREFIX}`",
                                        f"write `{PREFIX}IF-XXX-NNN`")  # fmt: skip
                elif rule not in RULES:
                    near = closest(rule.upper(), sorted(RULES))
                    fix = f"did you mean `{near}`?" if near else "write the id of a rule (`inferfab explain`)"
                    yield where.problem(f"there is no rule `{rule}`", fix, value=rule)
                elif rule.startswith("IF-MAN-") or rule == _RULE:
                    yield where.problem(f"`{rule}` cannot be accepted", "mend what it finds, and remove this")
                elif not of_object:
                    yield where.problem(f"`{key}` stands on a pod template, where it is not read",
                                        "move it into the annotations of the object")  # fmt: skip
                elif len((value.text or "").strip()) < _LEAST_REASON:
                    yield spot(value.ref).problem(f"`{key}` gives no reason of {_LEAST_REASON} characters or more",
                                                  "say why that is right here")  # fmt: skip


def _annotations(node: Node) -> Iterator[tuple[Node, bool]]:
    """(annotations, whether they are the object's own) of an object and of every template inside of it."""
    yield node.get("metadata", "annotations"), True
    waiting, seen = [node.get("spec")], 0
    while waiting and seen < 2_000:
        here = waiting.pop()
        seen += 1
        for key, child in here.entries():
            if key == "metadata":
                yield child.get("annotations"), False
            elif key in _HOLD_TEMPLATES or key.endswith(("emplate", "Spec")):
                waiting.append(child)
            if key in ("components", "roles"):
                waiting += child.items()
            if key == "services":
                waiting += [service for _, service in child.entries()]


_HOLD_TEMPLATES = ("spec", "predictor", "prefill", "worker", "extraPodMetadata")


def accepted(findings: Iterable[Finding], manifests: Manifests) -> tuple[list[Finding], list[Finding]]:
    """(findings that stay, findings that an annotation switched off). What is wrong with files always stays."""
    reasons: dict[tuple[str, str, str], str] = {}
    unused: dict[tuple[str, str, str], Node] = {}
    for one in manifests.objects:
        for key, reason in labels_of(one.node.get("metadata", "annotations")).items():
            if key.startswith(PREFIX) and len(reason.strip()) >= _LEAST_REASON:
                rule = key.removeprefix(PREFIX)
                reasons[one.file, one.node.title, rule] = reason.strip()
                known = RULES.get(rule)
                # Rules of changes find something only where there is something to compare with.
                if known is not None and known.run_change_manifests is None and not rule.startswith("IF-MAN-"):
                    unused[one.file, one.node.title, rule] = one.node.get("metadata", "annotations", key)
    kept: list[Finding] = []
    off: list[Finding] = []
    for finding in findings:
        title = str(finding.path[0]) if finding.path else ""
        place = (finding.location.file, title, finding.rule)
        why = reasons.get(place)
        if why is None or finding.rule.startswith("IF-MAN-") or finding.rule == _RULE:
            kept.append(finding)
        else:
            unused.pop(place, None)
            off.append(finding.model_copy(update={"lowered_from": finding.severity, "accepted": why}))
    for (_, title, rule), node in unused.items():
        what = f"`{rule}` finds nothing in {title} that this would accept"
        problem = spot(node.key_ref).problem(what, "remove it", severity="warning")
        kept.append(finding_in_manifests(RULES[_RULE], problem))
    return kept, off
