"""Rules that an environment lowers or switches off: what changes, what stays, who is told."""

import json
from typing import Any

from environments import DISAGGREGATED, Env, base
from inferfab.checks.check import Checked
from inferfab.findings import Finding
from inferfab.plan.fleet import read_plan
from inferfab.render.sarif import sarif
from inferfab.render.text.findings import findings_text, switched_off_text

RESERVED = base(DISAGGREGATED).set("pools.chat.capacity", {"kind": "reservation", "id": "cr-0a1b2c3d4e5f60001"})
REASON = "one cell, drained by hand before an update"


def accept(severity: str, **more: str) -> Checked:
    return with_changes({"rule": "IF-PLC-012", "severity": severity, "reason": REASON, **more}).check()


def with_changes(*changes: dict[str, Any], env: Env = RESERVED) -> Env:
    return env.set("checks", list(changes))


def of(rule: str, findings: tuple[Finding, ...]) -> list[Finding]:
    return [f for f in findings if f.rule == rule]


def test_a_rule_is_lowered() -> None:
    """Its findings stay, lower, with what they were and why that is accepted."""
    assert [f.severity for f in of("IF-PLC-012", RESERVED.check().findings)] == ["warning", "warning"]
    found = of("IF-PLC-012", accept("info").findings)
    assert [(f.severity, f.lowered_from, f.accepted) for f in found] == [("info", "warning", REASON)] * 2
    assert f"was  warning; accepted: {REASON}" in findings_text(found, [])


def test_a_rule_is_switched_off() -> None:
    """Its findings leave the list, and a list of their own says so."""
    checked = accept("off")
    assert of("IF-PLC-012", checked.findings) == []
    assert [(f.rule, f.severity, f.accepted) for f in checked.switched_off] == [("IF-PLC-012", "warning", REASON)] * 2
    assert switched_off_text(checked.switched_off).count(REASON) == 2


def test_only_in_one_pool() -> None:
    """A change for another pool leaves this one alone; one for this pool holds."""
    assert len(of("IF-PLC-012", accept("info", pool="chat").findings)) == 2
    other = with_changes({"rule": "IF-PLC-012", "severity": "off", "pool": "docs", "reason": REASON})
    found = other.set("pools.docs", other.get("pools.chat")).add("cells.east-b.pools.docs", {}).check()
    pools = {f.path[1] for f in of("IF-PLC-012", found.findings)}
    assert pools == {"chat"}
    assert {f.path[1] for f in found.switched_off} == {"docs"}


def test_nothing_is_raised() -> None:
    """`warning` on what is an info already changes nothing, and that is said."""
    checked = with_changes(
        {"rule": "IF-FAB-005", "severity": "warning", "reason": REASON}, env=base(DISAGGREGATED)
    ).check()
    assert {f.severity for f in of("IF-FAB-005", checked.findings)} <= {"info"}
    assert len(of("IF-CHK-003", checked.findings)) == 1


def test_an_error_may_be_accepted() -> None:
    """An error of the plan stage that is accepted no longer fails the check, and the plan is whole."""
    late = base(DISAGGREGATED).set("tiers.fast.promises", [{"metric": "ttft", "percentile": 95, "at_most_ms": 1}])
    errors = {f.rule for f in late.check().findings if f.severity == "error"}
    assert errors
    accepted = late.set(
        "checks", [{"rule": r, "severity": "warning", "reason": REASON} for r in sorted(errors)]
    ).check()
    assert accepted.ok
    assert accepted.plan is not None


def test_the_plan_carries_them() -> None:
    """The FleetPlan has rule, severity, pool and reason, and reads back equal; a plan without them is read too."""
    plan = accept("info", pool="chat").plan
    assert plan is not None
    assert [(c.rule, c.severity, c.pool, c.reason) for c in plan.checks] == [("IF-PLC-012", "info", "chat", REASON)]
    assert read_plan(plan.to_json()) == plan
    older = json.loads(plan.to_json())
    del older["checks"]
    assert read_plan(json.dumps(older)).checks == ()


def test_sarif_says_suppressed() -> None:
    """What is switched off is a suppressed result, which code hosts count as closed."""
    checked = accept("off")
    results = sarif(checked.findings, version="1.0.0", switched_off=checked.switched_off)["runs"][0]["results"]
    suppressed = [r for r in results if "suppressions" in r]
    assert [r["ruleId"] for r in suppressed] == ["IF-PLC-012"] * 2
    assert {r["suppressions"][0]["justification"] for r in suppressed} == {REASON}


def test_a_reason_is_needed() -> None:
    """Without a reason, or with one of two words, the entry is refused."""
    for change in (
        {"rule": "IF-PLC-012", "severity": "off"},
        {"rule": "IF-PLC-012", "severity": "off", "reason": "ok"},
    ):
        assert not with_changes(change).check().ok


def test_a_blank_reason_is_none() -> None:
    """Twenty blanks say nothing; ten characters do."""
    for reason, fine in ((" " * 20, False), ("x" + " " * 5, False), ("\tnot before March ", True)):
        checked = with_changes({"rule": "IF-PLC-012", "severity": "off", "reason": reason}).check()
        assert (of("IF-ENV-013", checked.findings) == []) is fine, reason


def test_two_entries_for_one_rule() -> None:
    """The first counts, and the second is said to stand there twice."""
    entries = [{"rule": "IF-PLC-012", "severity": s, "reason": REASON} for s in ("info", "off")]
    (found,) = of("IF-CHK-003", with_changes(*entries).check().findings)
    assert found.path == ("checks", 1)
    assert found.what == "`IF-PLC-012` stands here a second time: entry 1 counts, with `severity: info`"
