"""Findings as SARIF 2.1.0, which code hosts show beside the changed lines."""

import os
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from inferfab.checks.explain import all_rules
from inferfab.checks.registry import Rule
from inferfab.findings import Finding

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVEL = {"error": "error", "warning": "warning", "info": "note"}


def sarif(findings: Sequence[Finding], *, version: str, switched_off: Sequence[Finding] = ()) -> dict[str, Any]:
    """One run; the rules that were hit are described in it.

    :param switched_off: reported as suppressed, with the reason, so that a code host neither shows nor loses them.
    """
    findings = [*findings, *switched_off]
    hit = {f.rule for f in findings}
    rules = [r for r in all_rules() if r.id in hit]
    index = {r.id: n for n, r in enumerate(rules)}
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {"name": "inferfab", "semanticVersion": version, "rules": [_rule(r) for r in rules]}
                },
                "columnKind": "unicodeCodePoints",
                "results": [
                    _result(f, index[f.rule], suppressed=n >= len(findings) - len(switched_off))
                    for n, f in enumerate(findings)
                ],
            }
        ],
    }


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": f"{rule.title}: {rule.why}"},
        "help": {"text": f"{rule.do} Source: {rule.source}."},
        "defaultConfiguration": {"level": _LEVEL[rule.severity]},
        "properties": {"layers": list(rule.joins)},
    }


def _result(finding: Finding, rule_index: int, *, suppressed: bool) -> dict[str, Any]:
    more: dict[str, Any] = (
        {"suppressions": [{"kind": "inSource", "status": "accepted", "justification": finding.accepted}]}
        if suppressed
        else {}
    )
    file = PurePath(finding.location.file)
    # As bytes: a name that is not UTF-8 comes as lone surrogates.
    uri = file.as_uri() if file.is_absolute() else quote(os.fsencode(file.as_posix()))
    return {
        "ruleId": finding.rule,
        "ruleIndex": rule_index,
        "level": _LEVEL[finding.severity],
        "message": {"text": f"{finding.what}. Fix: {finding.fix}. Why: {finding.why}"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": uri},
                    "region": {"startLine": finding.location.line, "startColumn": finding.location.column},
                },
                "logicalLocations": [{"fullyQualifiedName": finding.dotted_path, "kind": "member"}],
            }
        ],
        "partialFingerprints": {"inferfab/path": f"{finding.rule}:{finding.location.file}:{finding.dotted_path}"},
        **more,
    }
