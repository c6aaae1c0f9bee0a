"""`inferfab destroy` and the nightly drift: what is lost is said, nothing goes by itself, scripts run as written."""

import os
import re
import stat
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from inferfab import check, load_text
from inferfab.cli.main import main
from inferfab.plan.fleet import FleetPlan
from inferfab.teardown.losses import losses
from inferfab.teardown.order import commands

ROOT = Path(__file__).resolve().parents[2]
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """In a folder with the shipped environments."""
    (tmp_path / "environments").mkdir()
    for file in (ROOT / "environments").glob("*.yaml"):
        (tmp_path / "environments" / file.name).write_bytes(file.read_bytes())
    monkeypatch.chdir(tmp_path)

    def of(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["inferfab", *words])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        return code, *capsys.readouterr()

    return of


@cache
def plan_of(name: str, **changes: Any) -> FleetPlan:
    tree = yaml.safe_load((ROOT / "environments" / f"{name}.yaml").read_text(encoding="utf-8"))
    plan = check(load_text(yaml.safe_dump({**tree, **changes}))).plan
    assert plan is not None
    return plan


def said(fleet: FleetPlan, *cells: str) -> dict[str, list[str]]:
    chosen = [c for c in fleet.cells if not cells or c.name in cells]
    found: dict[str, list[str]] = {}
    for loss in losses(fleet, chosen):
        found.setdefault(loss.kind, []).append(loss.what)
    return found


def test_all_that_is_lost() -> None:
    """prod.yaml, counted by hand: 200 GPUs in three cells, two regions, six reservations, three tiers and cells."""
    found = said(plan_of("prod"))
    assert sum(int(n) for what in found["GPUs"] for n in re.findall(r"(\d+) (?:h200|l40s)", what)) == 200
    assert len(found["clusters"]) == 3 and len(found["models"]) == 2 and len(found["names"]) == 6
    assert sum("is billed until it is cancelled" in what for what in found["stays"]) == 6
    assert sum("served by nobody any more" in what for what in found["tiers"]) == 3
    assert "inferfab-state-111122223333-prod" in found["state"][0]


def test_one_cell_leaves_the_others() -> None:
    """Tiers are left to them; names, models and state stay; a tier that only this cell has ends."""
    fleet = plan_of("prod")
    found = said(fleet, "use1-a")
    assert "state" not in found and "models" not in found
    assert found["names"] == ["use1-a.llm.example.com leads nowhere"]
    for tier in fleet.tiers:
        served = {pool.cell for pool in fleet.pools if pool.tier == tier.name}
        (line,) = [what for what in found["tiers"] if f"tier {tier.name} " in what]
        assert ("nobody" in line) == (served == {"use1-a"}), (line, served)


def test_blocks_and_racks_are_paid_on() -> None:
    """What was bought is not given back, and owned servers stand where they stand."""
    assert any("nothing is given back" in what for what in said(plan_of("staging"))["stays"])
    assert any("in your racks" in what for what in said(plan_of("prod-hybrid"))["stays"])


def test_the_order() -> None:
    """Names before load balancers, what serves before operators, operators before clusters, the region last."""
    words = [str(command) for command in commands(plan_of("prod"), plan_of("prod").cells)]
    place = {word: number for number, word in enumerate(words)}

    def at(part: str) -> int:
        return next(number for word, number in place.items() if part in word)

    assert at("prod-global destroy") == 0
    for cell in ("use1-a", "use1-b", "usw2-c"):
        parts = (f"{cell}-serving", f"prod-{cell} delete dynamographdeployments", f"{cell}-platform",
                 f"prod-{cell} delete persistentvolumeclaims", f"{cell}-foundation")  # fmt: skip
        assert [at(part) for part in parts] == sorted(at(part) for part in parts)
        assert at(f"{cell}-foundation") < at("us-east-1-region")
    part = [str(c) for c in commands(plan_of("prod"), plan_of("prod").cells[:1])]
    assert not any("global" in word or "-region" in word for word in part)


def test_the_stacks_are_those_of_synth() -> None:
    """Every stack that is written is destroyed, once."""
    from tempfile import TemporaryDirectory

    from inferfab.synthesis import synthesize

    for name in ("dev", "prod-global"):
        fleet = plan_of(name)
        with TemporaryDirectory() as folder:
            made = [stack.name for stack in synthesize(fleet, Path(folder) / "out")]
        gone = [word.rpartition("/")[2] for c in commands(fleet, fleet.cells) for word in c.words if "-chdir" in word]
        assert sorted(gone) == sorted(made)


def test_somebody_elses_cluster_keeps_its_volumes() -> None:
    """Deleting every volume of a shared cluster would take its owner's."""
    file = ROOT / "tests" / "stacks" / "environments" / "existing-cluster.yaml"
    fleet = check(load_text(file.read_text(encoding="utf-8"))).plan
    assert fleet is not None
    assert not any("persistentvolumeclaims" in str(c) for c in commands(fleet, fleet.cells))
    found = said(fleet)
    assert any("somebody else's" in what for what in found["stays"])
    assert "volumes" not in found and "clusters" not in found, "nothing of the owner's is said to go"
    # Helm leaves the volumes of a StatefulSet, and no command of ours deletes them here.
    (left,) = (what for what in found["stays"] if "Prometheus" in what)
    assert "shared" in left and "billed" in left and "--namespace monitoring" in left
    (why,) = (c.why for c in commands(fleet, fleet.cells) if "foundation" in str(c))
    assert "owner's" in why and "nodes, cluster" not in why


def test_our_clusters_lose_their_volumes() -> None:
    """All of them, by the cluster's name; nothing of them stays. In a network of somebody else's, the network does."""
    found = said(plan_of("prod"), "use1-a")
    assert found["volumes"] == ["metrics of Prometheus, and every other volume of prod-use1-a"]
    assert not any("Prometheus" in what for what in found["stays"])
    file = ROOT / "tests" / "stacks" / "environments" / "existing-network.yaml"
    guest = check(load_text(file.read_text(encoding="utf-8"))).plan
    assert guest is not None
    (why,) = (c.why for c in commands(guest, guest.cells) if "foundation" in str(c))
    assert why == "nodes, cluster"


def test_protected_is_refused(run: Run) -> None:
    """With or without the name; and what would be lost is said all the same."""
    for words in ((), ("--confirm", "prod"), ("--confirm", "prod", "--execute")):
        code, out, err = run("destroy", "prod", *words)
        assert code == 1
        assert "is protected" in err and "terraform" not in out
        assert "served by nobody" in out


def test_the_name_is_typed_out(run: Run) -> None:
    """Without it nothing but the list; another name is wrong usage; with it the commands."""
    code, out, _ = run("destroy", "dev")
    assert (code, "terraform" in out) == (0, False) and "Nothing was done" in out
    code, out, err = run("destroy", "dev", "--confirm", "prod")
    assert code == 2 and "terraform" not in out and "not the environment's name" in err
    assert run("destroy", "dev", "--execute")[0] == 2
    code, out, _ = run("destroy", "dev", "--confirm", "dev")
    assert code == 0 and "dev-use1-a-foundation destroy" in out
    assert run("destroy", "dev", "--cell", "nowhere")[0] == 2


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """terraform and kubectl that note how they were called; terraform fails where a file says so."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("terraform", "kubectl"):
        file = folder / name
        lines = (
            "#!/bin/sh",
            # Which contexts there are is only looked at.
            '[ "$1" != config ] || exit 0',
            f'echo "{name} $*" >>"{tmp_path}/calls"',
            f'case "$*" in *"$(cat {tmp_path}/fails 2>/dev/null || echo never)"*) exit 1 ;; esac',
        )
        file.write_text("\n".join(lines) + "\n")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return tmp_path


def test_execute_runs_in_order_and_stops(run: Run, programs: Path) -> None:
    """Only when asked; nothing where the stacks are not written; nothing after what fails."""
    code, _, err = run("destroy", "dev", "--confirm", "dev", "--execute")
    assert code == 1 and "is not there" in err and not (programs / "calls").exists()
    assert run("synth", "dev")[0] == 0
    (programs / "fails").write_text("platform")
    code, _, err = run("destroy", "dev", "--confirm", "dev", "--execute")
    calls = (programs / "calls").read_text().splitlines()
    assert code == 1 and "nothing after it was run" in err
    assert "platform destroy" in calls[-1] and len(calls) == 4
    (programs / "fails").write_text("never at all")
    (programs / "calls").unlink()
    assert run("destroy", "dev", "--confirm", "dev", "--execute")[0] == 0
    calls = (programs / "calls").read_text().splitlines()
    assert calls[0].endswith("dev-global destroy") and calls[-1].endswith("dev-us-east-1-region destroy")


def test_stacks_of_another_account_are_not_destroyed(run: Run, programs: Path) -> None:
    """The file has moved to another account since it was synthesized; the old stacks are not this file's."""
    text = (ROOT / "environments" / "dev.yaml").read_text(encoding="utf-8")
    assert run("synth", "dev")[0] == 0
    (programs / "dev.yaml").write_text(text.replace("111122223333", "999988887777"), encoding="utf-8")
    code, _, err = run("destroy", str(programs / "dev.yaml"), "--confirm", "dev", "--execute")
    assert code == 1 and "was not synthesized from this file" in err and "999988887777" in err
    assert not (programs / "calls").exists()


# The nightly drift


def test_the_drift_workflow(run: Run, tmp_path: Path) -> None:
    """One job a stack of the environment, with rights to read; YAML that GitHub reads, `on` as it reads it."""
    code, _, _ = run("drift-workflow", "prod", "--out", ".github/workflows/drift.yml")
    assert code == 0
    text = (tmp_path / ".github" / "workflows" / "drift.yml").read_text()
    body = yaml.safe_load(text)
    assert run("synth", "prod")[0] == 0
    stacks = {path.name for path in (tmp_path / "cdktf.out" / "stacks").iterdir()}
    assert set(body["jobs"]["plan"]["strategy"]["matrix"]["stack"]) == stacks
    assert body["permissions"] == {"contents": "read"}
    assert body["jobs"]["plan"]["permissions"] == {"contents": "read", "id-token": "write"}
    assert body[True]["schedule"] == [{"cron": "17 3 * * *"}]
    assert "apply" not in text and "-lock=false" in text
    for job in body["jobs"].values():
        for step in job["steps"]:
            if "run" in step:
                assert "${{" not in step["run"], "what others write is never put into a script"
                done = subprocess.run(["sh", "-n"], input=step["run"], text=True, capture_output=True, check=False)
                assert done.returncode == 0, done.stderr
    assert run("drift-workflow", "prod", "--cron", "hourly")[0] == 2


def test_the_review_of_the_night(run: Run, tmp_path: Path) -> None:
    """The workflow's last step itself: quiet without drift, an error with it, and with a plan that failed."""
    _, out, _ = run("drift-workflow", "dev")
    (script,) = [s["run"] for s in yaml.safe_load(out)["jobs"]["review"]["steps"] if "run" in s]
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, body in (("python", ""), ("inferfab", f'echo "inferfab $*" >>"{tmp_path}/calls"\n')):
        (folder / name).write_text(f"#!/bin/sh\n{body}")
        (folder / name).chmod(0o755)
    (tmp_path / "drift").mkdir()

    def night(planned: str, **codes: int) -> tuple[int, str, str]:
        for name, code in codes.items():
            (tmp_path / "drift" / f"{name}.code").write_text(f"{code}\n")
        environment = {
            "PATH": f"{folder}:{os.environ['PATH']}", "PLANNED": planned, "GITHUB_STEP_SUMMARY": str(tmp_path / "sum"),
        }  # fmt: skip
        done = subprocess.run(["sh", "-c", script], env=environment, text=True, capture_output=True, check=False)
        return done.returncode, done.stdout, (tmp_path / "calls").read_text()

    code, _, calls = night("success", a=0, b=0)
    assert code == 0
    assert re.search(r"check dev --as-of \d{4}-\d\d-\d\d", calls) and "review" not in calls
    code, out, calls = night("success", b=2)
    assert code == 1 and "::error::drift in drift/b.json" in out.replace("in drift", "in drift")
    assert "inferfab review drift/b.json --format markdown" in calls
    code, out, _ = night("failure", b=0)
    assert code == 1 and "nothing is known of it" in out


# Ceilings


@pytest.mark.parametrize(("field", "size"), [("usd_per_month", "desired"), ("usd_per_month_at_max", "maximum")])
def test_a_plan_over_a_ceiling_is_refused(run: Run, tmp_path: Path, field: str, size: str) -> None:
    """Also at the maximum: no plan, no Terraform."""
    file = tmp_path / "environments" / "dev.yaml"
    tree = yaml.safe_load(file.read_text(encoding="utf-8"))
    tree["budget"] = {"usd_per_month": 1e9, field: 1}
    file.write_text(yaml.safe_dump(tree))
    for command in ("plan", "synth", "render", "images"):
        code, _, err = run(command, "dev")
        assert code == 1
        assert "IF-CST-001" in err and f"{size} size" in err
