"""The shipped environment on racks, changed and planned."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from inferfab.environment.loading import load_text
from inferfab.plan.fleet import CellPlan, FleetPlan, plan
from inferfab.render.rendering import rendered_files

FILE = Path(__file__).resolve().parents[2] / "environments" / "prod-hybrid.yaml"


def changed(change: Callable[[dict[str, Any]], object] = lambda _: None) -> str:
    """The file's text after a change of its tree."""
    tree = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    change(tree)
    return yaml.safe_dump(tree, sort_keys=False)


def fleet_of(text: str) -> FleetPlan:
    environment = load_text(text).environment
    assert environment is not None
    return plan(environment)


@cache
def fleet() -> FleetPlan:
    return fleet_of(changed())


@cache
def files() -> dict[str, str]:
    return rendered_files(fleet())


def cell() -> CellPlan:
    (only,) = fleet().cells
    return only


def fabric_of(tree: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = tree["cells"]["dc1"]["fabric"]
    return made


def racks_of(tree: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = tree["cells"]["dc1"]["racks"]
    return made
