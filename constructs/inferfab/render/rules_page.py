"""docs/rules.md: every rule, grouped, from the registry."""

from collections.abc import Sequence

from inferfab.checks.registry import Rule
from inferfab.checks.rule_changes import may_be_lowered

FAMILIES = {
    "CHG": "Changes between two plans or two sets of manifests",
    "CHK": "Rules that are lowered or switched off",
    "CLD": "Capacity that the cloud sells",
    "CST": "Cost",
    "ENG": "Engine: flags, prefill and decode, routers, planner",
    "ENV": "The environment file itself",
    "FAB": "Fabric and transport",
    "GCP": "Google Cloud",
    "GTW": "Gateways",
    "IMG": "Images and charts, and where they come from",
    "MAN": "Manifests as files",
    "MDL": "Models: what is on record about them",
    "MEM": "Memory",
    "NAM": "Names",
    "NET": "Networks",
    "PRE": "What preflight saw in the account",
    "OBS": "Observability",
    "PLC": "Placement",
    "POD": "Pods, images, ports and volumes",
    "PRM": "Promises",
    "RCK": "Owned racks",
    "REF": "References",
    "SCL": "Scaling and its owners",
    "SRV": "Serving: what reaches nodes, claims, what is joined",
    "TEN": "Tenants",
    "TRF": "Traffic profiles",
    "UPG": "Upgrades",
    "VFY": "What runs, asked by `inferfab verify`",
}
"""What the letters in the middle of an id stand for."""


def judges(rule: Rule) -> str:
    """What a rule is held against, in a word each."""
    parts = []
    if rule.stage not in ("manifests", "manifest file", "change", "cluster"):
        parts.append("environments")
    if rule.stage == "change":
        parts.append("two plans")
    if rule.stage == "cluster":
        parts.append("a running cluster")
    if rule.run_manifests is not None or rule.stage in ("manifests", "manifest file"):
        parts.append("manifests")
    if rule.run_change_manifests is not None:
        parts.append("two sets of manifests")
    return ", ".join(parts)


def rules_page(rules: Sequence[Rule]) -> str:
    """The page. Text comes from the rules; nothing of it is edited by hand."""
    lines = [
        "# Rules",
        "",
        f"The {len(rules)} rules of `inferfab check`. This page is written from the rules themselves by "
        "`python tools/update_docs.py`; `inferfab explain IF-MEM-002` prints one of them. Ids never change.",
        "",
        "A rule can be lowered or switched off in the environment, with a reason that the plan carries (`checks:`), "
        "unless it is marked *stays*.",
        "",
    ]
    families: dict[str, list[Rule]] = {}
    for rule in rules:
        families.setdefault(rule.id.split("-")[1], []).append(rule)
    for family in sorted(families, key=lambda f: FAMILIES[f]):
        lines += [f"## {FAMILIES[family]}", ""]
        for rule in families[family]:
            lines += _rule(rule)
    return "\n".join(lines)


def _rule(rule: Rule) -> list[str]:
    stays = "" if may_be_lowered(rule) else ", *stays*"
    return [
        f"### {rule.id}: {rule.title}",
        "",
        f"{rule.severity}{stays} · judges {judges(rule)} · joins {', '.join(rule.joins)}",
        "",
        f"- Why: {rule.why}",
        f"- Do: {rule.do}",
        f"- Source: {rule.source}",
        "",
    ]
