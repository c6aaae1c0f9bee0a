"""Plans that a real terraform or tofu makes, with the built-in terraform_data: every action, as it is written today."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from inferfab.review import Asked, Report, review
from review.conftest import Run

PROGRAM = shutil.which("terraform") or shutil.which("tofu")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(PROGRAM is None, reason="neither terraform nor tofu is on this machine"),
]
SECRET = "hunter2-real"


def run_terraform(folder: Path, *words: str) -> str:
    """Without the user's settings or the network."""
    settings = folder / "settings.tfrc"
    settings.write_text(f'provider_installation {{\n  filesystem_mirror {{\n    path = "{folder}"\n  }}\n}}\n')
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TF_")}
    quiet = {"TF_CLI_CONFIG_FILE": str(settings), "CHECKPOINT_DISABLE": "1", "TF_IN_AUTOMATION": "1"}
    done = subprocess.run(
        [str(PROGRAM), f"-chdir={folder}", *words], env={**kept, **quiet}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


BEFORE = """
resource "terraform_data" "kept" { input = "same" }
resource "terraform_data" "updated" { input = "old" }
resource "terraform_data" "replaced" {
  input            = "x"
  triggers_replace = ["one"]
}
resource "terraform_data" "first" {
  input            = "x"
  triggers_replace = ["one"]
  lifecycle { create_before_destroy = true }
}
resource "terraform_data" "gone" { input = "x" }
resource "terraform_data" "old_name" { input = "x" }
resource "terraform_data" "forgotten" { input = "x" }
resource "terraform_data" "counted" {
  count = 2
  input = "x"
}
resource "terraform_data" "keyed" {
  for_each = toset(["a", "b|c"])
  input    = each.key
}
variable "password" {
  default   = "hunter2-real-old"
  sensitive = true
}
resource "terraform_data" "secret" { input = var.password }
output "secret" {
  value     = terraform_data.secret.output
  sensitive = true
}
"""
AFTER = """
resource "terraform_data" "kept" { input = "same" }
resource "terraform_data" "updated" { input = "new" }
resource "terraform_data" "replaced" {
  input            = "x"
  triggers_replace = ["two"]
}
resource "terraform_data" "first" {
  input            = "x"
  triggers_replace = ["two"]
  lifecycle { create_before_destroy = true }
}
resource "terraform_data" "new_name" { input = "x" }
moved {
  from = terraform_data.old_name
  to   = terraform_data.new_name
}
removed {
  from = terraform_data.forgotten
  lifecycle { destroy = false }
}
resource "terraform_data" "counted" {
  count = 1
  input = "x"
}
resource "terraform_data" "keyed" {
  for_each = toset(["a"])
  input    = each.key
}
resource "terraform_data" "created" { input = "x" }
resource "terraform_data" "imported" {}
import {
  to = terraform_data.imported
  id = "some-id"
}
variable "password" {
  default   = "hunter2-real-new"
  sensitive = true
}
resource "terraform_data" "secret" { input = var.password }
output "secret" {
  value     = terraform_data.secret.output
  sensitive = true
}
check "always" {
  assert {
    condition     = terraform_data.kept.output == "other"
    error_message = "hunter2-real-check"
  }
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state of BEFORE, and plan.json of AFTER."""
    made = tmp_path_factory.mktemp("real")
    (made / "main.tf").write_text(BEFORE, encoding="utf-8")
    run_terraform(made, "init", "-input=false")
    run_terraform(made, "apply", "-auto-approve", "-input=false")
    (made / "main.tf").write_text(AFTER, encoding="utf-8")
    run_terraform(made, "plan", "-input=false", "-out=tfplan")
    (made / "stack-a.json").write_text(run_terraform(made, "show", "-json", "tfplan"), encoding="utf-8")
    (made / "text.txt").write_text(run_terraform(made, "show", "-no-color", "tfplan"), encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def report(folder: Path) -> Report:
    return review(Asked(plans=[folder / "stack-a.json"])).report


def test_every_action_of_a_real_plan(report: Report) -> None:
    (stack,) = report.stacks
    assert stack.problem == "" and stack.incomplete == ""
    assert stack.format_version == json.loads(stack.model_dump_json())["format_version"] >= "1.0"
    wanted = {"create": 1, "delete": 3, "forget": 1, "import": 1, "move": 1, "replace": 2, "update": 2}
    assert {k: v for k, v in stack.counts.items() if k != "no-op"} == wanted
    assert "terraform_data.kept" not in {u.subject for u in stack.updates}


def test_what_a_real_plan_destroys_and_why(report: Report) -> None:
    """Reasons and replace_paths as Terraform writes them."""
    lines = {d.subject: (d.action, d.reason, d.because_of) for d in report.stacks[0].destroyed}
    cannot = "it cannot be updated in place"
    assert lines == {
        "terraform_data.replaced": ("replace", cannot, ("triggers_replace",)),
        "terraform_data.first": ("replace, create first", cannot, ("triggers_replace",)),
        "terraform_data.gone": ("delete", "it is no longer in the configuration", ()),
        "terraform_data.counted[1]": ("delete", "its index is out of range for count", ()),
        'terraform_data.keyed["b|c"]': ("delete", "its key is no longer in for_each", ()),
        "terraform_data.forgotten": ("forget", "it is no longer in the configuration", ()),
    }
    # A terraform_data holds nothing: listed, and no label is asked for.
    assert all(d.harmless for d in report.stacks[0].destroyed) and report.verdict.exit_code == 0


def test_moves_imports_checks_and_secrets(report: Report) -> None:
    (stack,) = report.stacks
    by_subject = {u.subject: u for u in stack.updates}
    assert by_subject["terraform_data.new_name"].moved_from == "terraform_data.old_name"
    assert "import" in by_subject["terraform_data.imported"].action
    assert "input (sensitive)" in by_subject["terraform_data.secret"].changed
    assert stack.outputs_changed == ("secret",)
    assert stack.failed_checks == ("check.always",)


def test_no_secret_of_a_real_plan_is_printed(folder: Path, run: Run) -> None:
    """The state and the plan hold it in the clear."""
    plan = folder / "stack-a.json"
    assert SECRET in plan.read_text(encoding="utf-8")
    for each in ("markdown", "html", "json", "sarif"):
        code, out, err = run(str(plan), "--format", each)
        assert code == 0 and SECRET not in out + err


def test_the_binary_plan_and_the_text_get_the_command(folder: Path, run: Run) -> None:
    for name, says in (("tfplan", "binary plan"), ("text.txt", "plan as text")):
        code, _, err = run(str(folder / name))
        assert code == 2 and says in err and "terraform show -json" in err


def test_an_unchanged_stack_is_one_line(folder: Path, tmp_path: Path, run: Run) -> None:
    """A plan that does nothing: OK, and nothing but its name."""
    (tmp_path / "main.tf").write_text('resource "terraform_data" "a" { input = 1 }\n')
    run_terraform(tmp_path, "init", "-input=false")
    run_terraform(tmp_path, "apply", "-auto-approve")
    run_terraform(tmp_path, "plan", "-out=tfplan")
    plan = tmp_path / "quiet.json"
    plan.write_text(run_terraform(tmp_path, "show", "-json", "tfplan"), encoding="utf-8")
    code, out, _ = run(str(plan))
    assert code == 0
    assert " ".join(out.split()) == "## ✅ OK: nothing changes ### Unchanged `plan of quiet`."


def test_a_destroyed_stack(folder: Path, run: Run, tmp_path: Path) -> None:
    """`plan -destroy`: everything, with the reason that Terraform gives (none)."""
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    (copy / "main.tf").write_text(BEFORE, encoding="utf-8")
    run_terraform(copy, "plan", "-destroy", "-out=gone")
    (copy / "all.json").write_text(run_terraform(copy, "show", "-json", "gone"), encoding="utf-8")
    code, out, _ = run(str(copy / "all.json"))
    assert code == 0 and out.count("| delete | no reason is given") == 12
