"""`cdktf synth` with cdktf-cli 0.21 writes what `inferfab synth` writes, for each environment.

CDKTF_CLI names the program; default: `cdktf` on PATH (`npm install --prefix SOMEWHERE cdktf-cli@0.21`).
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from synthesized import ENVIRONMENTS, ROOT
from test_reproducible import apart, synth, tree

CLI = shutil.which(os.environ.get("CDKTF_CLI") or "cdktf")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CLI is None, reason="no cdktf-cli here: npm install cdktf-cli@0.21, or name it in CDKTF_CLI"),
    pytest.mark.skipif(shutil.which("terraform") is None, reason="cdktf-cli asks terraform for its version"),
]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout after `make synth`: with the virtual environment that cdktf.json looks for."""
    there = tmp_path_factory.mktemp("checkout")
    for part in ("constructs", "stacks", "templates", "environments"):
        shutil.copytree(ROOT / part, there / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "cdktf.json", there)
    python = there / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec env PYTHONPATH="{there}/constructs" "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    return there


def cdktf(folder: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    quiet = {"CI": "1", "CHECKPOINT_DISABLE": "1", "HOME": str(folder)}
    kept = {name: value for name, value in os.environ.items() if name != "TF_CLI_CONFIG_FILE"}
    return subprocess.run(
        [str(CLI), *words], cwd=folder, env={**kept, **quiet, **more}, capture_output=True, text=True, check=False
    )


def test_it_is_the_release_that_the_readme_names(checkout: Path) -> None:
    """0.21, the last one."""
    assert cdktf(checkout, "--version").stdout.strip().startswith("0.21.")


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_cdktf_synth_writes_the_same(name: str, checkout: Path, tmp_path: Path) -> None:
    """Through cdktf.json's own app and INFERFAB_ENV: the same files, so the same logical ids."""
    synth(name, tmp_path / "own")
    done = cdktf(checkout, "synth", "--output", str(tmp_path / "cli"), INFERFAB_ENV=name)
    assert done.returncode == 0, done.stderr
    assert apart(tree(tmp_path / "own"), tree(tmp_path / "cli")) == []


def test_cdktf_lists_the_stacks_to_deploy(checkout: Path) -> None:
    """`cdktf deploy NAME` takes these names."""
    done = cdktf(checkout, "list", INFERFAB_ENV="dev")
    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for name in ("dev-use1-a-foundation", "dev-use1-a-platform", "dev-global"))


def test_a_broken_environment_fails_the_command(checkout: Path) -> None:
    """No stack is written from a file with errors, and the exit code says so."""
    (checkout / "environments" / "broken.yaml").write_text("name: broken\n")
    done = cdktf(checkout, "synth", "--output", str(checkout / "broken.out"), INFERFAB_ENV="broken")
    assert done.returncode != 0
    assert not list(checkout.glob("broken.out/stacks/*"))
