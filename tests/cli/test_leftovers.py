"""What killed, refused and repeated runs of `synth` and `bootstrap` leave in and beside their folder."""

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from inferfab import synthesis
from inferfab.synthesis import MARKER, SynthesisError, write_app
from inferfab.terraform import TerraformStack, stack_backend_local
from inferfab.terraform.builtin import TerraformData

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def gone() -> int:
    """The number of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    return process.pid


def one(app: Any) -> tuple[str, ...]:
    stack = TerraformStack(app, "first")
    stack_backend_local(stack, "first.tfstate")
    TerraformData(stack, "kept", input="x")
    return ("first",)


def left(name: str, *, process: int | None = None, host: str | None = None, minutes: float = 0) -> Path:
    """A folder as a killed run leaves it."""
    folder = Path(name)
    (folder / "stacks/first").mkdir(parents=True)
    (folder / "manifest.json").write_text("{}", encoding="utf-8")
    if process is not None:
        (folder / MARKER).write_text(f"{host or socket.gethostname()} {process}\n", encoding="utf-8")
    then = time.time() - 60 * minutes
    os.utime(folder, (then, then))
    return folder


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("how", ["gone", "old", "old elsewhere", "old, no marker", "old and empty"])
def test_what_a_killed_run_left_is_deleted(work: Path, gone: int, how: str) -> None:
    """A process that is gone, or ten minutes."""
    if how == "gone":
        left(".out.abcd_123", process=gone)
    elif how == "old":
        left(".out.abcd_123", process=os.getpid(), minutes=11)
    elif how == "old elsewhere":
        left(".out.abcd_123", process=1, host="elsewhere", minutes=11)
    elif how == "old, no marker":
        left(".out.abcd_123", minutes=11)
    else:
        shutil.rmtree(left(".out.abcd_123") / "stacks")
        Path(".out.abcd_123/manifest.json").unlink()
        os.utime(".out.abcd_123", (0, 0))
    write_app(one, Path("out"))
    assert names(work) == ["out"]
    assert names(work / "out") == ["manifest.json", "stacks"]


def test_what_may_be_in_use_or_is_not_ours_stays(work: Path, gone: int) -> None:
    """A running process, another host, a folder without manifest or marker, other targets, files."""
    left(".out.running1", process=os.getpid())
    left(".out.another1", process=gone, host="elsewhere")
    left(".out.recent12", minutes=5)
    left(".made.abcd_123", process=gone)
    left(".out.toolongname", process=gone)
    (left(".out.notours1", minutes=20) / "manifest.json").unlink()
    os.utime(".out.notours1", (0, 0))
    Path(".out.afile123").write_text("", encoding="utf-8")
    before = names(work)
    write_app(one, Path("out"))
    assert names(work) == sorted([*before, "out"])


def test_an_earlier_output_goes_back_where_it_was(work: Path, gone: int) -> None:
    """Killed between the two renames: nothing is at the target, and the only copy of a state is in the folder aside."""
    state = left(".out.earlier.abcd_123", process=gone) / "stacks/first/first.tfstate"
    state.write_text("{}", encoding="utf-8")
    write_app(one, Path("out"))
    assert names(work) == ["out"]
    assert names(work / "out") == ["manifest.json", "stacks"]
    assert (work / "out/stacks/first/first.tfstate").read_text(encoding="utf-8") == "{}"


def test_it_goes_back_also_when_the_next_run_fails(work: Path, gone: int) -> None:
    left(".out.earlier.abcd_123", process=gone)

    def broken(app: Any) -> tuple[str, ...]:
        raise OSError(28, "No space left on device")

    with pytest.raises(SynthesisError, match="No space left"):
        write_app(broken, Path("out"))
    assert names(work) == ["out"]
    assert names(work / "out") == ["manifest.json", "stacks"]


def test_what_terraform_left_in_an_earlier_output_is_fetched(work: Path, gone: int) -> None:
    """Killed after the second rename: a state that the new output lacks moves there, then the rest is deleted."""
    write_app(one, Path("out"))
    (left(".out.earlier.abcd_123", process=gone) / "stacks/first/first.tfstate").write_text("1", encoding="utf-8")
    write_app(one, Path("out"))
    assert names(work) == ["out"]
    assert (work / "out/stacks/first/first.tfstate").read_text(encoding="utf-8") == "1"


def test_a_second_state_is_never_deleted(work: Path, gone: int) -> None:
    write_app(one, Path("out"))
    (work / "out/stacks/first/first.tfstate").write_text("new", encoding="utf-8")
    (left(".out.earlier.abcd_123", process=gone) / "stacks/first/first.tfstate").write_text("old", encoding="utf-8")
    write_app(one, Path("out"))
    assert (work / "out/stacks/first/first.tfstate").read_text(encoding="utf-8") == "new"
    assert (work / ".out.earlier.abcd_123/stacks/first/first.tfstate").read_text(encoding="utf-8") == "old"


@pytest.mark.parametrize("renames", [0, 1, 2])
def test_killed_at_every_rename(work: Path, monkeypatch: pytest.MonkeyPatch, renames: int) -> None:
    """The next run ends as if nothing had been."""
    write_app(one, Path("out"))
    (work / "out/stacks/first/first.tfstate").write_text("{}", encoding="utf-8")
    child = os.fork()
    if child == 0:
        count, replace = 0, Path.replace

        def killed(self: Path, target: Path) -> Path:
            nonlocal count
            if count == renames:
                os.kill(os.getpid(), 9)
            count += 1
            return replace(self, target)

        # Without the engine: its Node process is the parent's.
        Path.replace = killed  # type: ignore[method-assign,assignment]
        fresh = left(".out.abcd_123")
        synthesis._mark(fresh)
        synthesis._put_in_place(fresh, Path("out"))
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == 9
    assert any(path.name.startswith(".out.") for path in work.iterdir())
    write_app(one, Path("out"))
    assert names(work) == ["out"]
    assert (work / "out/stacks/first/first.tfstate").read_text(encoding="utf-8") == "{}"


def test_make_clean_and_git_know_them(work: Path, gone: int) -> None:
    """`make clean` deletes what has our marker or manifest, unless a state is in it; git ignores the names."""
    shutil.copy2(ROOT / "Makefile", work / "Makefile")
    left(".my folder.abcd_123", process=gone)
    left(".out.earlier.abcd_123")
    Path(".somebody.abcd_123").mkdir()
    state = Path(".out.earlier.abcd_123/stacks/first/first.tfstate")
    state.write_text("{}", encoding="utf-8")

    def clean() -> subprocess.CompletedProcess[str]:
        return subprocess.run(["make", "clean"], capture_output=True, text=True, check=False)

    assert clean().returncode == 2
    assert len(names(work)) == 4
    state.unlink()
    assert clean().returncode == 0
    assert names(work) == [".somebody.abcd_123", "Makefile"]
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert ".*.????????/" in ignored
