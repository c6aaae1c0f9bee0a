"""The engine command lines of the plan itself, before any template: by the pair's lists and by dynamo.vllm."""

import math
from pathlib import Path

import pytest
from hypothesis import given

from inferfab.catalog.engines import engine_pairs
from inferfab.environment.environment import Environment
from inferfab.environment.loading import load
from inferfab.plan.fleet import FleetPlan, plan
from strategies import environments, quick

from .dynamo_tool import Question, ask
from .worker_args import DYNAMO, VLLM, class_problems, worker_problems

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ("dev", "staging", "prod", "prod-gcp")


def command_lines(fleet: FleetPlan) -> dict[str, list[str]]:
    """By cell, pool and role."""
    return {
        f"{cell.name} {pool.name} {role.role}": role.engine.argv()
        for cell in fleet.cells
        for pool in cell.pools
        for role in pool.roles
    }


def shipped() -> dict[str, list[str]]:
    """Of all shipped environments."""
    found = {}
    for name in SHIPPED:
        environment = load(ROOT / "environments" / f"{name}.yaml").environment
        assert environment is not None
        found |= {f"{name} {where}": args for where, args in command_lines(plan(environment)).items()}
    return found


def test_the_lists_are_of_the_newest_pair() -> None:
    """The pair that the harness is about is the one that the catalog has; a new one needs its lists here too."""
    pairs = engine_pairs()
    assert max(pairs, key=lambda version: [int(part) for part in version.split(".")]) == DYNAMO
    assert pairs[DYNAMO].vllm == VLLM


def test_shipped_environments() -> None:
    """Every worker of every shipped environment."""
    lines = shipped()
    assert len(lines) >= 20
    assert {where: found for where, args in lines.items() if (found := worker_problems(args))} == {}
    assert {where: found for where, args in lines.items() if (found := class_problems(args))} == {}


def test_dynamo_takes_them() -> None:
    """dynamo.vllm's own parse_args, and nothing on its way out; tensor ranks arrive as they were written."""
    lines = shipped()
    for (where, args), answer in zip(
        lines.items(), ask([Question("vllm", args) for args in lines.values()]), strict=True
    ):
        assert answer.error is None and answer.deprecations == [], where
        wanted = int(args[args.index("--tensor-parallel-size") + 1]) if "--tensor-parallel-size" in args else 1
        assert math.isclose(answer.values["engine_args"]["tensor_parallel_size"], wanted), where


@pytest.mark.slow
@quick
@given(environments())
def test_any_environment(environment: Environment) -> None:
    """Generated environments: whatever the plan decides, the engine can parse."""
    for where, args in command_lines(plan(environment)).items():
        assert worker_problems(args) == [], where
        assert class_problems(args) == [], where
