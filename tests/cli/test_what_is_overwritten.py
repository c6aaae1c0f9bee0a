"""Files that a command does not write over: what it reads, and what others wrote under the same name."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., tuple[int, str, str]]
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "environments").mkdir()
    for name in ("prod", "dev"):
        shutil.copy(ROOT / "environments" / f"{name}.yaml", tmp_path / "environments")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "argv",
    [
        ("rollout", "shares", "prod", "--cell", "use1-b", "--percent", "50", "--out", "environments/prod.yaml"),
        ("models", "dev", "--out", "environments/dev.yaml"),
        ("failures", "dev", "--out", "environments/dev.yaml"),
        ("failures", "dev", "--out", "link.yaml"),
        ("plan", "dev", "--format", "json", "--out", "./environments/../environments/dev.yaml"),
    ],
)
def test_what_a_command_reads_it_does_not_write(run: Run, work: Path, argv: tuple[str, ...]) -> None:
    (work / "link.yaml").symlink_to("environments/dev.yaml")
    code, _, err = run(*argv)
    assert code == 1 and "is what this command reads" in err
    for name in ("prod", "dev"):
        there = (work / "environments" / f"{name}.yaml").read_bytes()
        assert there == (ROOT / "environments" / f"{name}.yaml").read_bytes()


def test_a_plan_that_is_compared_stays(run: Run, work: Path) -> None:
    assert run("plan", "dev", "--format", "json", "--out", "dev.json")[0] == 0
    whole = (work / "dev.json").read_bytes()
    assert run("diff", "dev.json", "dev", "--out", "dev.json")[0] == 1
    assert (work / "dev.json").read_bytes() == whole
    # Written again by what does not read it.
    assert run("plan", "dev", "--format", "json", "--out", "dev.json")[0] == 0


@pytest.mark.parametrize("name", ["workflows/rollout-prod.yml", "rollout-prod.sh"])
def test_a_workflow_of_somebody_else_stays(run: Run, work: Path, name: str) -> None:
    """Nor is the other file written then; one that we wrote is written anew."""
    path = work / ".github" / name
    path.parent.mkdir(parents=True)
    path.write_text("name: mine\n", encoding="utf-8")
    code, _, err = run("rollout", "write", "prod")
    assert code == 1 and "inferfab did not write it" in err and path.read_text(encoding="utf-8") == "name: mine\n"
    assert [p for p in (work / ".github").rglob("*") if p.is_file()] == [path]
    path.unlink()
    assert run("rollout", "write", "prod")[0] == 0
    assert run("rollout", "write", "prod", "--runner", "other")[0] == 0
    assert "other" in (work / ".github" / "workflows" / "rollout-prod.yml").read_text(encoding="utf-8")


def test_a_drift_workflow_replaces_only_its_own(run: Run, work: Path) -> None:
    ci = work / "ci.yml"
    ci.write_text("name: ci\n", encoding="utf-8")
    assert run("drift-workflow", "dev", "--out", "ci.yml")[0] == 1
    assert ci.read_text(encoding="utf-8") == "name: ci\n"
    assert [run("drift-workflow", "dev", "--out", "drift.yml")[0] for _ in range(2)] == [0, 0]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    (folder / "sub").mkdir(parents=True)
    (folder / "config.json").write_text("{}", encoding="utf-8")
    return folder


def test_a_manifest_of_something_else_stays(run: Run, model: Path) -> None:
    path = model / "MANIFEST.sha256"
    path.write_text("my notes\n", encoding="utf-8")
    assert run("checksum", str(model))[0] == 1 and path.read_text(encoding="utf-8") == "my notes\n"
    path.unlink()
    outside = model.parent / "outside"
    outside.write_text("", encoding="utf-8")
    path.symlink_to(outside)
    code, _, err = run("checksum", str(model))
    assert code == 1 and "is a link" in err and outside.read_text(encoding="utf-8") == ""
    path.unlink()
    assert [run("checksum", str(model))[0] for _ in range(2)] == [0, 0]


def _dangling(model: Path) -> None:
    (model / "weights.safetensors").symlink_to("nowhere")


def _fifo(model: Path) -> None:
    os.mkfifo(model / "sub" / "weights.safetensors")


def _linked(model: Path) -> None:
    (model.parent / "elsewhere").mkdir()
    (model / "more").symlink_to(model.parent / "elsewhere")


def _bytes(model: Path) -> None:
    Path(os.fsdecode(os.fsencode(model) + b"/w\xff.safetensors")).write_bytes(b"")


@pytest.mark.parametrize(
    ("spoil", "said"),
    [(_dangling, "leads nowhere"), (_fifo, "no file"), (_linked, "link to a folder"), (_bytes, "cannot stand")],
)
def test_an_incomplete_model_is_not_signed(run: Run, model: Path, spoil: Callable[[Path], None], said: str) -> None:
    spoil(model)
    code, _, err = run("checksum", str(model))
    assert code == 1 and said in err and "fault of inferfab" not in err
    assert not (model / "MANIFEST.sha256").exists()


def test_links_to_files_are_read_as_the_hubs_cache_has_them(run: Run, model: Path) -> None:
    (model.parent / "blob").write_bytes(b"w")
    (model / "weights.safetensors").symlink_to("../blob")
    # What is not part of the model may be anything.
    (model / ".cache").symlink_to("nowhere")
    assert run("checksum", str(model))[0] == 0
    assert "weights.safetensors" in (model / "MANIFEST.sha256").read_text(encoding="utf-8")


def test_a_folder_that_is_not_there(run: Run, tmp_path: Path) -> None:
    code, _, err = run("checksum", str(tmp_path / "nope"))
    assert code == 1 and "there is no folder" in err and "config.json" not in err
