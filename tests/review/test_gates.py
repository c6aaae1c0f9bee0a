"""Edits that orphan a fleet, take its protection away, or lower the gates that judge them."""

from collections.abc import Callable

import pytest

from inferfab.review import Report

Edited = Callable[..., Report]
PRICE = (
    "budget:\n",
    "prices:\n  overlay:\n    - {cloud: aws, instance: p5en.48xlarge, kind: on_demand, usd_per_hour: 0.5, "
    'source: trust me, as_of: "2026-11-01"}\nbudget:\n',
)
RULE = (
    "budget:\n",
    "checks:\n  - {rule: IF-CST-001, severity: warning, reason: the owner of the budget agreed}\nbudget:\n",
)


@pytest.mark.parametrize(
    ("edit", "because"),
    [
        (('account_id: "111122223333"', 'account_id: "999922223333"'), "accounts.aws.account_id"),
        (("bucket: inferfab-state-111122223333-prod", "bucket: another-bucket-999"), "state.bucket"),
        (("  region: us-east-1\n\naccess", "  region: us-east-1\n  key_prefix: b\n\naccess"), "state.key_prefix"),
    ],
)
def test_what_orphans_the_fleet_replaces_it(edit: tuple[str, str], because: str, edited: Edited) -> None:
    """All 200 GPUs of the three cells: made anew, beside those that nothing manages."""
    report = edited(edit)
    lines = report.fleets[0].destroyed
    assert [d.subject for d in lines] == ["cell use1-a", "cell use1-b", "cell usw2-c"]
    assert {(d.action, d.because_of) for d in lines} == {("replace", (because,))}
    assert report.verdict.exit_code == 4 and "200 GPUs" in report.verdict.why


ROUTING = (
    "routing:\n  domain: llm.example.com\n  policy: latency\n"
    "  users_near: [aws:us-east-1, aws:us-west-2, aws:eu-west-1]\n"
)


@pytest.mark.parametrize(
    ("edit", "action"), [(("domain: llm.example.com", "domain: llm.example.org"), "replace"), ((ROUTING, ""), "delete")]
)
def test_another_domain_and_none(edit: tuple[str, str], action: str, edited: Edited) -> None:
    """Three tiers have names: replaced by others, or gone."""
    report = edited(edit)
    assert [d.action for d in report.fleets[0].destroyed] == [action] * 3
    assert report.verdict.exit_code == 4


@pytest.mark.parametrize(
    ("edit", "subject", "kind"),
    [
        (("owner: ml-platform\n", "owner: ml-platform\nprotected: false\n"), "protected", "protection"),
        (("    permissions_boundary: inferfab-boundary\n", ""), "accounts.aws.permissions_boundary", "iam"),
        (("deploy_role: inferfab-deploy", "deploy_role: other"), "accounts.aws.deploy_role", "iam"),
        (
            ("deploy_role: inferfab-deploy", "deploy_role: inferfab-deploy\n    admin_roles: [Evil]"),
            "accounts.aws.admin_roles",
            "iam",
        ),
        (("runner_cidrs: [10.0.0.0/16]", "runner_cidrs: [10.0.0.0/12]"), "access.runner_cidrs", "network"),
        (("  emails: [ml-platform@example.com]", "  emails: []"), "alerts.emails", "protection"),
        (("  storage: [10.64.0.0/16]\n", ""), "kept_apart.storage", "network"),
        (("training: [10.80.0.0/12]", "training: [10.80.0.0/13]"), "kept_apart.training", "network"),
    ],
)
def test_what_opens(edit: tuple[str, str], subject: str, kind: str, edited: Edited) -> None:
    report = edited(edit)
    assert [(o.subject, o.kind) for o in report.fleets[0].opened] == [(subject, kind)]
    assert (report.verdict.word, report.verdict.exit_code) == ("REVIEW", 0)


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (("usd_per_month: 1200000", "usd_per_month: 12000000"), "budget raised from $1,200,000 to $12,000,000 a month"),
        (RULE, "rule lowered: IF-CST-001 to warning, because: the owner of the budget agreed"),
        (PRICE, "own prices change (p5en.48xlarge): costs before and after are from two price lists"),
    ],
)
def test_a_change_of_its_own_gates_is_said(edit: tuple[str, str], says: str, edited: Edited) -> None:
    report = edited(edit)
    assert report.verdict.word == "REVIEW" and says in report.verdict.why


def test_a_raised_or_removed_budget_does_not_let_its_own_change_pass(edited: Edited) -> None:
    """24 more GPUs cost $138,618 a month more than $1,114,477: over the $1,200,000 of the base."""
    more = ("{min: 8, desired: 8, max: 16}", "{min: 8, desired: 12, max: 16}")
    report = edited(more, ("usd_per_month: 1200000", "usd_per_month: 12000000"))
    assert report.verdict.exit_code == 3 and "the budget at the base is $1,200,000" in report.verdict.why
    assert any("budget raised" in r.what for r in report.verdict.reasons)


def test_accounts_are_named_by_leaf(edited: Edited) -> None:
    report = edited(("deploy_role: inferfab-deploy", "deploy_role: other"))
    rows = [(e.pool, e.what, e.before, e.after) for e in report.fleets[0].other]
    assert ("accounts", "aws.deploy_role", "inferfab-deploy", "other") in rows


OFF = (
    "budget:\n",
    "checks:\n  - {rule: IF-CST-001, severity: off, reason: the owner of the budget agreed}\nbudget:\n",
)


def test_a_rule_that_is_switched_off_stands_with_its_reason(edited: Edited) -> None:
    """A budget of $1M is breached by $1.1M; switched off, the finding is shown and is not gone."""
    report = edited(OFF, ("usd_per_month: 1200000", "usd_per_month: 1000000"))
    (finding,) = [f for f in report.fleets[0].findings.new if f.rule == "IF-CST-001"]
    assert finding.suppressed_because == "the owner of the budget agreed"
    assert report.fleets[0].findings.gone == ()
