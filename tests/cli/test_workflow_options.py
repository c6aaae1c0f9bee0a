"""What may stand in a workflow that a command writes, and Ctrl-C before the command line is there."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from inferfab.cli.drift import _wrong

Run = Callable[..., tuple[int, str, str]]
ROOT = Path(__file__).resolve().parents[2]
DEV = ROOT / "environments" / "dev.yaml"


@pytest.mark.parametrize(
    "cron",
    ["99 99 * * *", "60 0 * * *", "0 24 * * *", "0 0 0 * *", "0 0 * 13 *", "0 0 * * 7", "*/0 * * * *", "5-1 * * * *",
     "* * * *", "1- * * * *", "a * * * *", "0 0 * * *\n", "", "0  0 * * *"],
)  # fmt: skip
def test_schedules_that_are_none(cron: str) -> None:
    assert _wrong(cron)


@pytest.mark.parametrize("cron", ["17 3 * * *", "*/15 0-23/2 1,15 1-12 0,6", "0 0 31 12 6"])
def test_schedules(cron: str) -> None:
    assert not _wrong(cron)


def test_a_schedule_that_never_comes_is_wrong_usage(run: Run) -> None:
    code, out, err = run("drift-workflow", str(DEV), "--cron", "99 99 * * *")
    assert code == 2 and not out and "minutes are 0 to 59" in " ".join(err.split())


@pytest.mark.parametrize("path", [str(DEV), "../environments/dev.yaml"])
def test_paths_of_this_machine_stay_out_of_the_workflow(
    run: Run, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT / "docs")
    code, out, err = run("drift-workflow", path)
    assert code == 1 and not out and "top of the repository" in err


@pytest.mark.parametrize("runner", ["", " ", "a\nb", "a ", "\x1b[31m"])
def test_runners_that_have_no_label(run: Run, runner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("rollout", "write", str(ROOT / "environments" / "prod.yaml"), "--runner", runner)[0] == 2
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("late", ["inferfab.checks.check", "inferfab.cli.main", "inferfab.cli.guard"])
def test_ctrl_c_while_it_is_imported_is_silent(late: str, tmp_path: Path) -> None:
    """The signal comes while an import hangs, the package's own first ones too: ended by it, without a word."""
    program = tmp_path / "inferfab"
    program.write_text(
        "import sys, time\n"
        "class Slow:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {late!r}:\n"
        "            print('importing', flush=True)\n"
        "            time.sleep(30)\n"
        "sys.meta_path.insert(0, Slow())\n"
        "from inferfab.cli.main import main\n"
        "main()\n",
        encoding="utf-8",
    )
    code, err = _interrupted([sys.executable, str(program)])
    assert code == -signal.SIGINT and not err


def test_ctrl_c_later_is_130(tmp_path: Path) -> None:
    """The command line's own way, once it is there; a script of another name has Python's handler throughout."""
    body = "print('importing', flush=True); time.sleep(30)"
    text = f"import time\nfrom inferfab.cli.guard import guarded\ndef run():\n    {body}\nguarded(run)\n"
    for name in ("inferfab", "other.py"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert _interrupted([sys.executable, str(tmp_path / name)]) == (130, "")


def _interrupted(argv: list[str]) -> tuple[int, str]:
    """Exit code and stderr after Ctrl-C at the first line of output."""
    # A job in the background, as CI may be, hands on that Ctrl-C is ignored; a handler is not handed on.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, before)
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "importing\n"
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=10)
    return process.returncode, err
