"""From a FleetPlan to a folder of Terraform JSON, whole or not at all."""

import importlib
import importlib.util
import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from inferfab.plan.fleet import FleetPlan
from inferfab.record import Record

_PACKAGE = "inferfab.stacks"
MANIFEST = "manifest.json"


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


def synthesize(fleet: FleetPlan, out: Path) -> tuple[StackFile, ...]:
    """Write every stack of the fleet into ``out``.

    :raises SynthesisError: if ``out`` holds something that is not an earlier output, or cannot be written.
    """
    build: Callable[[Any, FleetPlan], tuple[str, ...]] = stacks_package().build
    return write_app(lambda app: build(app, fleet), out)


def write_app(build: Callable[[Any], tuple[str, ...]], out: Path) -> tuple[StackFile, ...]:
    """Synthesize into a folder beside ``out``, then put it in its place."""
    from inferfab.terraform import new_app

    if out.exists() and not out.is_dir():
        raise SynthesisError(f"{out} is a file; name a folder")
    if out.is_dir() and any(out.iterdir()) and not (out / MANIFEST).is_file():
        raise SynthesisError(f"{out} holds files that are not an earlier output of this command; name another folder")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(dir=out.parent, prefix=f".{out.name}."))
    except OSError as error:
        raise SynthesisError(f"cannot write beside {out}: {error.strerror or error}") from error
    try:
        app = new_app(str(fresh))
        names = build(app)
        app.synth()
        files = tuple(_stack_file(fresh, name) for name in names)
        fresh.chmod(0o755)
        if out.exists():
            _keep_terraform_folders(out, fresh)
            shutil.rmtree(out)
        fresh.replace(out)
    except OSError as error:
        raise SynthesisError(f"cannot write {out}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return files


def _keep_terraform_folders(old: Path, new: Path) -> None:
    """`terraform init` leaves providers and lock files in a stack's folder, which outlive a new synthesis."""
    for folder in (old / "stacks").glob("*"):
        for name in (".terraform", ".terraform.lock.hcl"):
            kept, target = folder / name, new / "stacks" / folder.name
            if kept.exists() and target.is_dir() and not (target / name).exists():
                kept.replace(target / name)


def _stack_file(out: Path, name: str) -> StackFile:
    path = Path("stacks") / name / "cdk.tf.json"
    body = json.loads((out / path).read_text(encoding="utf-8"))
    return StackFile(
        name=name, path=path.as_posix(), resources=sum(len(by_name) for by_name in body.get("resource", {}).values())
    )
