"""`inferfab render`: what it writes, replaces and refuses."""

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from inferfab.render import release

ROOT = Path(__file__).resolve().parents[2]

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the shipped environments."""
    folder = tmp_path / "work"
    (folder / "environments").mkdir(parents=True)
    monkeypatch.chdir(folder)
    for file in (ROOT / "environments").glob("*.yaml"):
        Path("environments", file.name).write_bytes(file.read_bytes())
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_a_cell(run: Run, work: Path) -> None:
    """Each cell's objects, its chart, and a table that says what stands where."""
    code, out, _ = run("render", "prod", "--out", "made")
    assert code == 0
    assert sorted(p.name for p in Path("made").iterdir()) == [".inferfab", "use1-a", "use1-b", "usw2-c"]
    assert {"platform", "serving", "charts"} <= {p.name for p in Path("made/use1-a").iterdir()}
    assert "made/use1-a" in out and "llama-70b" in out
    for file in Path("made").glob("*/serving/**/*.yaml"):
        assert all(d["kind"] for d in yaml.safe_load_all(file.read_text(encoding="utf-8")) if d), file


def test_the_same_again_is_the_same_bytes(run: Run, work: Path) -> None:
    run("render", "dev", "--out", "one")
    run("render", "dev", "--out", "two")
    assert contents(work / "one") == contents(work / "two")


def test_an_earlier_output_is_replaced_as_a_whole(run: Run, work: Path) -> None:
    """No file of cells that are gone stays behind."""
    run("render", "prod", "--out", "made")
    assert run("render", "dev", "--out", "made")[0] == 0
    run("render", "dev", "--out", "fresh")
    assert contents(work / "made") == contents(work / "fresh")


@pytest.mark.parametrize("out", [".", "..", "environments", "taken"])
def test_somebody_elses_folder_or_file_is_left_alone(run: Run, work: Path, out: str) -> None:
    """One message, exit code 1, nothing written."""
    Path("taken").write_text("mine", encoding="utf-8")
    before = contents(work)
    code, said, err = run("render", "dev", "--out", out)
    assert code == (2 if out == "taken" else 1) and said == ""
    assert out in err and "Traceback" not in err
    assert contents(work) == before


@pytest.mark.parametrize("mine", [".git/HEAD", "notes.txt", "use1-a/serving/mine.yaml", "other-cell/x.yaml"])
def test_what_somebody_put_into_the_output_is_not_deleted(run: Run, work: Path, mine: str) -> None:
    """One message that names it; the output stays as it was."""
    run("render", "dev", "--out", "made")
    file = Path("made", mine)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("mine", encoding="utf-8")
    before = contents(work)
    code, _, err = run("render", "dev", "--out", "made")
    assert code == 1 and mine.split("/", maxsplit=1)[0] in err and "move them elsewhere" in err
    assert contents(work) == before


def test_a_fleet_with_errors_is_not_rendered(run: Run, work: Path) -> None:
    """The findings of `check`, and no folder."""
    file = Path("environments/dev.yaml")
    file.write_text(file.read_text(encoding="utf-8").replace("context_tokens: 16384", "context_tokens: 999999"))
    code, _, err = run("render", "dev", "--out", "made")
    assert code == 1 and "context_tokens" in err
    assert not Path("made").exists()


@pytest.mark.parametrize("command", ["render", "synth"])
def test_a_release_too_large_for_helm_is_said_before_helm_does(
    run: Run, work: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """One message that names the cell and the way out; nothing is written."""
    monkeypatch.setattr(release, "MOST_BYTES", 10_000)
    code, _, err = run(command, "dev", "--out", "made")
    assert code == 1
    assert "release takes" in err and "move some pools to another cell" in err and "Traceback" not in err
    assert not Path("made").exists()
