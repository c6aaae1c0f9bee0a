"""Which base a name means, and which commit of it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from inferfab.review import Asked, Report, review
from review.conftest import PROD, Run, git

PATH = Path("environments/prod.yaml")
LESS = ("{min: 8, desired: 8, max: 16}", "{min: 8, desired: 9, max: 16}")


def reviewed(base: str, path: Path = PATH) -> Report:
    return review(Asked(environments=[path], base=base)).report


@pytest.mark.parametrize("name", ["release/1.2", "dependabot/pip/foo-1.2.3", "v1.2.3"])
def test_names_with_slashes_and_dots_are_revisions(name: str, repo: Path) -> None:
    git(repo, "branch", name, "main")
    (fleet,) = reviewed(name).fleets
    assert fleet.state == "unchanged" and fleet.base.startswith(f"{name} (")


@pytest.mark.parametrize("name", ["release/9.9", "no/such-branch", "./nowhere"])
def test_a_missing_one_says_what_to_fetch(name: str, repo: Path, run: Run) -> None:
    code, _, err = run("--env", "prod", "--base", name)
    assert code == 1 and "git fetch" in err


def test_what_the_base_gained_since_is_not_this_changes_doing(repo: Path) -> None:
    """Main gets a pool's size after the branch left it: nothing changes here."""
    git(repo, "checkout", "-q", "main")
    left = git(repo, "rev-parse", "HEAD").strip()
    PATH.write_text(PROD.replace(*LESS), encoding="utf-8")
    git(repo, "commit", "-qam", "main goes on")
    git(repo, "checkout", "-q", "change")
    (fleet,) = reviewed("main").fleets
    assert fleet.state == "unchanged" and f"{left[:10]}, where this left it" in fleet.base


def test_a_shallow_clone_is_compared_with_the_tip_and_says_so(repo: Path, tmp_path: Path) -> None:
    """No commit is shared: the revision itself, with a note."""
    git(repo, "checkout", "-q", "main")
    git(repo, "commit", "-q", "--allow-empty", "-m", "main goes on")
    git(repo, "checkout", "-q", "change")
    git(repo, "commit", "-q", "--allow-empty", "-m", "so does the branch")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--depth=1", "--no-single-branch", "-b", "change", repo.as_uri(), str(clone))
    (fleet,) = reviewed("main", clone / "fleet" / PATH).fleets
    assert fleet.state == "unchanged"
    assert any(u.subject == "base" and "shallow clone" in u.what for u in fleet.unseen)


def test_a_base_with_errors_ends_as_incomplete(edited: Callable[..., Report], repo: Path) -> None:
    """Nothing tells what is destroyed: REVIEW in words, 2 for the pipeline."""
    edited(("tier: batch", "tier: bulk"))
    git(repo, "commit", "-qam", "broken")
    report = edited(base="HEAD")
    assert (report.verdict.word, report.verdict.exit_code) == ("REVIEW", 2)
    assert "prod has errors at the base" in report.verdict.why


@pytest.mark.parametrize("folder", [False, True])
def test_a_renamed_file_is_found_by_its_name(folder: bool, repo: Path, tmp_path: Path) -> None:
    """In git and in a folder: the environment is the one that calls itself so."""
    old = tmp_path / "old"
    (old / "environments").mkdir(parents=True)
    (old / "environments" / "prod.yaml").write_text(PROD, encoding="utf-8")
    renamed = PATH.rename("environments/production.yaml")
    (fleet,) = reviewed(str(old) if folder else "main", renamed).fleets
    assert fleet.state == "unchanged" and "prod.yaml" in fleet.base


def test_an_environment_that_is_named_twice_counts_once(repo: Path, run: Run) -> None:
    report = review(Asked(environments=[PATH, PATH.resolve(), Path("environments/../environments/prod.yaml")])).report
    assert len(report.fleets) == 1
