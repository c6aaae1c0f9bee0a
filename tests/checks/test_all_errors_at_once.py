"""All errors of a file in one run: each once, none missing, and nothing that only follows from another."""

import pytest

from environments import AGGREGATED, ALL_PARTS, DISAGGREGATED, GCP, SHARED, Env, aggregated_pool, base, cell

ALL = base(*ALL_PARTS)
AGG, DIS, GOOGLE, SMALL = base(AGGREGATED), base(DISAGGREGATED), base(GCP), base(SHARED)

MISTAKES: tuple[tuple[str, str, str], ...] = (
    # (rule, place, why it is a mistake)
    ("IF-ENV-010", "pools.chat.prefil", "unknown field beside prefill"),
    ("IF-ENV-011", "cells.east-c.zone", "a cell without zone"),
    ("IF-ENV-012", "models.broken.context_tokens", "text where a number belongs"),
    ("IF-ENV-013", "tiers.mute.promises[0].percentile", "the 100th percentile"),
    ("IF-ENV-014", "pools.small.nodes", "minimum above the desired number"),
    ("IF-REF-001", "engine.vllm", "not the vLLM that Dynamo pins"),
    ("IF-REF-005", "pools.lost.model", "a model that is not declared"),
    ("IF-REF-007", "cells.central-c.zone", "a zone of another region"),
    ("IF-NET-003", "kept_apart.storage[0]", "storage in a cell's range"),
    ("IF-CLD-001", "pools.typo.instance", "a machine type that AWS does not have"),
    ("IF-ENG-003", "pools.docs.worker.tensor_parallel", "3 GPUs for 32 heads"),
    ("IF-MEM-003", "models.qwen-8b.context_tokens", "more context than the model has"),
)


def with_mistakes() -> Env:
    env = ALL.set("pools.chat.prefil", {"tensor_parallel": 4})
    env = env.set("cells.east-c", cell("aws", "us-east-1", "us-east-1c", "10.19.0.0/16", "docs"))
    env = env.delete("cells.east-c.zone")
    # A pool that serves the broken model, and one in the broken tier, are no second mistakes.
    env = env.set("models.broken", {**AGG.get("models.qwen-8b"), "context_tokens": "8k"})
    env = env.set("pools.of-broken", aggregated_pool("broken")).set("cells.east-a.pools.of-broken", {})
    mute = {"promises": [{"metric": "ttft", "percentile": 100, "at_most_ms": 200}]}
    env = env.set("tiers.mute", mute).set("pools.in-mute", aggregated_pool("qwen-8b", tier="mute"))
    env = env.set("cells.east-a.pools.in-mute", {})
    env = env.set("pools.small.nodes", {"desired": 1, "min": 2})
    env = env.set("engine.vllm", "0.33.0")
    env = env.set("pools.lost", aggregated_pool("qwen-9b")).set("cells.east-a.pools.lost", {})
    env = env.set("cells.central-c.zone", "us-east1-c")
    env = env.set("kept_apart", {"storage": ["10.16.0.0/20"]})
    env = env.set("pools.typo", aggregated_pool("qwen-8b", instance="g6e.13xlarge"))
    env = env.set("cells.east-a.pools.typo", {})
    env = env.set("pools.docs.worker.tensor_parallel", 3)
    # One sequence of it still fits the shared pool.
    return env.set("models.qwen-8b.context_tokens", 40_961).set("pools.small.max_sequences", 1)


def test_twelve_mistakes() -> None:
    """Twelve independent mistakes of schema, references and plan: twelve errors, and no others."""
    found = [(f.rule, f.dotted_path) for f in with_mistakes().check().findings if f.severity == "error"]
    assert sorted(found) == sorted((rule, place) for rule, place, _ in MISTAKES)


def test_no_warnings_of_a_cut_plan() -> None:
    """Warnings about idle GPUs, unused names or money of what is left of a broken file would be noise."""
    others = [f for f in with_mistakes().check().findings if f.severity != "error"]
    assert not others, others


@pytest.mark.parametrize("mended", range(len(MISTAKES)))
def test_mistakes_are_independent(mended: int) -> None:
    """With one of the twelve mended, the other eleven are found as before."""
    env, (rule, place, _) = with_mistakes(), MISTAKES[mended]
    good = {
        "pools.chat.prefil": lambda e: e.delete("pools.chat.prefil"),
        "cells.east-c.zone": lambda e: e.set("cells.east-c.zone", "us-east-1c"),
        "models.broken.context_tokens": lambda e: e.set(place, 8192),
        "tiers.mute.promises[0].percentile": lambda e: e.set(place, 99),
        "pools.small.nodes": lambda e: e.set("pools.small.nodes.min", 1),
        "engine.vllm": lambda e: e.delete(place),
        "pools.lost.model": lambda e: e.set(place, "qwen-8b"),
        "cells.central-c.zone": lambda e: e.set(place, "us-central1-c"),
        "kept_apart.storage[0]": lambda e: e.set(place, "10.64.0.0/16"),
        "pools.typo.instance": lambda e: e.set(place, "g6e.12xlarge"),
        "pools.docs.worker.tensor_parallel": lambda e: e.set(place, 4),
        "models.qwen-8b.context_tokens": lambda e: e.set(place, 8192),
    }  # fmt: skip
    found = [(f.rule, f.dotted_path) for f in good[place](env).check().findings if f.severity == "error"]
    assert sorted(found) == sorted((r, p) for r, p, _ in MISTAKES if p != place), rule


LONELY = [
    ("models.qwen-8b.context_tokens", "8k"),
    ("models.qwen-8b.catalog", 5),
    ("tiers.fast.promises", 5),
    ("tiers.fast", None),
    ("tiers", []),
    ("pools.docs.worker.tensor_parallel", "4"),
    ("pools.docs", None),
    ("pools", "docs"),
    ("cells.east-a.traffic_share", True),
    ("cells.east-a.pools", ["docs"]),
    ("cells.east-a", 7),
    ("models", 3),
    ("accounts", None),
    ("engine", "1.6.1"),
    ("engine.dynamo", 1.6),
    ("owner", 5),
    ("tiers.fast.workload.utilization", float("nan")),
]


@pytest.mark.parametrize(("place", "value"), LONELY, ids=lambda v: str(v)[:40])
def test_the_only_entry_of_a_section(place: str, value: object) -> None:
    """Where the broken entry is the only one of its section, the section is not missing or empty as well."""
    found = AGG.set(place, value).check().findings
    assert [f.dotted_path for f in found if f.severity == "error"] == [place], found


def test_a_broken_tier_does_not_take_the_default_of_its_name() -> None:
    """`priority` with a mistake is not planned with the built-in promises of `priority`, which would break."""
    env = DIS.rename("tiers.fast", "priority").set("pools.chat.tier", "priority")
    env = env.set("tiers.priority.availability_percent", "99").set("pools.chat.prefill.tensor_parallel", 2)
    found = [f.dotted_path for f in env.check().findings if f.severity == "error"]
    assert found == ["tiers.priority.availability_percent"]


def test_one_mistake_in_many_cells_is_one_finding() -> None:
    """The same workers in ten cells are one mistake."""
    env = AGG
    for n in range(1, 10):
        env = env.set(f"cells.more-{n}", cell("aws", "us-west-2", "us-west-2a", f"10.{30 + n}.0.0/16", "docs"))
    for place, value in (
        ("pools.docs.worker.tensor_parallel", 3), ("models.qwen-8b.context_tokens", 50_000),
        ("pools.docs.instance", "g6e.13xlarge"), ("pools.docs.worker.flags", {"--bogus": True}),
        ("pools.docs.tier", "fats"), ("pools.docs.capacity", {"kind": "reservation", "id": "mine"}),
        ("pools.docs.instance", "g4dn.12xlarge"),
    ):  # fmt: skip
        errors = [f for f in env.set(place, value).check().findings if f.severity == "error"]
        assert len(errors) == 1, (place, [f.what for f in errors])
