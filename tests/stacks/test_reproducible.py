"""The same environment is the same bytes: twice, anywhere, for anybody, and on both engines but for versions."""

import getpass
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from synthesized import ALL, ENVIRONMENTS, ROOT, addresses, file_of

from inferfab.synthesis import stacks_package

SOMEBODY = "u5erofnobody"
SOMEWHERE = "h0stofnowhere"


def _slow_but_dev(names: Iterable[str]) -> list[Any]:
    """A process a run: the quick set takes one environment."""
    return [name if name == "dev" else pytest.param(name, marks=pytest.mark.slow) for name in names]


def synth(name: str, out: Path, *, cwd: Path = ROOT, package: Path = ROOT / "constructs", **environment: str) -> None:
    """`inferfab synth` in a process of its own."""
    path = {"PYTHONPATH": str(package)}
    command = [sys.executable, "-m", "inferfab.cli", "synth", str(file_of(name)), "--out", str(out)]
    done = subprocess.run(
        command, cwd=cwd, env={**os.environ, **path, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def tree(folder: Path) -> dict[str, bytes]:
    """Every file by its path in the folder."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def apart(one: dict[str, bytes], other: dict[str, bytes]) -> list[str]:
    """Files that differ."""
    return [path for path in sorted(one.keys() | other.keys()) if one.get(path) != other.get(path)]


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkout at another place, as on another machine."""
    there = tmp_path_factory.mktemp("another") / "machine" / "checkout"
    for part in ("constructs", "stacks", "templates"):
        shutil.copytree(ROOT / part, there / part, ignore=shutil.ignore_patterns("__pycache__"))
    return there


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_two_runs_are_the_same_bytes(name: str, tmp_path: Path, elsewhere: Path) -> None:
    """Another checkout, working folder, output folder, home, user, language, time zone and hash seed: no difference."""
    synth(name, tmp_path / "one", PYTHONHASHSEED="1", TZ="UTC", LC_ALL="C")
    home = tmp_path / SOMEBODY
    home.mkdir()
    synth(
        name, tmp_path / "a" / "much" / "longer" / "way" / "two", cwd=home, package=elsewhere / "constructs",
        HOME=str(home), USER=SOMEBODY, LOGNAME=SOMEBODY, HOSTNAME=SOMEWHERE, PYTHONHASHSEED="4242",
        TZ="Pacific/Auckland", LC_ALL="C.UTF-8", TMPDIR=str(home), COLUMNS="40",
    )  # fmt: skip
    one, two = tree(tmp_path / "one"), tree(tmp_path / "a" / "much" / "longer" / "way" / "two")
    assert len(one) > 5
    assert apart(one, two) == []
    everything = b"\n".join(two.values()).decode()
    for private in (str(tmp_path), str(ROOT), str(elsewhere), SOMEBODY, SOMEWHERE, str(Path.home()) + "/"):
        assert private not in everything


@pytest.mark.slow
def test_writing_over_an_earlier_output_is_the_same(tmp_path: Path) -> None:
    """What an earlier run of another environment left does not show."""
    synth("dev", tmp_path / "fresh")
    synth("staging", tmp_path / "used")
    synth("dev", tmp_path / "used")
    assert apart(tree(tmp_path / "fresh"), tree(tmp_path / "used")) == []


@pytest.mark.parametrize("name", _slow_but_dev(ALL))
def test_nothing_in_the_output_tells_where_it_was_made(name: str, tmp_path: Path) -> None:
    """No absolute path of any machine, no user, no host, no date of today, in any file."""
    synth(name, tmp_path / "out")
    names = [word for word in (getpass.getuser(), socket.gethostname()) if len(word) > 4]
    for path, content in tree(tmp_path / "out").items():
        text = content.decode()
        assert not re.search(r"(?<![\w.-])/(home|root|Users|tmp|work|private|var/folders|builds?)/", text), path
        assert not re.search(r"\b[A-Z]:\\\\", text), path
        for word in names:
            assert not re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text), f"{path} names {word}"


def without_versions(value: Any) -> Any:
    """A document without the engine's version."""
    document = json.loads(json.dumps(value))
    for body in (document, *document.get("stacks", {}).values()):
        body.get("//", {}).get("metadata", {}).pop("version", None)
        body.pop("version", None)
    return document


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_both_engines_write_the_same(name: str, tmp_path: Path) -> None:
    """cdktf and cdktn: every stack, manifest and chart file, but for the engine's own version."""
    trees = {}
    for engine in ("cdktf", "cdktn"):
        synth(name, tmp_path / engine, INFERFAB_ENGINE=engine)
        trees[engine] = tree(tmp_path / engine)
    one, other = trees["cdktf"], trees["cdktn"]
    assert one.keys() == other.keys()
    for path, content in one.items():
        if path.endswith(".json"):
            assert without_versions(json.loads(content)) == without_versions(json.loads(other[path])), path
        else:
            assert content == other[path], path
    versions = {engine: json.loads(files["manifest.json"])["version"] for engine, files in trees.items()}
    assert versions["cdktf"] == "0.21.0"
    assert versions["cdktn"].startswith("0.24."), "the other engine really ran"


def run_app(code: list[str], tmp_path: Path, name: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "INFERFAB_ENV": name, "CDKTF_OUTDIR": str(tmp_path / "app")}
    return subprocess.run(
        [sys.executable, *code], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("name", _slow_but_dev(ENVIRONMENTS))
def test_what_cdktf_runs_gives_the_same_as_the_command(name: str, tmp_path: Path) -> None:
    """`python -m stacks` with INFERFAB_ENV and CDKTF_OUTDIR, as cdktf-cli calls it, and `inferfab synth`."""
    synth(name, tmp_path / "command")
    done = run_app(["-m", "stacks"], tmp_path, name)
    assert done.returncode == 0, done.stderr
    one, other = tree(tmp_path / "command"), tree(tmp_path / "app")
    assert apart(one, other) == []
    documents = {Path(p).parent.name: json.loads(b) for p, b in other.items() if p.endswith("cdk.tf.json")}
    assert addresses(documents)


def test_what_cdktf_runs_names_a_missing_engine(tmp_path: Path) -> None:
    hide = "import runpy, sys; sys.modules['cdktf'] = sys.modules['cdktn'] = None; "
    done = run_app(["-c", hide + "runpy.run_module('stacks', run_name='__main__')"], tmp_path, "dev")
    assert done.returncode == 1
    assert done.stderr.startswith("inferfab: the Python package 'cdktf' is not installed")
    assert "Traceback" not in done.stderr


def test_the_checkouts_stacks_are_the_ones_that_run() -> None:
    """The loader takes the folder beside these tests, and not one of some installed copy."""
    assert Path(str(stacks_package().__file__)).parent == ROOT / "stacks"
