"""`pip install inferfab` and an empty folder: environment, stacks and templates come out of the wheel alone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from synthesized import ROOT
from test_reproducible import apart, tree

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("wheel")]


def run(*words: str | Path, cwd: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Away from this checkout: nothing of it is on the path."""
    kept = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "INFERFAB_ENGINE"}}
    done = subprocess.run(
        [str(word) for word in words], cwd=cwd, env={**kept, **more}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`bin` of a fresh virtual environment with the wheel in it, at the versions that the repository pins."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
    run(*pip, "wheel", "--no-deps", "--wheel-dir", folder / "dist", ROOT, cwd=folder)
    (wheel,) = (folder / "dist").glob("inferfab-*.whl")
    run(sys.executable, "-m", "venv", folder / "venv", cwd=folder)
    own = folder / "venv" / "bin"
    pip = (str(own / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check")
    run(*pip, "install", "-c", ROOT / "constraints.txt", wheel, cwd=folder)
    return own


@pytest.fixture(scope="module")
def folder(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder after the two commands of the README."""
    empty = tmp_path_factory.mktemp("empty")
    run(installed / "inferfab", "init", "x", cwd=empty)
    said = run(installed / "inferfab", "synth", "x", cwd=empty).stdout
    assert "x-first-foundation" in said
    return empty


def test_two_commands_write_the_stacks(folder: Path) -> None:
    """Five stacks, and nothing beside them but the environment."""
    assert sorted(p.name for p in folder.iterdir()) == ["cdktf.out", "environments"]
    stacks = sorted(p.name for p in (folder / "cdktf.out" / "stacks").iterdir())
    assert stacks == [
        "x-first-foundation",
        "x-first-platform",
        "x-first-serving",
        "x-global",
        "x-us-east-1-region",
    ]


def test_it_all_came_from_the_wheel(installed: Path, folder: Path) -> None:
    """Stacks and templates lie in site-packages, and neither test extras nor a binding package came along."""
    code = """
import importlib.util, inferfab, inferfab.synthesis as s, inferfab.render.templates as t
print(s.stacks_package().__file__)
print(t.template_folder())
print([n for n in ("cdktn", "moto", "pytest", "cdktf_cdktf_provider_aws", "stacks") if importlib.util.find_spec(n)])
"""
    stacks, templates, others = run(installed / "python", "-c", code, cwd=folder).stdout.split("\n")[:3]
    site = installed.parent / "lib"
    assert Path(stacks).is_relative_to(site) and Path(stacks).parent.name == "stacks"
    assert Path(templates).is_relative_to(site)
    assert others == "[]"


def test_what_asks_an_account_came_along(installed: Path, folder: Path) -> None:
    """boto3, and the data of preflight: without credentials there is one message, and the policy needs none."""
    policy = run(installed / "inferfab", "preflight", "--policy", cwd=folder).stdout
    assert "servicequotas:GetServiceQuota" in policy
    run(installed / "python", "-c", "import inferfab.preflight.aws, inferfab.adopt.imports", cwd=folder)


def test_the_checkout_writes_the_same(folder: Path, tmp_path: Path) -> None:
    """Byte for byte, from the same file."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "constructs")}
    command = [sys.executable, "-m", "inferfab.cli", "synth", str(folder / "environments" / "x.yaml")]
    subprocess.run([*command, "--out", str(tmp_path / "out")], cwd=ROOT, env=environment, check=True, stdout=-3)
    assert apart(tree(folder / "cdktf.out"), tree(tmp_path / "out")) == []


def test_cdktf_can_run_the_stacks_of_the_wheel(installed: Path, folder: Path, tmp_path: Path) -> None:
    """`"app": "python -m inferfab.stacks"` in a cdktf.json of one's own."""
    run(installed / "python", "-m", "inferfab.stacks", cwd=folder, INFERFAB_ENV="x", CDKTF_OUTDIR=str(tmp_path / "app"))
    assert apart(tree(folder / "cdktf.out"), tree(tmp_path / "app")) == []
