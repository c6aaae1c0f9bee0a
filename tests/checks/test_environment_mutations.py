"""No fault of an environment is missed in any place of any sound environment."""

import pytest
from environment_faults import FAULTS, run, sound
from mutation_run import table


@pytest.mark.slow
def test_every_fault_is_caught_in_every_place() -> None:
    """Each kind of fault, in each pool, role, model or cell of the shipped environments and of one with all parts."""
    injected = list(run())
    assert len(injected) > 200
    assert {each.fault for each in injected} == {name for _, name, _ in FAULTS}
    assert not [each for each in injected if not each.caught], table(injected)


def test_they_are_sound() -> None:
    """Faults are put into environments without errors."""
    for env in sound().values():
        assert env.check().ok
