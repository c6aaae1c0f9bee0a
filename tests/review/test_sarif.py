"""A review as SARIF 2.1.0, by its JSON Schema and by what code scanning needs of a result."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from review.conftest import Run
from review.plans import NO_SHARED, ROOT, SHARED, change, node_group, plan, written

SCHEMA = ROOT / "tests" / "conformance" / "schemas" / "sarif-2.1.0-rtm.5.json"
VALIDATOR = jsonschema.Draft4Validator(
    json.loads(SCHEMA.read_text(encoding="utf-8")), format_checker=jsonschema.FormatChecker()
)


def log_of(run: Run, *words: str) -> dict[str, Any]:
    _, out, _ = run(*words, "--format", "sarif")
    log: dict[str, Any] = json.loads(out)
    VALIDATOR.validate(log)
    return log


def test_a_review_with_everything_in_it(run: Run, tmp_path: Path) -> None:
    """Each result refers to its rule, has a place, a message and a fingerprint; levels are what blocks and what not."""
    group = node_group("p5.48xlarge", 1, 2, 4)
    file = written(
        tmp_path,
        plan(
            change("aws_eks_node_group.g", "delete", group),
            change("aws_eks_node_group.f", "forget", group),
            change("null_resource.n", "delete", {}),
            change("aws_ec2_capacity_block_reservation.b", "create", None, {"instance_type": "p5.48xlarge"}),
            change("aws_lb.l", "create", None, {"internal": False}),
            resource_drift=[change("aws_sns_topic.t", "update", {"a": 1}, {"a": 2})],
            errored=True,
        ),
    )
    (one,) = log_of(run, str(file))["runs"]
    found = {
        (r["ruleId"], r["level"], r["locations"][0]["logicalLocations"][0]["fullyQualifiedName"])
        for r in one["results"]
    }
    assert found == {
        ("review/plan-invalid", "error", "stack"),
        ("review/destroys", "error", "aws_eks_node_group.g"),
        ("review/disrupts", "warning", "aws_eks_node_group.f"),
        ("review/disrupts", "note", "null_resource.n"),
        ("review/buys", "error", "aws_ec2_capacity_block_reservation.b"),
        ("review/opens", "warning", "aws_lb.l"),
        ("review/drift", "warning", "aws_sns_topic.t"),
    }
    rules = one["tool"]["driver"]["rules"]
    for result in one["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["message"]["text"] and result["partialFingerprints"]
        assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].endswith("stack.json")


def test_findings_of_an_environment_keep_their_lines(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new error stands at the line of the file that has it."""
    text = (ROOT / "environments" / "prod.yaml").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prod.yaml").write_text(text.replace("tier: batch", "tier: bulk"), encoding="utf-8")
    line = 1 + next(n for n, one in enumerate(text.splitlines()) if "tier: batch" in one)
    (one,) = log_of(run, "--env", "prod.yaml", "--base", str(ROOT / "environments"))["runs"]
    places = {
        (r["ruleId"], p["artifactLocation"]["uri"], p["region"]["startLine"])
        for r in one["results"]
        for p in [r["locations"][0]["physicalLocation"]]
    }
    assert ("IF-REF-001", "prod.yaml", line) in places or any(p[1:] == ("prod.yaml", line) for p in places)


@pytest.mark.skipif(not SHARED.is_dir(), reason=NO_SHARED)
def test_published_plans_are_valid(run: Run) -> None:
    for file in sorted(SHARED.glob("*.json")):
        log_of(run, str(file))


def test_a_hostile_name_is_a_valid_log(run: Run, tmp_path: Path) -> None:
    """Also a file name with spaces, signs and letters beyond ASCII."""
    made = {**change("aws_sns_topic.t", "delete", {}), "address": "a\x1b[31m\ud800\n<b>" + "é" * 2000}
    path = tmp_path / "plan é %#?.json"
    path.write_text(json.dumps(plan(made)), encoding="utf-8")
    (one,) = log_of(run, str(path))["runs"]
    assert "\x1b" not in one["results"][0]["message"]["text"]


@pytest.mark.slow
def test_github_shows_five_thousand_results(run: Run, tmp_path: Path) -> None:
    """The worst are kept."""
    made = [change(f"aws_lb.l{n}", "create", None, {"internal": False}) for n in range(5_100)]
    file = written(tmp_path, plan(*made, change("aws_sns_topic.t", "delete", {})))
    (one,) = log_of(run, str(file))["runs"]
    assert len(one["results"]) == 5_000 and one["results"][0]["ruleId"] == "review/destroys"
