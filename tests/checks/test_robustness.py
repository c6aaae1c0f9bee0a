"""Whatever stands in the file: a check ends soon, never raises, and its findings stand in the file."""

import math
import time
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from environments import AGGREGATED, ALL_PARTS, REVISION, SHARED, Env, base
from inferfab.checks.check import check
from inferfab.environment.loading import load_text
from inferfab.findings import Finding

AGG, SMALL = base(AGGREGATED), base(SHARED)
SECONDS = 2.0
SHAPE = {
    "parameters": 8e9, "active_parameters": 8e9, "hidden_size": 4096, "query_heads": 32, "vocabulary": 128_256,
    "max_context_tokens": 131_072, "attention": [{"kind": "full", "layers": 32, "kv_heads": 8, "head_dim": 128}],
}  # fmt: skip


def rich() -> Env:
    """A sound environment with every optional section."""
    env = base(*ALL_PARTS)
    own = {
        "shape": SHAPE, "source": "s3://weights/own", "quantization": "fp8", "revision": REVISION,
        "context_tokens": 8192, "speculative": {"method": "ngram", "tokens": 3},
        "offload": {"cpu_gib_per_gpu": 60.0, "nvme_gib_per_gpu": 100.0},
    }  # fmt: skip
    env = env.set("models.own", own).set("pools.docs.model", "own")
    env = env.set("pools.docs.worker.flags", {"--enforce-eager": True, "--max-logprobs": 5})
    env = env.set("cells.east-b.fabric", {"kind": "efa", "plugin": "dranet"})
    env = env.set("cells.central-c.fabric", {"kind": "roce", "rdma_cidr": "10.48.128.0/17", "dscp": 26})
    env = env.set("cells.east-b.pools.chat", {
        "capacity": {"kind": "reservation", "id": "cr-0a1b2c3d4e5f60001"}, "decode_replicas": {"desired": 4, "max": 6},
    })  # fmt: skip
    env = env.set("routing", {"domain": "llm.example.com", "users_near": ["aws:us-west-2"]})
    env = env.set("access", {"kind": "public", "allowed_cidrs": ["198.51.100.0/24"]})
    env = env.set("kept_apart", {"storage": ["10.64.0.0/16"], "training": ["10.80.0.0/12"]})
    env = env.set("budget", {"usd_per_month": 900_000.0, "usd_per_month_at_max": 2_000_000.0})
    line = {
        "cloud": "aws", "instance": "p5en.48xlarge", "kind": "reservation", "usd_per_hour": 41.6,
        "source": "contract", "as_of": "2026-11-01",
    }  # fmt: skip
    return env.set("prices", {"overlay": [line]}).set("tags", {"cost-center": "inference"})


RICH = rich()


def places(tree: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every key and list entry of the tree."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        yield (*path, key)
        yield from places(value, (*path, key))


PLACES = list(places(RICH.tree))
WRONG: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 3, 7, 99_999, 10**9, 10**30, -(10**18), 0.0, 1e-300, 1e308, -0.5, math.nan, math.inf,
    -math.inf, "", " ", "x", "ü-日本-🚀", "\u202e", "a" * 5000, "0", "yes", "1.6.1", "10.0.0.0/8", "null", [], {},
    [None], [[]], {"": None}, {"kind": "x"}, {"kind": None}, {"desired": 3}, {"desired": 99_999}, ["docs"],
)  # fmt: skip


def parent(tree: Any, path: tuple[str | int, ...]) -> Any:
    for part in path[:-1]:
        tree = tree[part]
    return tree


@st.composite
def mutations(draw: st.DrawFn) -> Env:
    """The rich environment after one change."""
    tree = RICH.set("name", "test").tree
    path = draw(st.sampled_from(PLACES))
    kind = draw(st.sampled_from(("replace", "replace", "replace", "delete", "rename", "duplicate", "copy")))
    holder, last = parent(tree, path), path[-1]
    if kind == "replace":
        holder[last] = draw(st.sampled_from(WRONG) | st.text(max_size=12) | st.integers() | st.floats())
    elif kind == "delete":
        del holder[last]
    elif isinstance(holder, list):
        holder.insert(draw(st.integers(0, len(holder))), holder[last])
    elif kind == "rename":
        holder[draw(st.sampled_from(("x", "", "modle", "ü", f"{last}s", "a" * 60)) | st.text(max_size=8))] = holder.pop(
            last
        )
    elif kind == "duplicate":
        holder[f"{last}-2"] = holder[last]
    else:
        holder[last] = parent(tree, (*draw(st.sampled_from(PLACES)), 0))
    return Env(tree)


def sound_findings(text: str) -> tuple[Finding, ...]:
    """Findings of a check that neither raises nor takes long, each with a place in the text."""
    begun = time.process_time()
    checked = check(load_text(text))
    assert time.process_time() - begun < SECONDS
    lines = text.splitlines() or [""]
    for finding in checked.findings:
        assert 1 <= finding.location.line <= len(lines), finding
        assert 1 <= finding.location.column <= len(lines[finding.location.line - 1]) + 1, finding
        assert finding.what.strip(), finding
        assert finding.fix.strip(), finding
        assert finding.rule.startswith("IF-")
    keys = [(f.rule, f.path, f.what) for f in checked.findings]
    assert len(keys) == len(set(keys))
    assert checked.ok or any(f.severity == "error" for f in checked.findings)
    assert checked.plan is not None or not checked.ok
    return checked.findings


def dump(env: Env) -> str:
    return yaml.safe_dump(env.tree, sort_keys=False, allow_unicode=True, width=1000)


def test_the_rich_environment_is_sound() -> None:
    """Mutations start from an environment without errors, so that the one change is the only mistake."""
    assert [f for f in sound_findings(RICH.text) if f.severity == "error"] == []


def prove(env: Env) -> None:
    sound_findings(dump(env))


@given(mutations())
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
def test_one_mutation(env: Env) -> None:
    """Any single change: no exception, below 2 s, findings that stand in the file."""
    prove(env)


@pytest.mark.slow
@given(mutations())
@settings(max_examples=2000, deadline=None, suppress_health_check=list(HealthCheck))
def test_one_mutation_at_length(env: Env) -> None:
    """The same, more often."""
    prove(env)


@pytest.mark.slow
@pytest.mark.parametrize("wrong", WRONG, ids=lambda v: repr(v)[:20])
def test_every_value_replaced(wrong: object) -> None:
    """Each place of the file in turn with each kind of wrong value."""
    for path in PLACES:
        tree = RICH.set("name", "test").tree
        parent(tree, path)[path[-1]] = wrong
        prove(Env(tree))


@pytest.mark.slow
def test_every_key_deleted() -> None:
    """Each key in turn is forgotten: never an exception; a second finding only where the key was a name."""
    for path in PLACES:
        tree = RICH.set("name", "test").tree
        del parent(tree, path)[path[-1]]
        prove(Env(tree))


HUGE = [
    ("pools.docs.worker", {"tensor_parallel": 4, "pipeline_parallel": 64, "replicas": {"desired": 100_000}}),
    ("pools.docs.worker.replicas", {"desired": 100_000}),
    ("pools.docs.worker.data_parallel", 256),
    ("models.own.shape.query_heads", 10**9),
    ("models.own.shape.hidden_size", 10**30),
    ("models.own.context_tokens", 10_000_000),
]


@pytest.mark.parametrize(("place", "value"), HUGE, ids=[place for place, _ in HUGE])
def test_huge_numbers(place: str, value: object) -> None:
    """Numbers at the ends of what the format allows are worked through, and quickly."""
    sound_findings(dump(RICH.set(place, value)))


@pytest.mark.parametrize(
    "attention",
    [[], [{"kind": "full", "layers": 10**300, "kv_heads": 8, "head_dim": 128}]],
    ids=["none", "10^300 layers"],
)
def test_impossible_shapes(attention: object) -> None:
    """A shape without attention layers, or with numbers that no model has, is an error at the shape."""
    found = sound_findings(dump(RICH.set("models.own.shape.attention", attention)))
    assert [f for f in found if f.severity == "error" and f.dotted_path.startswith("models.own")]


@pytest.mark.parametrize("parameters", [math.inf, math.nan, 1e308, -1.0, 0.0])
def test_impossible_parameters(parameters: float) -> None:
    """The same for a number of parameters that is none."""
    found = sound_findings(dump(RICH.set("models.own.shape.parameters", parameters)))
    assert [f for f in found if f.severity == "error" and f.dotted_path.startswith("models.own")]


@pytest.mark.parametrize(("sharing", "nodes"), [("mig", 1_000), ("sleep", 1_000), ("mig", 60_000), ("sleep", 2_000)])
def test_huge_shared_pools(sharing: str, nodes: int) -> None:
    """A shared pool of a thousand nodes is packed in 2 s, and a larger one is refused."""
    env = SMALL.set("pools.small.sharing", sharing).set("pools.small.nodes.desired", nodes)
    sound_findings(dump(env.set("pools.small.instance", "p5en.48xlarge")))


def test_a_shared_pool_names_each_model_once() -> None:
    """Listing a model twice in a shared pool is a mistake, not twice as many instances."""
    found = SMALL.set("pools.small.models[1].model", "llama-8b").check().findings
    assert [f.dotted_path for f in found if f.severity == "error"] == ["pools.small"]


def test_many_pools_and_cells() -> None:
    """400 pools in 40 cells, the size that the reader's limit names, take less than 10 s."""
    tree = yaml.safe_load(AGG.text)
    pool, cell = tree["pools"].pop("docs"), tree["cells"].pop("east-a")
    for c in range(40):
        pools = {f"docs-{c}-{n}": {} for n in range(10)}
        network = {"kind": "new", "cidr": f"10.{c}.0.0/16"}
        tree["cells"][f"cell-{c}"] = {**cell, "network": network, "pools": pools}
        tree["pools"].update(dict.fromkeys(pools, pool))
    text = yaml.dump(tree, Dumper=NoAlias, sort_keys=False)
    begun = time.process_time()
    checked = check(load_text(text))
    assert time.process_time() - begun < 10
    assert checked.plan is not None


class NoAlias(yaml.SafeDumper):
    """Writes repeated values out."""

    def ignore_aliases(self, data: object) -> bool:
        return True
