"""Rehearsals with Dynamo's own processes."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from inferfab import check, load
from inferfab.catalog.failures import failure_facts
from inferfab.extras import DYNAMO, ExtraMissing, python_of
from inferfab.plan.fleet import FleetPlan
from inferfab.rehearse.rehearse import Rehearsal, rehearse

from .dynamo_python import dynamo_python

ENVIRONMENTS = Path(__file__).resolve().parents[2] / "environments"
MOST_BYTES = 2 * 10**9
MOST_SECONDS = 60


def planned(path: Path) -> FleetPlan:
    fleet = check(load(path)).plan
    assert fleet is not None
    return fleet


def rehearsed(path: Path, logs: Path | None = None) -> Rehearsal:
    fleet = planned(path)
    return rehearse(fleet, fleet.cells[0], dynamo_python(), keep=logs)


def wrong(found: Rehearsal) -> list[str]:
    return [f"{s.name}: {s.seen}" for s in found.scenes if not s.ok]


@pytest.mark.xdist_group("rehearse")
def test_two_tiers_of_one_model_and_one_lost_of_each_kind(tmp_path: Path) -> None:
    found = rehearsed(ENVIRONMENTS / "prod.yaml", tmp_path)
    assert not wrong(found)
    names = [s.name for s in found.scenes]
    # Two tiers of llama-70b, each by targets and by priority.
    assert sum("tier priority" in n for n in names) == 2
    assert sum("tier standard" in n for n in names) == 2
    killed = [n.removesuffix(" is killed").removesuffix(" of chat-priority") for n in names if "is killed" in n]
    kinds = ("a decode worker", "a prefill worker", "a frontend", "a local router", "one of two routers over tiers")
    assert killed == [f"llama-70b: {kind}" for kind in kinds]
    # What the catalog says is exercised by a scene is.
    told = [part.exercised for part in failure_facts().parts.values() if part.exercised.startswith("scene: ")]
    assert sorted(told) == sorted(f"scene: {kind} is killed" for kind in kinds)
    # The runtime asks engines for a token only where it is told to, as workers are.
    workers = [log for log in tmp_path.iterdir() if re.search(r"-(prefill|decode|worker)-\d\.log$", log.name)]
    assert len(workers) == 8
    for log in workers:
        assert "Health check manager started" in log.read_text(encoding="utf-8"), log.name
    assert found.memory_bytes < MOST_BYTES
    assert found.seconds < MOST_SECONDS


@pytest.mark.xdist_group("rehearse")
def test_hand_over_stays_near_where_it_must(tmp_path: Path) -> None:
    text = (ENVIRONMENTS / "staging.yaml").read_text(encoding="utf-8")
    changed = text.replace("topology: disaggregated", "topology: disaggregated\n    locality: required", 1)
    assert changed != text
    (tmp_path / "required.yaml").write_text(changed, encoding="utf-8")
    found = rehearsed(tmp_path / "required.yaml")
    assert not wrong(found)
    (seen,) = [s.seen for s in found.scenes if "locality required" in s.name]
    assert seen.startswith("12 of 12")


@pytest.mark.xdist_group("rehearse")
def test_a_flag_that_dynamo_refuses_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a mock of a mock: the rendered router mode is broken, and the real frontend ends."""
    from inferfab.rehearse import cast

    real = cast.serving_files

    def broken(*args: object) -> dict[str, str]:
        files = real(*args)  # type: ignore[arg-type]
        return {path: text.replace("- 'kv'\n", "- 'kvv'\n") for path, text in files.items()}

    monkeypatch.setattr(cast, "serving_files", broken)
    found = rehearsed(ENVIRONMENTS / "dev.yaml")
    assert len(wrong(found)) == 1
    assert "router-mode" in wrong(found)[0]
    # What had started is gone.
    assert found.scenes[-1].name == "everything is gone"


@pytest.mark.xdist_group("rehearse")
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_an_interrupt_ends_everything(number: signal.Signals, tmp_path: Path) -> None:
    python = dynamo_python()
    run = subprocess.Popen(
        [sys.executable, "-m", "inferfab.cli", "rehearse", str(ENVIRONMENTS / "prod.yaml"), "--cell", "use1-a"],
        env={**os.environ, DYNAMO.variable: python, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        # A shell's background job inherits SIGINT as ignored, and pytest may run in one.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler) and None,  # noqa: PLW1509
    )  # fmt: skip
    end = time.monotonic() + 30
    while not _children(tmp_path) and time.monotonic() < end:
        time.sleep(0.05)
    assert _children(tmp_path), "no process started"
    run.send_signal(number)
    _, said = run.communicate(timeout=30)
    assert run.returncode == 130
    assert "every process is ended" in said
    assert "Traceback" not in said
    assert not _children(tmp_path)
    # Scratch files are gone too.
    assert not list(tmp_path.iterdir())


def _children(folder: Path) -> list[str]:
    """Processes that work in ``folder``."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and str(folder) in str((process / "cwd").readlink()):
                found.append(process.name)
        except OSError:
            continue
    return found


def test_without_dynamo_it_says_what_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DYNAMO.variable, "/nowhere/python")
    with pytest.raises(ExtraMissing, match="is not a program"):
        python_of(DYNAMO)
