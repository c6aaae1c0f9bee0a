"""Generated fleets through the proofs: whatever the checks let pass is taken by every consumer."""

import pytest
from hypothesis import Phase, given, settings

from inferfab.environment.environment import Environment
from inferfab.plan.fleet import plan
from inferfab.render.gateway import gateway_files
from inferfab.render.serving import serving_files
from strategies import environments, quick

from .check_files import PROOFS
from .yaml_kit import assert_same_in_yaml_1_1_and_1_2

WITHOUT_PROCESSES = tuple(name for name in PROOFS if name != "parsers")
"""Dynamo's parsers are asked about the shipped environments; a process an example would take minutes."""


@pytest.mark.slow
# Without shrinking: an example is a whole fleet, and making it smaller takes minutes.
@settings(quick, max_examples=25, phases=[Phase.generate])
@given(environments())
def test_generated_fleets_pass_the_proofs(environment: Environment) -> None:
    """Objects, agreement of their names, engine flags and JSON flags; and one meaning for every YAML reader."""
    fleet = plan(environment)
    for cell in fleet.cells:
        if not cell.serving.graphs and not cell.serving.lanes:
            # A shared pool that starts without nodes: nothing takes requests in.
            continue
        files = serving_files(fleet, cell)
        found = {name: problems for name in WITHOUT_PROCESSES if (problems := PROOFS[name](files))}
        assert not found, found
        gateway = gateway_files(cell)
        assert bool(gateway) == bool(cell.gateway.groups)
        wrong = PROOFS["objects"](gateway)
        assert not wrong, wrong
        for text in (*files.values(), *gateway.values()):
            assert_same_in_yaml_1_1_and_1_2(text)
