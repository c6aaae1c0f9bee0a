"""The rules of the environments in this repository, and Prometheus' own tester over them."""

import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from inferfab.environment.loading import load
from inferfab.plan.fleet import CellPlan, FleetPlan, plan
from inferfab.render.observability.files import observability_files
from programs import tool

ROOT = Path(__file__).resolve().parents[3]
ENVIRONMENTS = ("dev", "staging", "prod", "prod-gcp", "prod-global", "prod-hybrid")


@cache
def fleet(name: str) -> FleetPlan:
    loaded = load(ROOT / "environments" / f"{name}.yaml")
    assert loaded.environment is not None
    return plan(loaded.environment)


def cells() -> list[tuple[str, FleetPlan, CellPlan]]:
    return [(f"{name}/{cell.name}", fleet(name), cell) for name in ENVIRONMENTS for cell in fleet(name).cells]


@cache
def documents(name: str, cell: int = 0) -> tuple[Any, ...]:
    files = observability_files(fleet(name), fleet(name).cells[cell])
    return tuple(d for text in files.values() for d in yaml.safe_load_all(text) if d)


def groups(name: str, cell: int = 0) -> list[dict[str, Any]]:
    """Of all PrometheusRules, as Prometheus' own file has them."""
    return [g for d in documents(name, cell) if d["kind"] == "PrometheusRule" for g in d["spec"]["groups"]]


def all_rules(name: str, cell: int = 0) -> list[dict[str, Any]]:
    return [rule for group in groups(name, cell) for rule in group["rules"]]


def promtool(
    folder: Path, name: str, tests: list[dict[str, Any]], keep: tuple[str, ...] = (), every: str = "1m"
) -> str:
    """What `promtool test rules` says; empty where all is well.

    :param keep: only groups whose name begins so; all by default.
    :param every: how often rules are evaluated.
    """
    program = tool("promtool")
    chosen = [g for g in groups(name) if not keep or g["name"].startswith(keep)]
    (folder / "rules.yaml").write_text(yaml.safe_dump({"groups": chosen}))
    suite = {"rule_files": ["rules.yaml"], "evaluation_interval": every, "fuzzy_compare": True, "tests": tests}
    (folder / "suite.yaml").write_text(yaml.safe_dump(suite))
    done = subprocess.run(
        [program, "test", "rules", "suite.yaml"], cwd=folder, capture_output=True, text=True, check=False
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr
