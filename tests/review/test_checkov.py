"""checkov's findings: new against old, our severities, construct paths; a run that read nothing is a failure."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from review.conftest import Run
from review.plans import change, plan, written

CHECKOV = os.environ.get("CHECKOV") or shutil.which("checkov")
PLAN = plan(change("aws_sns_topic.t", "create", None, {}))


def run_of(*failed: tuple[str, str], passed: int = 5, broken: int = 0) -> dict[str, Any]:
    """What checkov 3.3 writes for one framework."""
    checks = [
        {"check_id": rule, "check_name": f"Ensure {rule}", "resource": where, "file_path": "/plan.json",
         "file_line_range": [0, 0], "guideline": "https://x.example/g", "severity": None}
        for rule, where in failed
    ]  # fmt: skip
    return {
        "check_type": "terraform_plan",
        "results": {"passed_checks": [], "failed_checks": checks, "skipped_checks": [], "parsing_errors": []},
        "summary": {
            "passed": passed,
            "failed": len(failed),
            "skipped": 0,
            "parsing_errors": broken,
            "resource_count": 3,
        },
    }


def test_new_findings_against_old(run: Run, tmp_path: Path) -> None:
    """CKV_AWS_26 was there on one topic, not on the other; CKV_AWS_62 is an error of ours and new: exit code 3."""
    file = written(tmp_path, PLAN)
    old = written(tmp_path, run_of(("CKV_AWS_26", "aws_sns_topic.a")), "old.json")
    new = written(
        tmp_path,
        [
            run_of(("CKV_AWS_26", "aws_sns_topic.a"), ("CKV_AWS_26", "aws_sns_topic.b")),
            run_of(("CKV_AWS_62", "aws_iam_policy.p")),
        ],
        "new.json",
    )
    code, out, _ = run(str(file), "--checkov", str(new), "--checkov-base", str(old), "--format", "json")
    scanner = json.loads(out)["scanner"]
    assert code == 3
    assert [(f["rule"], f["subject"], f["severity"]) for f in scanner["new"]] == [
        ("CKV_AWS_62", "aws_iam_policy.p", "error"),
        ("CKV_AWS_26", "aws_sns_topic.b", "warning"),
    ]
    assert [f["subject"] for f in scanner["existing"]] == ["aws_sns_topic.a"]


def test_without_a_baseline_errors_do_not_block(run: Run, tmp_path: Path) -> None:
    """Nothing says that the change brought them: they are shown, and to be looked at."""
    file = written(tmp_path, PLAN)
    new = written(tmp_path, run_of(("CKV_AWS_62", "aws_iam_policy.p")), "new.json")
    code, out, _ = run(str(file), "--checkov", str(new))
    assert code == 0 and "REVIEW" in out and "CKV_AWS_62" in out


@pytest.mark.parametrize(
    ("document", "says"),
    [
        # As checkov 3.3.30 wrote it for an input that it could not parse, and for a folder with nothing in it.
        (run_of(passed=0, broken=1), "could not parse 1 file"),
        (run_of(("CKV_AWS_26", "a.b"), broken=2), "could not parse 2 file"),
        ({"passed": 0, "failed": 0, "skipped": 0, "parsing_errors": 0, "checkov_version": "3.3.30"}, "checked nothing"),
        (run_of(passed=0), "checked nothing"),
    ],
)  # fmt: skip
def test_a_run_that_read_nothing_is_a_failure(document: Any, says: str, run: Run, tmp_path: Path) -> None:
    file = written(tmp_path, PLAN)
    code, out, _ = run(str(file), "--checkov", str(written(tmp_path, document, "c.json")))
    assert code == 2 and says in out


@pytest.mark.parametrize("text", ["", "[1]", "{}", "not json", '{"results": 1}'])
def test_what_is_no_run(text: str, run: Run, tmp_path: Path) -> None:
    file = written(tmp_path, PLAN)
    code, _, err = run(str(file), "--checkov", str(written(tmp_path, text, "c.json")))
    assert code == 1 and "no JSON of checkov" in err


def test_construct_paths_stand_beside_addresses(run: Run, tmp_path: Path) -> None:
    stack = tmp_path / "out" / "stacks" / "s"
    stack.mkdir(parents=True)
    topic = {"//": {"metadata": {"path": "s/alerts/topic"}}}
    (stack / "cdk.tf.json").write_text(json.dumps({"resource": {"aws_sns_topic": {"topic_1": topic}}}))
    file = written(tmp_path, PLAN)
    found = written(tmp_path, run_of(("CKV_AWS_26", "aws_sns_topic.topic_1")), "c.json")
    _, out, _ = run(str(file), "--checkov", str(found), "--constructs", str(tmp_path / "out"))
    assert "aws_sns_topic.topic_1 (s/alerts/topic)" in out
    code, _, err = run(str(file), "--constructs", str(tmp_path / "nothing"))
    assert code == 1 and "no cdk.tf.json" in err


@pytest.mark.slow
@pytest.mark.skipif(CHECKOV is None, reason="no checkov here: `make scanner`, or name it in CHECKOV")
def test_a_real_run(run: Run, tmp_path: Path) -> None:
    """checkov itself, over a plan with a public bucket policy and over a folder without anything."""
    bucket = change("aws_s3_bucket.b", "create", None, {"bucket": "b"})
    resource = {
        "address": "aws_s3_bucket.b",
        "mode": "managed",
        "type": "aws_s3_bucket",
        "name": "b",
        "values": {"bucket": "b"},
    }
    document = plan(bucket, planned_values={"root_module": {"resources": [resource]}})
    file = written(tmp_path, document, "plan.json")
    (tmp_path / "empty").mkdir()
    for words, code in ((("-f", str(file)), 0), (("-d", str(tmp_path / "empty")), 2)):
        done = subprocess.run(
            (str(CHECKOV), *words, "-o", "json", "--soft-fail", "--compact", "--quiet"),
            capture_output=True,
            text=True,
            check=False,
        )
        found = written(tmp_path, done.stdout, "c.json")
        got, out, err = run(str(file), "--checkov", str(found))
        assert got == code, (out, err, done.stdout[:500])
        assert ("aws_s3_bucket.b" in out) and (code or "CKV" in out)
