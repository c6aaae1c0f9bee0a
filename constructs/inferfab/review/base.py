"""What an environment is compared with: a git revision, a saved plan, another file, or a folder of either."""

import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

from inferfab.checks.check import check
from inferfab.environment.loading import Loaded, load, load_text
from inferfab.findings import has_errors
from inferfab.input_files import read_bytes
from inferfab.plan.fleet import FleetPlan, UnreadablePlan, read_plan
from inferfab.review.errors import ReviewError
from inferfab.review.findings import PolicyFinding, ours

_MOST_FILES = 100
"""Of a folder, in search of an environment that was renamed."""
_SECONDS = 60
"""A git that hangs (a lock, a network file system) must not hang a pull request."""


@dataclass(frozen=True)
class Base:
    """The other side of a comparison."""

    title: str
    plan: FleetPlan | None
    """None where the environment was not there, or is broken there."""
    known: bool
    """False where the environment was there and could not be planned: nothing is known of what was before."""
    findings: tuple[PolicyFinding, ...] | None
    """None where there are none to compare with: a saved plan carries none."""
    problem: str = ""
    note: str = ""
    """What a reader has to know of the comparison, and hides nothing."""

    @property
    def broken(self) -> bool:
        """It was there, and has errors."""
        return not self.known and bool(self.problem)


def name_of(loaded: Loaded | None) -> str:
    """What an environment calls itself, also where the rest of its file is broken."""
    if loaded is None:
        return ""
    name = loaded.environment.name if loaded.environment else loaded.source.tree.get("name")
    return name if isinstance(name, str) else ""


def find_base(base: str, environment: Path, name: str = "") -> Base:
    """Resolve ``--base`` for one environment file, which calls itself ``name``.

    What begins like a path (``.``, ``/``) or ends like a file that we read is a path. Anything else is a git
    revision first (branches have slashes and dots too), and a path only if git does not know it.

    :raises ReviewError: if it is neither, with what to do.
    """
    if not base.strip():
        raise ReviewError("--base is empty: name a git revision, a saved plan or a folder")
    path = Path(base)
    of_a_file = path.suffix in (".json", ".yaml", ".yml")
    if of_a_file or base.startswith(".") or path.is_absolute():
        if path.exists():
            return _from_path(path, environment, name)
        if of_a_file:
            raise ReviewError(f"--base {base}: there is no such file")
    try:
        return _from_git(base, environment, name)
    except ReviewError:
        if path.exists():
            return _from_path(path, environment, name)
        raise


def _from_path(path: Path, environment: Path, name: str) -> Base:
    if path.is_file():
        return _from_file(path)
    files = [environment.name, f"{environment.stem}.plan.json", f"{environment.stem}.json"]
    places = [path / environment] if not environment.is_absolute() else []
    places += [folder / file for file in files for folder in (path, path / "environments")]
    found = next((p for p in places if p.is_file()), None)
    if found is None and name:
        others = sorted(p for folder in (path, path / "environments") for p in folder.glob("*.y*ml") if p.is_file())
        found = next((p for p in others[:_MOST_FILES] if name_of(load(p)) == name), None)
    if found is None:
        return Base(title=f"{path} (where it is not)", plan=None, known=True, findings=())
    return _from_file(found)


def _from_file(path: Path) -> Base:
    if path.suffix == ".json":
        try:
            return Base(title=str(path), plan=read_plan(read_bytes(path)), known=True, findings=None)
        except UnreadablePlan as error:
            raise ReviewError(f"--base {path}: {error}") from error
        except OSError as error:
            raise ReviewError(f"--base {path}: {error.strerror or error}") from error
    return _planned(str(path), load(path))


def _from_git(revision: str, environment: Path, called: str) -> Base:
    folder = environment.resolve().parent
    while not folder.is_dir():
        folder = folder.parent
    top = _git(folder, "rev-parse", "--show-toplevel")
    if top is None:
        raise ReviewError(f"--base {revision}: {_no_repository(folder, environment)}")
    commit = _commit(folder, revision)
    if commit is None:
        raise ReviewError(
            f"--base {revision}: git knows no such revision, and there is no file or folder of that name; in CI fetch "
            f"it first (`git fetch --depth=1 origin {revision}`, or `fetch-depth: 0` of actions/checkout)"
        )
    name, sha = commit
    try:
        inside = environment.resolve().relative_to(Path(top.decode("utf-8", "surrogateescape").strip()).resolve())
    except ValueError as error:
        raise ReviewError(f"--base {revision}: {environment} is outside of the repository around it") from error
    left, note = _where_left(folder, sha)
    title = f"{name} ({sha[:10]})" if left == sha else f"{name} ({left[:10]}, where this left it)"
    for file in (inside.as_posix(), *_others(folder, left, inside)):
        text = _git(folder, "cat-file", "blob", f"{left}:{file}")
        if text is None:
            continue
        loaded = load_text(text.decode("utf-8", "replace"), shown_as=f"{name}:{file}")
        if file == inside.as_posix():
            return replace(_planned(title, loaded), note=note)
        if called and name_of(loaded) == called:
            return replace(_planned(f"{title}, {file}", loaded), note=note)
    return Base(title=f"{title}, where it is not", plan=None, known=True, findings=(), note=note)


def _where_left(folder: Path, sha: str) -> tuple[str, str]:
    """(commit to compare with, note). What the base gained since is not this change's doing."""
    shared = _git(folder, "merge-base", "HEAD", sha)
    if shared:
        return shared.decode("ascii", "replace").strip(), ""
    return sha, (
        "git knows no commit that both sides share (a shallow clone?): compared with the base as it is now, and what "
        "it gained since reads as taken away (`fetch-depth: 0` of actions/checkout)"
    )


def _others(folder: Path, sha: str, inside: Path) -> list[str]:
    """Other files beside an environment's, in case it was renamed."""
    above = inside.parent.as_posix()
    listed = _git(folder, "ls-tree", "--full-tree", "--name-only", "-z", f"{sha}:{above}" if above != "." else sha)
    names = (listed or b"").decode("utf-8", "surrogateescape").split("\0")
    files = [n for n in names if n.endswith((".yaml", ".yml")) and n != inside.name]
    return [f"{above}/{n}" if above != "." else n for n in files[:_MOST_FILES]]


def _no_repository(folder: Path, environment: Path) -> str:
    """Git also says no to a repository that somebody else owns, as in a container of a CI job."""
    done = subprocess.run(("git", "-C", str(folder), "status"), capture_output=True, check=False, timeout=_SECONDS)
    if b"dubious ownership" in done.stderr:
        return f"git does not trust the repository around {environment}: `git config --global --add safe.directory DIR`"
    return f"{environment} is in no git repository, and there is no file or folder of that name"


def _commit(folder: Path, revision: str) -> tuple[str, str] | None:
    """(name that git knows, sha). A pull request's checkout has ``origin/main`` and no ``main``."""
    for name in (revision, f"origin/{revision}"):
        found = _git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        if found:
            return name, found.decode("ascii", "replace").strip()
    return None


def _git(folder: Path, *words: str) -> bytes | None:
    """What git prints, or None if it says no."""
    try:
        done = subprocess.run(("git", "-C", str(folder), *words), capture_output=True, check=False, timeout=_SECONDS)
    except FileNotFoundError as error:
        raise ReviewError("there is no git on this machine; give --base a saved plan or a folder instead") from error
    except subprocess.TimeoutExpired as error:
        raise ReviewError(f"git took more than {_SECONDS} seconds") from error
    except ValueError as error:  # a null byte in the revision
        raise ReviewError("that is no name of a git revision") from error
    return done.stdout if done.returncode == 0 else None


def _planned(title: str, loaded: Loaded) -> Base:
    checked = check(loaded)
    if checked.plan is None:
        errors = sum(f.severity == "error" for f in checked.findings)
        assert has_errors(checked.findings)
        return Base(
            title=title,
            plan=None,
            known=False,
            findings=ours(checked.findings, switched_off=checked.switched_off),
            problem=f"the environment has {errors} error(s) at {title} and cannot be planned there: nothing before "
            "is known",
        )
    return Base(
        title=title, plan=checked.plan, known=True, findings=ours(checked.findings, switched_off=checked.switched_off)
    )
