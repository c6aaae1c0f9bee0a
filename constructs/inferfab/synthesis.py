"""From a FleetPlan to a folder of Terraform JSON, whole or not at all."""

import importlib
import importlib.util
import json
import os
import re
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from inferfab.plan.fleet import FleetPlan
from inferfab.record import Record
from inferfab.render.release import ReleaseTooLargeError

_PACKAGE = "inferfab.stacks"
MANIFEST = "manifest.json"
BOOTSTRAP = "bootstrap"
"""Folder in the output of `synth` where `bootstrap` writes by default, an environment a folder."""
MARKER = ".inferfab-run"
"""In a folder that a run has not finished yet, beside its target: the host and the process that write it."""
_STALE_AFTER_SECONDS = 600


class SynthesisError(Exception):
    """The folder cannot be written; the message says why and what to do."""


class StackFile(Record):
    """One stack that was written."""

    name: str
    path: str
    """Of its Terraform JSON, relative to the output folder."""
    resources: int


def stacks_package() -> ModuleType:
    """`inferfab.stacks` of the wheel, or the folder `stacks/` of a checkout under the same name."""
    if _PACKAGE in sys.modules:
        return sys.modules[_PACKAGE]
    if importlib.util.find_spec(_PACKAGE) is None:
        folder = Path(__file__).resolve().parents[2] / "stacks"
        spec = importlib.util.spec_from_file_location(
            _PACKAGE, folder / "__init__.py", submodule_search_locations=[str(folder)]
        )
        if spec is None or spec.loader is None or not folder.is_dir():
            raise SynthesisError("the stacks are neither in the installed package nor in a checkout around it")
        module = importlib.util.module_from_spec(spec)
        sys.modules[_PACKAGE] = module
        spec.loader.exec_module(module)
        return module
    return importlib.import_module(_PACKAGE)


def require_stacks(fleet: FleetPlan) -> None:
    """An empty app would pass for a fleet that was built.

    :raises SynthesisError: if no cell of the fleet has a stack.
    """
    if not fleet.cells:
        raise SynthesisError(f"{fleet.ownership.name} has no cell, so there is nothing to build")


def synthesize(fleet: FleetPlan, out: Path) -> tuple[StackFile, ...]:
    """Write every stack of the fleet into ``out``.

    :raises SynthesisError: if there is nothing to build, or ``out`` holds something that is not an earlier output, or
        it cannot be written.
    """
    require_stacks(fleet)
    build: Callable[[Any, FleetPlan], tuple[str, ...]] = stacks_package().build
    return write_app(lambda app: build(app, fleet), out)


def synthesize_bootstrap(fleet: FleetPlan, out: Path, *, in_bucket: bool) -> tuple[StackFile, ...]:
    """Write the stack that makes the environment's state bucket into ``out``.

    :param in_bucket: keep its own state in that bucket, which must be there by then; else in a file beside it.
    :raises SynthesisError: as :func:`synthesize`.
    """
    build: Callable[..., tuple[str, ...]] = stacks_package().build_bootstrap
    return write_app(lambda app: build(app, fleet, in_bucket=in_bucket), out)


def environment_in(out: Path) -> str | None:
    """Whose stacks an earlier output holds, by the one stack that every environment has."""
    names = sorted(path.name for path in (out / "stacks").glob("*-*") if path.is_dir())
    return next((name.rpartition("-")[0] for name in names if name.endswith(("-global", "-bootstrap"))), None)


def write_app(build: Callable[[Any], tuple[str, ...]], out: Path) -> tuple[StackFile, ...]:
    """Synthesize into a folder beside ``out``, then put it in its place. What killed runs left there is tidied up."""
    from inferfab.terraform import new_app

    target = out.resolve() if out.is_symlink() else out
    _refuse_working_folder(out)
    if out.exists() and not out.is_dir():
        raise SynthesisError(f"{out} is a file; name a folder")
    try:
        _tidy(target)
    except OSError as error:
        raise SynthesisError(f"cannot tidy up beside {out}: {error.strerror or error}") from error
    if out.is_dir() and not (out / MANIFEST).is_file() and any(found.name != BOOTSTRAP for found in out.iterdir()):
        raise SynthesisError(f"{out} holds files that are not an earlier output of this command; name another folder")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    except OSError as error:
        raise SynthesisError(f"cannot write beside {out}: {error.strerror or error}") from error
    try:
        _mark(fresh)
        # Absolute: the engine's Node process may have been started in another folder.
        app = new_app(str(fresh.resolve()))
        names = _built(build, app)
        app.synth()
        files = tuple(_stack_file(fresh, name) for name in names)
        fresh.chmod(0o755)
        _put_in_place(fresh, target)
        (target / MARKER).unlink(missing_ok=True)
    except OSError as error:
        raise SynthesisError(f"cannot write {out}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return files


def _built(build: Callable[[Any], tuple[str, ...]], app: Any) -> tuple[str, ...]:
    try:
        return build(app)
    except ReleaseTooLargeError as error:
        raise SynthesisError(str(error)) from error


def _refuse_working_folder(out: Path) -> None:
    """The folder is replaced as a whole, which would take the ground from under whoever stands in it."""
    if Path.cwd().is_relative_to(out.resolve()):
        raise SynthesisError(f"{out} is the folder you are in, or one around it; name a new folder, such as build/prod")


def _mark(folder: Path) -> None:
    (folder / MARKER).write_text(f"{socket.gethostname()} {os.getpid()}\n", encoding="utf-8")


def _tidy(out: Path) -> None:
    """Take care of what killed runs left beside ``out``: the earlier output goes back if it is the only one.

    Half-written outputs are deleted. So is an earlier output, once all that Terraform left in it is in ``out``; one
    with a state that ``out`` has, too, stays.
    """
    name = re.compile(rf"\.{re.escape(out.name)}\.(earlier\.)?[a-z0-9_]{{8}}")
    beside = sorted(out.parent.iterdir()) if out.parent.is_dir() else []
    for folder in beside:
        found = name.fullmatch(folder.name)
        if found is None or folder.is_symlink() or not folder.is_dir() or not _abandoned(folder):
            continue
        if found[1] and any(folder.iterdir()):
            if not out.exists():
                folder.replace(out)
                (out / MARKER).unlink(missing_ok=True)
                continue
            _keep_terraforms_own(folder, out)
        if not _states(folder):
            shutil.rmtree(folder)


def _abandoned(folder: Path) -> bool:
    """Ours, and nobody is writing it any more."""
    try:
        old = time.time() - folder.stat().st_mtime > _STALE_AFTER_SECONDS
        inside = {found.name for found in folder.iterdir()}
        if MARKER not in inside:
            return old and (MANIFEST in inside or inside <= {BOOTSTRAP})
        words = (folder / MARKER).read_text(encoding="utf-8").split()
    except (OSError, ValueError):
        # Somebody else's, in a folder that many share.
        return False
    return old or (len(words) == 2 and words[0] == socket.gethostname() and not _runs(words[1]))


def _runs(process: str) -> bool:
    # On Windows, os.kill would end it.
    if os.name == "nt" or not process.isdecimal():
        return True
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _states(folder: Path) -> list[Path]:
    """Terraform's states in files; `terraform.tfstate` in `.terraform` is only the name of a backend."""
    return [path for path in folder.rglob("*.tfstate") if ".terraform" not in path.parts and path.stat().st_size]


def _put_in_place(fresh: Path, out: Path) -> None:
    """The earlier output is deleted last, when all that Terraform left in it is in the new one."""
    if not out.exists():
        fresh.replace(out)
        return
    lost = sorted(
        str(state)
        for state in (out / "stacks").glob("*/*.tfstate")
        if state.stat().st_size and not (fresh / "stacks" / state.parent.name).is_dir()
    )
    if lost:
        raise SynthesisError(
            f"{', '.join(lost)}: Terraform's state of a stack that this command does not write; move it into its "
            "bucket (then delete the file), or name another folder"
        )
    # Nobody else has the end of fresh's name.
    aside = out.parent / f".{out.name}.earlier.{fresh.name[-8:]}"
    # It says whose the folder is under its new name, and how old that is.
    _mark(out)
    out.replace(aside)
    try:
        fresh.replace(out)
    except OSError:
        aside.replace(out)
        (out / MARKER).unlink()
        raise
    try:
        _keep_terraforms_own(aside, out)
    except OSError as error:
        raise SynthesisError(
            f"{out} is written, but not all that Terraform had left in the earlier output could be moved there "
            f"({error.strerror or error}); the rest is in {aside}"
        ) from error
    shutil.rmtree(aside)


def _keep_terraforms_own(old: Path, new: Path) -> None:
    """`terraform init` leaves providers and a lock file in a stack's folder; the state of a bootstrap stack is there
    until it moves into the bucket. They outlive a new synthesis, and so do the folders of `bootstrap`.
    """
    for folder in (old / "stacks").glob("*"):
        for pattern in (".terraform", ".terraform.lock.hcl", "*.tfstate", "*.tfstate.backup"):
            for kept in folder.glob(pattern):
                target = new / "stacks" / folder.name
                if target.is_dir() and not (target / kept.name).exists():
                    kept.replace(target / kept.name)
    if (old / BOOTSTRAP).is_dir() and not (new / BOOTSTRAP).exists():
        (old / BOOTSTRAP).replace(new / BOOTSTRAP)


def _stack_file(out: Path, name: str) -> StackFile:
    path = Path("stacks") / name / "cdk.tf.json"
    body = json.loads((out / path).read_text(encoding="utf-8"))
    return StackFile(
        name=name, path=path.as_posix(), resources=sum(len(by_name) for by_name in body.get("resource", {}).values())
    )
