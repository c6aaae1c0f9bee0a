"""What `inferfab` offers to a program, and what importing it never costs."""

import doctest
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import inferfab

ROOT = Path(__file__).resolve().parents[1]
CONSTRUCTS = str(Path(inferfab.__file__).resolve().parents[1])

SURFACE = [
    "Checked",
    "Environment",
    "Finding",
    "FleetDifference",
    "FleetPlan",
    "Loaded",
    "Unplannable",
    "UnreadablePlan",
    "check",
    "difference",
    "load",
    "load_text",
    "plan",
    "read_plan",
]


def test_the_surface_is_pinned() -> None:
    """A name added to or taken from the public surface is a decision, so it is written down here too."""
    assert inferfab.__all__ == SURFACE
    assert all(getattr(inferfab, name).__doc__ for name in SURFACE)


def test_the_docstring_example_works(monkeypatch: pytest.MonkeyPatch) -> None:
    """The example in the package's docstring runs as it stands, and gives what its comments say."""
    monkeypatch.chdir(ROOT)
    doc = inferfab.__doc__ or ""
    lines = [line[4:] for line in doc.splitlines() if line.startswith("    ")]
    assert lines[0].startswith("from inferfab import")
    space: dict[str, object] = {}
    exec("\n".join(lines), space)
    assert isinstance(space["loaded"], inferfab.Loaded)
    assert isinstance(space["fleet"], inferfab.FleetPlan)
    assert doctest.testmod(inferfab).failed == 0


def test_from_file_to_plan_and_back() -> None:
    """load, check, plan, to_json, read_plan, difference: the whole way without the command line."""
    loaded = inferfab.load(ROOT / "environments" / "dev.yaml")
    checked = inferfab.check(loaded)
    assert checked.ok and checked.plan is not None and loaded.environment is not None
    fleet = inferfab.plan(loaded.environment)
    assert fleet == checked.plan == inferfab.read_plan(fleet.to_json())
    assert inferfab.difference(fleet, fleet).empty
    with pytest.raises(inferfab.UnreadablePlan):
        inferfab.read_plan("{}")


RECORD = """
import json, sys

HEAVY = {"cdktf", "jsii", "boto3", "botocore", "constructs", "rich", "jinja2", "jsonschema", "urllib3", "requests"}
SECTION = {}

class Hook:
    asked = set()
    def find_spec(self, name, path=None, target=None):
        top = name.split(".")[0]
        if top in HEAVY:
            Hook.asked.add(top)
        return None

sys.meta_path.insert(0, Hook())
import os
def done(step):
    SECTION[step] = sorted(Hook.asked)
    Hook.asked.clear()
sys.stdout = open(os.devnull, "w")
import inferfab
done("import")
loaded = inferfab.load("environments/dev.yaml")
checked = inferfab.check(loaded)
inferfab.plan(loaded.environment).to_json()
done("library")
from inferfab.cli.main import main
def run(*argv):
    sys.argv = ["inferfab", *argv]
    try:
        main()
    except SystemExit:
        pass
    done(" ".join(argv))
run("check", "dev")
run("check", "nowhere")
run("check", "dev", "--format", "json")
run("plan", "dev", "--format", "json")
run("plan", "dev")
sys.__stdout__.write(json.dumps(SECTION))
"""


def test_one_module_alone_imports_boto3() -> None:
    """Whatever asks AWS goes through the reader, which refuses what is not a read."""
    package = Path(inferfab.__file__).parent
    texts = {p.relative_to(package).as_posix(): p.read_text(encoding="utf-8") for p in package.rglob("*.py")}
    assert {name for name, text in texts.items() if "import boto" in text or "from boto" in text} == {
        "preflight/aws.py"
    }


def test_what_is_loaded_when() -> None:
    """Importing, checking and planning ask for no cdktf, jsii or cloud library; rich comes with tables only."""
    done = subprocess.run(
        [sys.executable, "-c", RECORD],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": CONSTRUCTS},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    asked: dict[str, list[str]] = json.loads(done.stdout)
    tables = asked.pop("plan dev")
    assert not any(asked.values()), asked
    assert set(tables) <= {"rich"}
