"""No fault is missed in any place, and nothing is said of sound manifests."""

from pathlib import Path

import pytest
from faults import FAULTS
from mutation_run import SOUND, run, table

from inferfab.checks.manifests import check_manifests
from inferfab.manifests.read import read_manifests


@pytest.mark.slow
def test_every_fault_is_caught_in_every_place() -> None:
    """Each kind of fault, in each container or object of each sound manifest in which it can stand."""
    injected = list(run())
    assert len(injected) > 600
    assert {each.fault for each in injected} == {fault.name for fault in FAULTS}, "a fault that could stand nowhere"
    assert not [each for each in injected if not each.caught], table(injected)


@pytest.mark.parametrize("path", SOUND, ids=lambda p: p.stem)
def test_no_false_alarm(path: Path) -> None:
    """Shapes that people use, rewritten: neither an error nor a warning."""
    findings = check_manifests(read_manifests([path])).findings
    assert [f"{f.location} {f.rule} {f.what}" for f in findings if f.severity != "info"] == []


def test_there_are_a_dozen_sound_shapes() -> None:
    assert len(SOUND) >= 12
