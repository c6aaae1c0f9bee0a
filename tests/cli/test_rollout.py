"""``inferfab rollout``: what it writes, and the names in DNS of a step."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from inferfab import check, load

Run = Callable[..., tuple[int, str, str]]
ROOT = Path(__file__).resolve().parents[2]
PROD = str(ROOT / "environments" / "prod.yaml")


def test_a_step_is_an_environment_with_other_weights(run: Run, tmp_path: Path) -> None:
    """At half of its quarter use1-b has 12.5 of 65 hundredths among the cells of its tier in the region; nothing else
    is changed.
    """
    out = tmp_path / "step.yaml"
    assert run("rollout", "shares", PROD, "--cell", "use1-b", "--percent", "50", "--out", str(out))[0] == 0
    before, after = check(load(Path(PROD))).plan, check(load(out)).plan
    assert before is not None and after is not None
    weights = {r.cell: r.weight for r in after.routing.routes[0].cells}
    assert weights == {"use1-a": 52, "use1-b": 12, "usw2-c": 35}
    assert after.cells[0].serving == before.cells[0].serving and after.cost == before.cost


def test_every_step_of_prod_is_an_environment_that_plans(run: Run, tmp_path: Path) -> None:
    """As the workflow's script does it: written, then checked, whose errors would end `synth`."""
    rollout = json.loads(run("rollout", "plan", PROD, "--format", "json")[1])
    out = tmp_path / "step.yaml"
    tried = []
    for cell in rollout["cells"]:
        for step in cell["steps"] if len(cell["steps"]) > 1 else ():
            argv = ("--cell", cell["cell"], "--percent", str(step["share_percent"]), "--out", str(out))
            out.unlink(missing_ok=True)
            assert run("rollout", "shares", PROD, *argv)[0] == 0
            assert check(load(out)).ok, argv
            tried.append(argv)
    assert len(tried) == 6


@pytest.mark.slow
def test_the_smallest_step_of_prod_synthesizes(run: Run, tmp_path: Path) -> None:
    step, out = tmp_path / "step.yaml", tmp_path / "step.out"
    assert run("rollout", "shares", PROD, "--cell", "use1-b", "--percent", "38", "--out", str(step))[0] == 0
    code, _, err = run("synth", str(step), "--out", str(out))
    assert code == 0, err
    assert (out / "stacks" / "prod-global" / "cdk.tf.json").is_file()


def test_a_step_that_the_others_cannot_take_says_why(run: Run, tmp_path: Path) -> None:
    argv = ("--cell", "use1-b", "--percent", "10", "--out", str(tmp_path / "x"))
    code, _, err = run("rollout", "shares", PROD, *argv)
    assert code == 2 and "112% busy" in " ".join(err.split()) and "38, 50, 100" in err
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("argv", "said"), [(("--cell", "x", "--percent", "10"), "use1-b"), (("--cell", "usw2-c", "--percent", "10"), "100")]
)
def test_a_step_that_there_is_not(run: Run, tmp_path: Path, argv: tuple[str, ...], said: str) -> None:
    code, _, err = run("rollout", "shares", PROD, *argv, "--out", str(tmp_path / "x"))
    assert code == 2 and said in err and not (tmp_path / "x").exists()


def test_files_are_written_beside_others(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "environments").mkdir()
    (tmp_path / "environments" / "prod.yaml").write_text(Path(PROD).read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / ".github" / "workflows").mkdir(parents=True)
    (tmp_path / ".github" / "workflows" / "ci.yml").write_text("mine", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert run("rollout", "write", "prod")[0] == 0
    assert yaml.safe_load((tmp_path / ".github" / "workflows" / "rollout-prod.yml").read_text(encoding="utf-8"))["jobs"]
    assert (tmp_path / ".github" / "rollout-prod.sh").is_file()
    assert (tmp_path / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8") == "mine"


def test_an_environment_without_a_rollout_says_what_to_write(run: Run) -> None:
    code, _, err = run("rollout", "plan", str(ROOT / "environments" / "dev.yaml"))
    assert code == 1 and "rollout: {}" in err


def test_the_plan_says_where_traffic_goes(run: Run) -> None:
    code, out, _ = run("rollout", "plan", PROD)
    assert code == 0
    assert "38 %: 9.5%, 50 %: 12.5%, 100 %: 25.0%" in out and "112% busy" in out and "under all of its traffic" in out
