"""The command line in this process; a repository with environments, and reviews of what is edited in it."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from command import Run, command
from inferfab.review import Asked, Report, review
from review.plans import ROOT


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """`inferfab review`."""
    return command(monkeypatch, capsys, "review")


PROD = (ROOT / "environments" / "prod.yaml").read_text(encoding="utf-8")
DEV = (ROOT / "environments" / "dev.yaml").read_text(encoding="utf-8")
Edit = tuple[str, str]


def git(folder: Path, *words: str) -> str:
    own = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false")
    return subprocess.run(("git", "-C", str(folder), *own, *words), check=True, capture_output=True, text=True).stdout


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with prod and dev on main, and a working tree on a branch."""
    top = tmp_path / "a repo"
    (top / "fleet" / "environments").mkdir(parents=True)
    git(tmp_path, "init", "-q", "-b", "main", str(top))
    for name, text in (("prod", PROD), ("dev", DEV)):
        (top / "fleet" / "environments" / f"{name}.yaml").write_text(text, encoding="utf-8")
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", "base")
    git(top, "checkout", "-q", "-b", "change")
    # Below the repository's top: paths are resolved against it.
    monkeypatch.chdir(top / "fleet")
    return top


@pytest.fixture
def edited(repo: Path) -> Callable[..., Report]:
    """The review of prod after edits of its text."""

    def of(*edits: Edit, labels: tuple[str, ...] = (), base: str = "main") -> Report:
        text = PROD
        for old, new in edits:
            assert old in text
            text = text.replace(old, new)
        path = Path("environments/prod.yaml")
        path.write_text(text, encoding="utf-8")
        return review(Asked(environments=[path], base=base, labels=labels)).report

    return of
