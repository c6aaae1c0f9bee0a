"""The action and the workflow: what they run, with what rights, and that nothing a stranger writes becomes a script."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from review.conftest import git
from review.plans import ROOT, change, plan, written

ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "plan-review.yml").read_text(encoding="utf-8"))
SCRIPT = ROOT / ".github" / "review.sh"


def steps() -> list[dict[str, Any]]:
    return [*ACTION["runs"]["steps"], *WORKFLOW["jobs"]["review"]["steps"]]


def test_no_expression_stands_in_a_script() -> None:
    """A label or branch name would be run."""
    assert not [s for s in steps() if "${{" in s.get("run", "")]


def test_a_fork_needs_no_secret() -> None:
    """The event gives a fork's job no secret and a token that only reads; nothing here asks for more."""
    text = (ROOT / ".github" / "workflows" / "plan-review.yml").read_text(encoding="utf-8")
    assert "secrets." not in text and "pull_request_target" not in text
    assert set(WORKFLOW[True]) == {"pull_request"}  # YAML 1.1 reads `on` as true
    assert WORKFLOW["permissions"] == {"contents": "read"}
    number = next(s for s in ACTION["runs"]["steps"] if s.get("id") == "review")["env"]["NUMBER"]
    assert "head.repo.full_name == github.repository" in number


def test_every_environment_of_this_repository_is_reviewed() -> None:
    asked = next(s for s in WORKFLOW["jobs"]["review"]["steps"] if s.get("uses") == "./")["with"]["env"].split()
    assert asked == ["dev", "staging", "prod", "prod-gcp", "prod-global", "prod-hybrid"]
    assert sorted(asked) == sorted(p.stem for p in (ROOT / "environments").glob("*.yaml"))


def test_inputs_that_are_read_exist() -> None:
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    assert set(re.findall(r"inputs\.([a-z-]+)", text)) == set(ACTION["inputs"])


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A checkout with prod changed, as a pull request's job has it."""
    top = tmp_path / "repo"
    shutil.copytree(ROOT / "environments", top / "environments")
    git(tmp_path, "init", "-q", "-b", "main", str(top))
    git(top, "add", "-A")
    git(top, "commit", "-qm", "base")
    prod = top / "environments" / "prod.yaml"
    prod.write_text(prod.read_text(encoding="utf-8").replace("      nightly: {}\n", ""), encoding="utf-8")
    git(top, "commit", "-qam", "change")
    return top


@pytest.mark.slow
def test_a_merge_is_compared_with_what_it_merges_into(repo: Path) -> None:
    """The event names an older commit; since then the base took nightly away, as the branch did not."""
    prod = repo / "environments" / "prod.yaml"
    old = git(repo, "rev-parse", "HEAD~1").strip()
    git(repo, "checkout", "-q", "-b", "pull", old)
    (repo / "README").write_text("a change\n", encoding="utf-8")
    git(repo, "add", "README")
    git(repo, "commit", "-qm", "pull")
    git(repo, "checkout", "-q", "-b", "merge", "-")
    git(repo, "merge", "-q", "--no-ff", "-m", "merge", "pull")
    assert "nightly: {}" not in prod.read_text(encoding="utf-8")
    words = {"ENVIRONMENTS": "prod", "LABELS": "[]", "BASE": "", "EVENT_BASE": old}
    assert run_script(repo, GITHUB_REF="refs/pull/7/merge", **words)[0] == 0
    assert run_script(repo, GITHUB_REF="refs/heads/merge", **words)[0] == 4


def run_script(repo: Path, **more: str) -> tuple[int, dict[str, str], str]:
    """Exit code, outputs and stderr of the script."""
    output = repo / "output"
    output.write_text("")
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(repo), "INFERFAB": str(Path(sys.executable).with_name("inferfab")),
        "ARTIFACTS": "out dir", "GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(repo / "summary.md"),
        "REVISION": git(repo, "rev-parse", "HEAD").strip(), "BASE": git(repo, "rev-parse", "HEAD~1").strip(), **more,
    }  # fmt: skip
    done = subprocess.run(("bash", str(SCRIPT)), cwd=repo, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, dict(line.split("=", 1) for line in output.read_text().splitlines()), done.stderr


@pytest.mark.slow
def test_the_script_reviews_environments_and_plans(repo: Path) -> None:
    """Names with spaces around, globs, a plan name with a space; the job fails with the review's exit code."""
    written(repo, plan(change("aws_sns_topic.t", "create", None, {})), "a b.json")
    code, outputs, err = run_script(repo, ENVIRONMENTS="  dev \nprod\n\n", PLANS="*.json\n", LABELS="[]")
    assert (code, outputs) == (4, {"exit-code": "4", "verdict": "BLOCK"}), err
    assert sorted(p.name for p in (repo / "out dir").iterdir()) == [
        "review.html",
        "review.json",
        "review.md",
        "review.sarif",
    ]
    report = json.loads((repo / "out dir" / "review.json").read_text())
    assert [f["environment"] for f in report["fleets"]] == ["dev", "prod"]
    assert [s["name"] for s in report["stacks"]] == ["a b"]
    assert (repo / "summary.md").read_text().startswith("## 🛑 BLOCK")


@pytest.mark.slow
def test_a_label_allows_and_is_never_run(repo: Path) -> None:
    """Labels come as JSON; one that looks like a command or an option is a label like any other."""
    labels = ["$(touch pwned)", "`touch pwned`", "--out=/x", 'a"b\nc', "inferfab:allow-destroy"]
    code, outputs, err = run_script(repo, ENVIRONMENTS="prod", LABELS=json.dumps(labels))
    assert (code, outputs["verdict"]) == (0, "REVIEW"), err
    assert not (repo / "pwned").exists()


def test_a_missing_plan_fails_the_job(repo: Path) -> None:
    code, outputs, err = run_script(repo, PLANS="plans/*.json", LABELS="null")
    assert code == 1, err
    assert outputs["exit-code"] == "1" and "there is no such plan: plans/*.json" in err


@pytest.mark.slow
def test_an_earlier_verdict_is_not_told_again(repo: Path) -> None:
    """The second run fails before it writes anything."""
    written(repo, plan(change("aws_sns_topic.t", "create", None, {})), "a.json")
    assert run_script(repo, PLANS="a.json", LABELS="[]")[1] == {"exit-code": "0", "verdict": "OK"}
    code, outputs, _ = run_script(repo, PLANS="missing.json", LABELS="[]")
    assert (code, outputs) == (1, {"exit-code": "1", "verdict": ""})


@pytest.mark.slow
def test_globs_through_folders_and_commas(repo: Path) -> None:
    """`**` at any depth; environments with commas between."""
    for name in ("x", "y/z"):
        (repo / "reviews" / name).mkdir(parents=True)
        written(repo / "reviews" / name, plan(change("aws_sns_topic.t", "create", None, {})), f"{name[-1]}.json")
    code, _, err = run_script(repo, ENVIRONMENTS="prod, dev", PLANS="reviews/**/*.json", LABELS="[]")
    report = json.loads((repo / "out dir" / "review.json").read_text())
    assert code == 4, err
    assert [f["environment"] for f in report["fleets"]] == ["prod", "dev"]
    assert [s["name"] for s in report["stacks"]] == ["x", "z"]
