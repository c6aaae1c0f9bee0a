"""What inferfab renders for every cell of every shipped environment, through all proofs."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from inferfab.environment.loading import load
from inferfab.plan.fleet import FleetPlan, plan
from inferfab.render.serving import serving_files

from .check_files import PROOFS, check_files, modules

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENTS = ("dev", "staging", "prod", "prod-gcp", "prod-global", "prod-hybrid")


@cache
def fleet(name: str) -> FleetPlan:
    environment = load(ROOT / "environments" / f"{name}.yaml").environment
    assert environment is not None
    return plan(environment)


CELLS = [(name, cell.name) for name in ENVIRONMENTS for cell in fleet(name).cells]


@cache
def rendered(name: str, cell_name: str) -> Mapping[str, str]:
    cell = next(cell for cell in fleet(name).cells if cell.name == cell_name)
    return serving_files(fleet(name), cell)


@pytest.mark.parametrize("proof", PROOFS)
@pytest.mark.parametrize(("name", "cell"), CELLS)
def test_real_consumers_take_it(name: str, cell: str, proof: str) -> None:
    """Each cell's files through one proof."""
    check_files(rendered(name, cell), (proof,))


@pytest.mark.parametrize(("name", "cell"), CELLS)
def test_there_is_something_to_prove(name: str, cell: str) -> None:
    """Every cell runs a frontend and an engine, by commands that the proofs read."""
    count = modules(rendered(name, cell))
    assert count.get("dynamo.frontend", 0) >= 1 and count.get("dynamo.vllm", 0) >= 1, count
