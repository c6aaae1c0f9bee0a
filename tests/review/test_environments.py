"""An environment against its base: git, plans, folders; what changes, and the verdict on it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from inferfab.catalog.plan_review import plan_review_facts
from inferfab.plan.quantities import Range
from inferfab.review import Asked, Report, review
from review.conftest import DEV, PROD, Run, git
from review.plans import change, node_group, plan, written


def test_nothing_changes(edited: Callable[..., Report]) -> None:
    report = edited()
    (fleet,) = report.fleets
    assert (report.verdict.word, report.verdict.exit_code, report.verdict.why) == ("OK", 0, "nothing changes")
    assert fleet.state == "unchanged" and fleet.base.startswith("main (")
    assert fleet.findings.new == () and fleet.findings.existing


def test_four_more_documents_nodes(edited: Callable[..., Report]) -> None:
    """Documents: 8 workers of 2 GPUs in 3 cells are 2 nodes of p5en.48xlarge each; with 12 workers 3.

    So 24 GPUs more, at $63.296 an hour a node (both regions): 3 x 63.296 x 730 = $138,618.24 a month more.
    The budget of $1.2M is breached: $1,114,477 + $138,618.
    """
    report = edited(("{min: 8, desired: 8, max: 16}", "{min: 8, desired: 12, max: 16}"))
    (fleet,) = report.fleets
    total, h200 = (next(g for g in fleet.gpus if (g.axis, g.name) == key) for key in (("all", "all"), ("type", "h200")))
    assert total.after.desired.low - total.before.desired.low == 24 == h200.after.desired.low - h200.before.desired.low
    line = fleet.cost("desired")
    assert line is not None
    assert line.after.usd_per_month.low - line.before.usd_per_month.low == pytest.approx(138_618.24)
    assert report.verdict.exit_code == 3 and "budget" in report.verdict.why
    served = next(s for s in fleet.served if (s.cell, s.pool) == ("use1-a", "documents"))
    assert served.before and served.after and served.after.low == pytest.approx(served.before.low * 1.5)


def test_one_change_may_rise_by_so_much(edited: Callable[..., Report], repo: Path) -> None:
    """The ceiling on a single change, in the environment beside the budget; raised by a change before it."""
    more = ("{min: 8, desired: 8, max: 16}", "{min: 8, desired: 12, max: 16}")
    higher = ("usd_per_month: 1200000", "usd_per_month: 1300000\n  usd_per_month_rise: {}")
    for rise, code in ((100_000, 3), (150_000, 0)):
        edited((higher[0], higher[1].format(rise)))
        git(repo, "commit", "-qam", "ceiling")
        report = edited(more, (higher[0], higher[1].format(rise)), base="HEAD")
        assert report.verdict.exit_code == code
        assert ("one change may add $100,000" in report.verdict.why) == (code == 3)


def test_a_pool_taken_from_a_cell_is_destroyed(edited: Callable[..., Report]) -> None:
    """Nightly in use1-a: 2 (0 to 8) nodes of four L40S, gone for good; its override label lets it pass.

    No other cell serves its tier, so the tier's name goes too.
    """
    edit = ("      nightly: {}\n", "")
    report = edited(edit)
    line, name = (d for d in report.fleets[0].destroyed if d.blocks)
    assert (name.subject, name.action) == ("name batch.llm.example.com", "delete")
    assert (line.subject, line.action, line.seconds_without) == ("use1-a/nightly", "delete", None)
    assert line.gpus_lost.desired.low == 8 and line.gpus_lost.max.low == 32
    assert report.verdict.exit_code == 4 and "inferfab:allow-destroy" in report.verdict.why
    allowed = edited(edit, labels=("inferfab:allow-destroy", "other"))
    assert (allowed.verdict.word, allowed.verdict.exit_code) == ("REVIEW", 0)
    assert allowed.verdict.labels == ("inferfab:allow-destroy",)


def test_another_zone_is_another_cell(edited: Callable[..., Report]) -> None:
    report = edited(("zone: us-west-2c", "zone: us-west-2b"))
    (line,) = report.fleets[0].destroyed
    assert (line.subject, line.action, line.because_of) == ("cell usw2-c", "replace", ("zone",))
    assert line.gpus_lost.desired.low == 64  # 2 + 2 + 1 + 1 + 2 nodes of 8


def test_spot_to_on_demand_replaces_the_group(edited: Callable[..., Report]) -> None:
    """EKS keeps a node group's capacity type for its life."""
    report = edited(("    capacity: {kind: spot}\n", ""))
    (line,) = report.fleets[0].destroyed
    assert (line.action, line.because_of) == ("replace", ("capacity",))
    assert line.seconds_without == Range(low=966, high=None)


def test_another_machine_rolls_the_nodes(edited: Callable[..., Report]) -> None:
    report = edited(("instance: g6e.12xlarge", "instance: g6e.24xlarge"))
    (line,) = report.fleets[0].destroyed
    assert (line.action, line.blocks) == ("roll nodes", False) and "instance" in line.because_of


def test_engine_changes_stand_by_pool(edited: Callable[..., Report]) -> None:
    """A flag, a promise and a model's field: each once, not once a cell."""
    report = edited(
        ("cpu_gib_per_gpu: 120", "cpu_gib_per_gpu: 60"),
        ("percentile: 95, at_most_ms: 500}", "percentile: 95, at_most_ms: 450}"),
    )
    lines = [(e.pool, e.what) for e in report.fleets[0].engine]
    assert ("tier priority", "ttft p95") in lines
    assert ("chat-priority, chat-standard (model llama-70b)", "cpu_tier_bytes_per_gpu") in lines
    assert len(lines) == len(set(lines))
    assert "promises of prod change" in report.verdict.why


def test_a_new_error_is_told_from_an_old_one(edited: Callable[..., Report], repo: Path) -> None:
    """By rule and path, whatever line it moved to."""
    broken = ("usd_per_month: 1200000", "usd_per_month: 1000000")
    first = edited(broken)
    assert [f.rule for f in first.fleets[0].findings.new if f.severity == "error"] == ["IF-CST-001"]
    git(repo, "commit", "-qam", "breach")
    second = edited(broken, ("name: prod\n", "name: prod\n# a comment\n"), base="HEAD")
    findings = second.fleets[0].findings
    assert [f.rule for f in findings.existing if f.severity == "error"] == ["IF-CST-001"] and not findings.new
    fixed = edited(base="HEAD")
    assert [f.rule for f in fixed.fleets[0].findings.gone] == ["IF-CST-001"]


def test_an_environment_with_errors_has_no_plan(edited: Callable[..., Report]) -> None:
    report = edited(("tier: batch", "tier: bulk"))
    assert (report.verdict.word, report.verdict.exit_code) == ("BLOCK", 2)
    assert report.fleets[0].state == "broken" and report.fleets[0].findings.new_errors


def test_a_broken_base_is_said_and_hides_nothing(edited: Callable[..., Report], repo: Path) -> None:
    edited(("tier: batch", "tier: bulk"))
    git(repo, "commit", "-qam", "broken")
    report = edited(base="HEAD")
    (fleet,) = report.fleets
    assert fleet.state == "not compared" and "nothing before is known" in fleet.unseen[0].what
    assert fleet.gpus[0].before.desired == Range(low=0, high=None)
    assert fleet.gpus[0].after.desired.low == 200


def test_a_new_environment_and_a_removed_one(repo: Path) -> None:
    """A file that the base does not have; one that only the base has."""
    Path("environments/new.yaml").write_text(DEV.replace("name: dev", "name: new"), encoding="utf-8")
    Path("environments/dev.yaml").unlink()
    report = review(
        Asked(environments=[Path("environments/new.yaml"), Path("environments/dev.yaml")], base="main")
    ).report
    new, gone = report.fleets
    assert (new.state, gone.state) == ("new", "removed")
    assert new.gpus[0].before.desired.low == 0 and gone.gpus[0].after.desired.low == 0
    assert [d.action for d in gone.destroyed] == ["delete"]
    assert report.verdict.exit_code == 4


def test_only_the_remote_branch_is_there(repo: Path, run: Run, tmp_path: Path) -> None:
    """As after a checkout of a pull request: origin/main, no main."""
    clone = tmp_path / "clone"
    git(repo, "commit", "-q", "--allow-empty", "-m", "x")
    git(tmp_path, "clone", "-q", "-b", "change", str(repo), str(clone))
    path = clone / "fleet" / "environments" / "prod.yaml"
    (fleet,) = review(Asked(environments=[path], base="main")).report.fleets
    assert fleet.base.startswith("origin/main (") and fleet.state == "unchanged"


def test_a_base_that_is_a_plan_or_a_folder(repo: Path, run: Run, tmp_path: Path) -> None:
    """A saved plan carries no findings: all count as new, and the report says so."""
    from inferfab import check

    folder = tmp_path / "old"
    folder.mkdir()
    fleet = check("environments/prod.yaml").plan
    assert fleet is not None
    (folder / "prod.plan.json").write_text(fleet.to_json(), encoding="utf-8")
    for base in (folder / "prod.plan.json", folder, Path("environments"), Path("environments/prod.yaml")):
        (found,) = review(Asked(environments=[Path("environments/prod.yaml")], base=str(base))).report.fleets
        assert found.state == "unchanged", base
    code, out, _ = run("--env", "prod", "--base", str(folder))
    assert code == 0 and "nothing to compare some of them with" in out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--env", "prod", "--base", "nowhere"), "git knows no such revision"),
        (("--env", "prod", "--base", "--upload-pack=x"), "git knows no such revision"),
        (("--env", "prod", "--base", "no/such.json"), "there is no such file"),
        (("--env", "prod", "--base", " "), "--base is empty"),
        (("--env", ""), "--env is empty"),
        (("--env", "nothing", "--base", "main"), "no such environment"),
        (("--env", "prod", "--base", "environments/broken.json"), "not JSON"),
        ((), "nothing to review"),
        (("--base", "main"), "nothing to review"),
        (("missing.json",), "there is no such plan"),
        (("--env", "prod", "--checkov", "environments/prod.yaml"), "is no JSON of checkov"),
        (("--env", "prod", "--at", "yesterday", "--comment", "1", "--dry-run"), "ISO 8601"),
        (("--env", "prod", "--comment", "1"), "GITHUB_TOKEN"),
        (("--nope",), "No such option"),
        (("--env", "prod", "--format", "pdf"), "pdf"),
    ],
)
def test_what_cannot_be_asked(
    words: tuple[str, ...], says: str, repo: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 1, one message, no traceback, nothing on stdout: 2 is kept for plans."""
    for name in ("GITHUB_TOKEN", "GH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    Path("environments/broken.json").write_text("{", encoding="utf-8")
    code, out, err = run(*words)
    assert code == 1, (out, err)
    assert says in " ".join(err.replace("│", " ").split()) and "Traceback" not in err and out == ""


def test_outside_of_git(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "e.yaml").write_text(DEV, encoding="utf-8")
    code, _, err = run("--env", "e.yaml", "--base", "main")
    assert code == 1 and "in no git repository" in err


def test_a_plan_takes_tiers_and_prices_from_the_environment(edited: Callable[..., Report], repo: Path) -> None:
    """The pool's label names the tier; the team's own price of $50 goes before the list's $63.296."""
    own = (
        "budget:\n  usd_per_month: 1200000",
        "prices:\n  overlay:\n    - {cloud: aws, instance: p5en.48xlarge, kind: on_demand, usd_per_hour: 50, "
        'source: contract, as_of: "2026-11-01"}\nbudget:\n  usd_per_month: 1200000',
    )
    edited(own)
    labels = {"inferfab/pool": "documents", "inferfab/cell": "use1-a", "inferfab/role": "worker"}
    made = change("aws_eks_node_group.g", "create", None, node_group("p5en.48xlarge", 1, 2, 4, labels=labels))
    file = written(repo, plan(made))
    report = review(Asked(environments=[Path("environments/prod.yaml")], base="main", plans=[file])).report
    (stack,) = report.stacks
    line = next(m for m in stack.money if (m.scope, m.size) == ("tier standard", "desired"))
    assert line.after.usd_per_hour == Range.exact(100.0)


def test_every_formats_shape(edited: Callable[..., Report], repo: Path, run: Run, tmp_path: Path) -> None:
    """--artifacts writes all four, stdout has the asked one; JSON reads back equal."""
    edited(("      nightly: {}\n", ""))
    folder = tmp_path / "out"
    code, out, _ = run(
        "--env", "prod", "--env", "dev", "--base", "main", "--artifacts", str(folder), "--format", "json"
    )
    assert code == 4
    assert sorted(p.name for p in folder.iterdir()) == ["review.html", "review.json", "review.md", "review.sarif"]
    report = Report.model_validate_json(out)
    assert (
        report.model_dump_json() == Report.model_validate_json((folder / "review.json").read_text()).model_dump_json()
    )
    assert [f.state for f in report.fleets] == ["changed", "unchanged"]
    assert "`dev`" in (folder / "review.md").read_text().split("### Unchanged")[1]
    assert json.loads((folder / "review.sarif").read_text())["version"] == "2.1.0"


def test_every_action_has_its_seconds() -> None:
    """The data file has a row for each action that a review may show."""
    from typing import get_args

    from inferfab.review.lines import Action

    assert set(plan_review_facts().capacity_loss) == set(get_args(Action))


def test_a_review_of_another_job_is_taken_as_it_is(run: Run, tmp_path: Path) -> None:
    """The plan stays where it was made; its review, which holds no secret, is judged again with today's labels."""
    file = written(tmp_path, plan(change("aws_s3_bucket.b", "delete", {"bucket": "b"}, None)), "stack-a.json")
    saved = tmp_path / "saved.json"
    assert run(str(file), "--format", "json", "--out", str(saved))[0] == 4
    other = written(tmp_path, plan(change("aws_sns_topic.t", "create", None, {})), "stack-b.json")
    code, out, _ = run(str(saved), str(other))
    assert code == 4 and "aws_s3_bucket.b" in out and "stack-a" in out and "aws_sns_topic.t" in out
    assert run(str(saved), "--label", "inferfab:allow-destroy")[0] == 0
    for text, says in (
        (saved.read_text().replace('"review_version": 1', '"review_version": 2'), "version 2"),
        (saved.read_text()[:-20], "not whole"),
        (saved.read_text().replace('"stacks"', '"stakcs"'), "broken review"),
    ):
        saved_badly = tmp_path / "bad.json"
        saved_badly.write_text(text)
        code, _, err = run(str(saved_badly))
        assert code == 2 and says in err


@pytest.mark.slow
def test_the_job_summary_fits(run: Run, tmp_path: Path) -> None:
    """GitHub shows a summary of up to 1 MiB; ours is appended to what is there."""
    file = written(tmp_path, plan(*(change(f"aws_s3_bucket.{'é' * 90}{n}", "delete", {}, None) for n in range(8_000))))
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    assert run(str(file), "--summary", str(summary))[0] == 4
    assert summary.read_text().startswith("before\n## ") and summary.stat().st_size < 2**20


def test_a_base_of_another_environment_is_said(repo: Path) -> None:
    report = review(Asked(environments=[Path("environments/prod.yaml")], base="environments/dev.yaml")).report
    assert any("the base is of environment dev, not prod" in u.what for u in report.fleets[0].unseen)


def test_a_plan_of_another_revision_is_said(edited: Callable[..., Report], repo: Path) -> None:
    """The plan knows documents with at most 4 nodes, the environment with 6."""
    edited(("{min: 8, desired: 8, max: 16}", "{min: 8, desired: 8, max: 24}"))
    labels = {"inferfab/pool": "documents", "inferfab/cell": "use1-a", "inferfab/role": "worker"}
    made = change("aws_eks_node_group.g", "create", None, node_group("p5en.48xlarge", 2, 2, 4, labels=labels))
    file = written(repo, plan(made))
    asked = Asked(environments=[Path("environments/prod.yaml")], base="main", plans=[file])
    (line,) = review(asked).report.stacks[0].unseen
    assert "plan and environment disagree: 2 (2–4) × p5en.48xlarge in the plan, 2–6 × p5en.48xlarge" in line.what
    edited()
    assert review(asked).report.stacks[0].unseen == ()


def test_a_review_handed_on_says_each_thing_once(edited: Callable[..., Report], repo: Path, run: Run) -> None:
    """The documented two jobs: a disagreement is told by the job that made the plan and by the one that judges."""
    edited(("{min: 8, desired: 8, max: 16}", "{min: 8, desired: 8, max: 24}"))
    labels = {"inferfab/pool": "documents", "inferfab/cell": "use1-a", "inferfab/role": "worker"}
    made = change("aws_eks_node_group.g", "create", None, node_group("p5en.48xlarge", 2, 2, 4, labels=labels))
    strange = change("azurerm_linux_virtual_machine.v", "create", None, {"size": "Standard_NC24ads_A100_v4"})
    file, saved = written(repo, plan(made, strange)), repo / "saved.json"
    run(str(file), "--env", "prod", "--format", "json", "--out", str(saved))
    asked = Asked(environments=[Path("environments/prod.yaml")], base="main", plans=[saved])
    whats = sorted(u.what[:20] for u in review(asked).report.stacks[0].unseen)
    assert whats == ["names Standard_NC24a", "plan and environment"]
    edited()
    assert [u.what[:5] for u in review(asked).report.stacks[0].unseen] == ["names"]


def test_environments_whose_cells_are_called_alike(edited: Callable[..., Report], repo: Path) -> None:
    """Two with a cell use1-a and a pool documents, in tiers of other names: a plan of the one agrees with it."""
    edited(("{min: 8, desired: 8, max: 16}", "{min: 8, desired: 8, max: 24}"))
    other = Path("environments/other.yaml")
    other.write_text(PROD.replace("name: prod", "name: other").replace("tier: standard", "tier: batch"))
    labels = {"inferfab/pool": "documents", "inferfab/cell": "use1-a", "inferfab/role": "worker"}
    made = change("aws_eks_node_group.g", "create", None, node_group("p5en.48xlarge", 2, 2, 4, labels=labels))
    asked = Asked(environments=[Path("environments/prod.yaml"), other], plans=[written(repo, plan(made))])
    (stack,) = review(asked).report.stacks
    assert stack.unseen == ()
    assert [line.name for line in stack.gpus if line.axis == "tier"] == ["not said"]
