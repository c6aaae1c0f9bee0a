"""The workflow as actionlint reads it, and its script run by bash with programs that note what they are asked."""

import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from inferfab import check, load
from inferfab.plan.fleet import FleetPlan
from inferfab.render.rollout import NotAWorkflow, rollout_files

ROOT = Path(__file__).resolve().parents[2]
RUN_ENV = {"ENVIRONMENT": "prod", "FILE": "environments/prod.yaml", "CELL": "use1-b", "BASELINE": "use1-a usw2-c"}


@cache
def fleet() -> FleetPlan:
    found = check(load(ROOT / "environments" / "prod.yaml")).plan
    assert found is not None
    return found


@cache
def files() -> dict[str, str]:
    assert fleet().rollout is not None
    return rollout_files(fleet(), fleet().rollout, file="environments/prod.yaml", runner="self-hosted")  # type: ignore[arg-type]


def workflow() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(files()["workflows/rollout-prod.yml"])
    return found


def test_cells_wait_for_each_other_and_all_are_backed_out() -> None:
    """In the order of the file; each deed by the one script; the last undone first."""
    jobs = workflow()["jobs"]
    assert list(jobs) == ["cell-use1-b", "cell-usw2-c", "cell-use1-a", "back-out", "done"]
    assert "needs" not in jobs["cell-use1-b"]
    assert (jobs["cell-usw2-c"]["needs"], jobs["cell-use1-a"]["needs"]) == (["cell-use1-b"], ["cell-usw2-c"])
    deeds = [s["run"].split(".sh ")[1] for s in jobs["cell-use1-b"]["steps"] if ".sh " in s.get("run", "")]
    assert deeds == [
        "install", "shares new 38", "serve new", "judge", "shares new 50", "judge", "shares new 100", "judge",
        "retire new",
    ]  # fmt: skip
    west = [s["run"].split(".sh ")[1] for s in jobs["cell-usw2-c"]["steps"] if ".sh " in s.get("run", "")]
    assert west == ["install", "serve new", "judge", "retire new"]
    # The last cell has only changed ones beside it.
    assert jobs["cell-usw2-c"]["env"]["BASELINE"] == "use1-a"
    assert jobs["cell-use1-a"]["env"]["BASELINE"] == "use1-b usw2-c"
    back = jobs["back-out"]
    assert back["needs"] == ["cell-use1-b", "cell-usw2-c", "cell-use1-a"]
    assert "failure" in back["if"] and "cancelled" in back["if"] and "always()" in back["if"]
    cells = [s["env"]["CELL"] for s in back["steps"] if "CELL" in s.get("env", {})]
    assert cells == ["use1-a", "usw2-c", "use1-b"]


def test_it_may_little_and_pins_all() -> None:
    found = workflow()
    assert found["permissions"] == {}
    assert found["concurrency"]["cancel-in-progress"] is False
    for job in found["jobs"].values():
        for step in job["steps"]:
            if "uses" in step:
                assert len(step["uses"].split("@")[1]) == 40
    writes = {name for name, job in found["jobs"].items() if "write" in (job["permissions"].get("contents"),)}
    assert writes == {"back-out", "done"}


def test_a_file_outside_of_the_repository_is_refused() -> None:
    for file in ("/srv/prod.yaml", "../prod.yaml", "prod.yaml"):
        with pytest.raises(NotAWorkflow, match="top of the repository"):
            rollout_files(fleet(), fleet().rollout, file=file, runner="x")  # type: ignore[arg-type]


def test_actionlint_finds_nothing(tmp_path: Path) -> None:
    program = os.environ.get("ACTIONLINT") or shutil.which("actionlint")
    if not program:
        pytest.skip("actionlint is not on this machine: put it on the PATH or name it in ACTIONLINT")
    path = tmp_path / ".github" / "workflows" / "rollout-prod.yml"
    path.parent.mkdir(parents=True)
    path.write_text(files()["workflows/rollout-prod.yml"], encoding="utf-8")
    done = subprocess.run([program, "-no-color", str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


class Runner:
    """Two checkouts, and programs that note their arguments and answer from files."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.log = folder, folder / "log"
        programs = folder / "bin"
        programs.mkdir()
        self.log.touch()
        note = f'echo "$(basename "$0") $*" >> {self.log}\n'
        for name in ("terraform", "aws", "gh", "gcloud"):
            self._program(programs / name, note)
        self._program(programs / "git", note + '[ "$1" != diff ]\n')
        self._program(
            programs / "kubectl",
            note
            + 'case "$1" in get) echo old-graph-000000 chat-priority-decode-new;; port-forward) exec sleep 30;; esac\n',
        )
        plan = {"cells": [{"name": "use1-b", "serving": {"graphs": [{"name": "chat-priority-decode-new"}]}}]}
        for tree in ("new", "base"):
            (folder / tree / ".venv" / "bin").mkdir(parents=True)
            (folder / tree / "environments").mkdir()
            (folder / tree / "environments" / "prod.yaml").write_text(f"{tree}\n", encoding="utf-8")
            self._program(
                folder / tree / ".venv" / "bin" / "inferfab",
                f'echo "inferfab-{tree} $*" >> {self.log}\n'
                f"case \"$1 $2\" in plan*) echo '{json.dumps(plan)}';; 'rollout judge') "
                f'n=$(cat {folder}/codes | head -1); sed -i 1d {folder}/codes; exit "${{n:-10}}";; esac\n',
            )
        (programs / "python3").symlink_to(sys.executable)
        workflow_env = workflow()["env"]
        self.env = {
            **RUN_ENV,
            "PATH": f"{programs}:{os.environ['PATH']}",
            "RUNNER_TEMP": str(folder),
            "MINUTE_SECONDS": "1",
            "SETTLE_SECONDS": "0",
            "LOOK_SECONDS": "0.1",
            "JUDGE_MINUTES": "0",
            "LONGEST_MINUTES": "180",
            **{name: workflow_env[name] for name in ("CELLS", "PROMETHEUS")},
        }
        (folder / "rollout.sh").write_text(files()["rollout-prod.sh"], encoding="utf-8")
        (folder / "codes").touch()

    def _program(self, path: Path, text: str) -> None:
        path.write_text(f"#!/bin/sh\n{text}", encoding="utf-8")
        path.chmod(0o755)

    def run(self, *argv: str, codes: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        (self.folder / "codes").write_text("\n".join(codes.split()), encoding="utf-8")
        return subprocess.run(
            ["bash", "rollout.sh", *argv], cwd=self.folder, env={**self.env, **env}, capture_output=True, text=True,
            check=False, timeout=30,
        )  # fmt: skip

    def noted(self) -> list[str]:
        return self.log.read_text(encoding="utf-8").splitlines()


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


def test_serve_applies_one_cell_and_waits_for_its_graphs(runner: Runner) -> None:
    done = runner.run("serve", "new")
    assert done.returncode == 0, done.stderr
    stack = "terraform -chdir=new/cdktf.out/stacks/prod-use1-b-serving"
    noted = runner.noted()
    assert noted[0] == "inferfab-new synth environments/prod.yaml --out cdktf.out"
    assert [line for line in noted if line.startswith(stack)] == [
        f"{stack} init -input=false -no-color",
        f"{stack} plan -input=false -no-color -out=rollout.bin",
        f"{stack} apply -input=false -no-color rollout.bin",
    ]
    assert "aws eks update-kubeconfig --region us-east-1 --name prod-use1-b" in "\n".join(noted)
    assert noted[-1] == (
        "kubectl wait --namespace serving --for=condition=Ready --timeout=45m "
        "dynamographdeployments/chat-priority-decode-new"
    )


def test_shares_apply_names_only_and_leave_the_file(runner: Runner) -> None:
    assert runner.run("shares", "new", "10").returncode == 0
    noted = runner.noted()
    assert noted[0].endswith(
        "rollout shares environments/prod.yaml --cell use1-b --percent 10 --out environments/prod.step.yaml"
    )
    assert {line.split()[1] for line in noted if line.startswith("terraform")} == {
        "-chdir=new/step.out/stacks/prod-global"
    }
    assert runner.run("shares", "base", "100").returncode == 0
    assert "terraform -chdir=base/step.out/stacks/prod-global apply" in runner.log.read_text(encoding="utf-8")
    assert [p.name for p in (runner.folder / "base" / "environments").iterdir()] == ["prod.yaml"]


def test_judge_looks_again_until_it_is_decided(runner: Runner) -> None:
    """Too little, no judgement at all, then good. The others are the base, each behind a forwarded port."""
    done = runner.run("judge", codes="10 1 0", JUDGE_MINUTES="0", LONGEST_MINUTES="60")
    assert done.returncode == 0, done.stderr
    looks = [line for line in runner.noted() if "rollout judge" in line]
    assert len(looks) == 3
    assert "--prometheus http://127.0.0.1:19090 --baseline use1-a=http://127.0.0.1:19091" in looks[0]
    forwards = sorted(line for line in runner.noted() if "port-forward" in line)
    assert forwards[0] == (
        "kubectl port-forward --namespace monitoring service/prometheus-kube-prometheus-prometheus 19090:9090"
    )
    assert len(forwards) == 3


def test_worse_is_backed_out_at_once_and_undecided_at_the_end(runner: Runner) -> None:
    done = runner.run("judge", codes="20", JUDGE_MINUTES="0")
    assert done.returncode == 1 and "is worse" in done.stdout
    done = runner.run("judge", codes="10", JUDGE_MINUTES="0", LONGEST_MINUTES="0")
    assert done.returncode == 1 and "not decided in 0 minutes" in done.stdout


def test_retire_takes_only_what_is_not_planned(runner: Runner) -> None:
    assert runner.run("retire", "new").returncode == 0
    deleted = [line for line in runner.noted() if " delete " in line]
    assert deleted == [
        "kubectl delete dynamographdeployments --namespace serving old-graph-000000",
        "kubectl delete configmaps,poddisruptionbudgets --namespace serving --selector inferfab/graph=old-graph-000000",
    ]


def test_without_a_plan_nothing_is_deleted(runner: Runner) -> None:
    """A cell that the checkout does not have, and a plan that cannot be made."""
    assert runner.run("retire", "new", CELL="usw2-c").returncode == 0
    (runner.folder / "new" / ".venv" / "bin" / "inferfab").write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    assert runner.run("retire", "new").returncode != 0
    assert not any(" delete " in line for line in runner.noted())


def test_the_pull_request_has_the_file_as_it_was(runner: Runner) -> None:
    done = runner.run("take-back", BRANCH="back-out/prod-1", RUN="https://host/run/1", TO="main")
    assert done.returncode == 0, done.stderr
    assert (runner.folder / "new" / "environments" / "prod.yaml").read_text(encoding="utf-8") == "base\n"
    noted = "\n".join(runner.noted())
    assert "git push origin back-out/prod-1" in noted
    assert "gh pr create --head back-out/prod-1 --base main" in noted


def test_a_failed_apply_stops_there(runner: Runner) -> None:
    (runner.folder / "bin" / "terraform").write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    assert runner.run("serve", "new").returncode != 0
    assert not any(line.startswith("kubectl") for line in runner.noted())
