"""The whole plan: written and read back, the same each time, refused when broken, and made without
clouds or jsii."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferfab.environment.environment import Environment
from inferfab.plan.fleet import PLAN_VERSION, UnreadablePlan, plan, read_plan
from strategies import Tree, cheap, environment_trees, environments, quick

from .planning import ROOT, prod, prod_plan


def test_prod_reads_back() -> None:
    """What is written is what is read, to the last bit of every number."""
    assert read_plan(prod_plan().to_json()) == prod_plan()
    assert read_plan(prod_plan().to_json().encode()) == prod_plan()


@quick
@given(environments())
def test_generated_reads_back(environment: Environment) -> None:
    """The same for generated fleets, and JSON has no NaN or Infinity in it."""
    fleet = plan(environment)
    text = fleet.to_json()
    assert read_plan(text) == fleet
    json.loads(text, parse_constant=pytest.fail)


@quick
@given(environment_trees())
def test_same_environment_same_bytes(tree: Tree) -> None:
    """Nothing depends on time, order of sets, or earlier plans."""
    first, second = (plan(Environment.model_validate(json.loads(json.dumps(tree)))).to_json() for _ in range(2))
    assert first == second


def test_same_bytes_in_another_process() -> None:
    """Another interpreter with another hash seed writes the same plan of prod."""
    code = (
        "from inferfab.environment.loading import load; from inferfab.plan.fleet import plan;"
        "import sys; sys.stdout.write(plan(load('environments/prod.yaml').environment).to_json())"
    )
    for seed in ("1", "2"):
        assert run(code, PYTHONHASHSEED=seed) == prod_plan().to_json()


def run(code: str, **env: str) -> str:
    paths = os.pathsep.join([str(ROOT / "constructs"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env={**os.environ, "PYTHONPATH": paths, **env}, text=True,
        capture_output=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_nothing_imports_a_cloud_or_jsii() -> None:
    """Every module but the command line is imported and prod planned while cdktf, boto3 and jsii raise
    on import."""
    code = """
import importlib, pkgutil, sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        refused = 'cdktf cdktn constructs jsii boto3 botocore google kubernetes'
        if name.split('.')[0] in refused.split():
            raise ImportError('imported ' + name)
sys.meta_path.insert(0, Refuse())
import inferfab
own = ('plan', 'environment', 'catalog', 'checks', 'findings', 'record')
names = [m.name for m in pkgutil.walk_packages(inferfab.__path__, 'inferfab.') if m.name.split('.')[1] in own]
for name in names:
    importlib.import_module(name)
from inferfab.environment.loading import load
from inferfab.plan.fleet import plan
assert plan(load('environments/prod.yaml').environment).pools
print(len(names))
"""
    assert int(run(code)) > 30


def broken(change: Any) -> str:
    raw = json.loads(prod_plan().to_json())
    change(raw)
    return json.dumps(raw)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "[]",
        "3",
        '"plan"',
        "{}",
        b"\xff\xfe",
        '{"plan_version": "1"}',
        '{"plan_version": true}',
        '{"plan_version": null}',
        '{"plan_version": 1.0}',
        '{"plan_version": 0}',
        '{"plan_version": -1}',
        '{"plan_version": 1}',
        '{"plan_version": 1, "cells": []}',
        '{"plan_version": 2}',
        '{"plan_version": ' + "9" * 5000 + "}",
        '{"plan_version": 1, "x": "\\ud800"}',
        '{"plan_version": 1, "x": NaN}',
    ],
)
def test_garbage_is_refused(text: str | bytes) -> None:
    """One kind of error with a message, whatever the file holds."""
    with pytest.raises(UnreadablePlan) as caught:
        read_plan(text)
    assert str(caught.value)


@pytest.mark.parametrize("depth", [50, 500, 900, 990, 1500, 100_000])
@pytest.mark.parametrize(("open_", "close"), [("[", "]"), ('{"a":', "}")])
def test_deep_nesting_is_refused(depth: int, open_: str, close: str) -> None:
    """A file nested beyond the reader's depth is refused as well, at the top and inside a plan."""
    deep = open_ * depth + "1" + close * depth
    for text in (deep, f'{{"plan_version": 1, "cells": {deep}}}'):
        with pytest.raises(UnreadablePlan):
            read_plan(text)


def test_newer_version_says_so() -> None:
    """A plan of a later release is not half understood."""
    with pytest.raises(UnreadablePlan, match=f"plan_version {PLAN_VERSION + 1} is newer"):
        read_plan(broken(lambda raw: raw.update(plan_version=PLAN_VERSION + 1)))


def test_broken_place_is_named() -> None:
    """Where it is broken, and how often."""
    with pytest.raises(UnreadablePlan, match=r"cells\.0\.pools\.0"):
        read_plan(broken(lambda raw: raw["cells"][0]["pools"][0].update(surprise=1)))
    with pytest.raises(UnreadablePlan, match="ownership"):
        read_plan(broken(lambda raw: raw.pop("ownership")))


@cheap
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda c: st.lists(c) | st.dictionaries(st.sampled_from(["plan_version", "cells", "x"]), c),
    )
)
def test_any_json_is_refused(value: Any) -> None:
    """No JSON that is not a plan gets through, and none ends in another exception."""
    with pytest.raises(UnreadablePlan):
        read_plan(json.dumps(value))


@cheap
@given(st.text(max_size=40))
def test_any_text_is_refused(text: str) -> None:
    """Nor any text."""
    with pytest.raises(UnreadablePlan):
        read_plan(text)


def test_totals_of_prod() -> None:
    """25 or 26 nodes: 3 cells of 8 p5en (192 GPUs) and 2 g6e.12xlarge (8); at maximum twice that and 8
    nodes of batch, at minimum one of batch for its last worker."""
    gpus = prod_plan().gpus
    assert gpus.desired == 3 * 8 * 8 + 2 * 4
    assert gpus.max == 3 * 16 * 8 + 8 * 4
    assert gpus.min == 3 * 8 * 8 + 1 * 4


def test_what_prod_says() -> None:
    """All pools in all their cells, every tier of every model rated, and the environment's own name."""
    fleet = prod_plan()
    placed = [(p.cell, p.name) for p in fleet.pools]
    assert placed == [(c, p) for c, cell in prod().cells.items() for p in cell.pools]
    assert [(a.tier, a.model) for a in fleet.availability] == [
        ("priority", "llama-70b"),
        ("standard", "llama-70b"),
        ("standard", "qwen-32b"),
        ("batch", "llama-8b"),
    ]
    assert all(a.reaches_target for a in fleet.availability)
    assert fleet.ownership.name == "prod"
    assert fleet.observed is None


@quick
@given(environments())
def test_whole_fleets_are_consistent(environment: Environment) -> None:
    """Every pool of every cell is planned once, tiers' costs add up, availability is a percentage."""
    fleet = plan(environment)
    assert [(p.cell, p.name) for p in fleet.pools] == [
        (c, p) for c, cell in environment.cells.items() for p in cell.pools
    ]
    low = sum(c.desired.usd_per_hour.low for c in fleet.cost.by_tier.values())
    assert low == pytest.approx(fleet.cost.total.desired.usd_per_hour.low)
    assert all(0 <= a.percent <= 100 for a in fleet.availability)
    for pool in fleet.pools:
        assert pool.requests_per_second.low <= (pool.requests_per_second.high or float("inf"))
        for role in pool.roles:
            assert role.memory.fits == (role.memory.concurrent_sequences >= role.parallelism.data)
            if not role.memory.fits and role.role != "prefill":
                assert role.memory.concurrent_sequences == 0
