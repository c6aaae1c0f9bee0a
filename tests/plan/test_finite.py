"""The ends of every range of the format: plans with finite numbers only, that read back equal."""

import json
import math
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from inferfab.environment.environment import Environment
from inferfab.plan.difference import difference
from inferfab.plan.fleet import FleetPlan, plan, read_plan
from strategies import Tree, environment_trees, quick

from .planning import aggregated, environment_of, tree


def numbers(value: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """Every number below ``value`` with its place."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from numbers(item, f"{path}.{key}")
    elif isinstance(value, (list, tuple)):
        for position, item in enumerate(value):
            yield from numbers(item, f"{path}.{position}")
    elif isinstance(value, float):
        yield path, value


def assert_finite(fleet: FleetPlan) -> None:
    assert not [path for path, number in numbers(fleet.model_dump()) if not math.isfinite(number)]
    text = fleet.to_json()
    json.loads(text, parse_constant=pytest.fail)
    assert read_plan(text) == fleet
    assert difference(fleet, read_plan(text)).empty


ENDS: dict[str, tuple[Any, ...]] = {
    "prompt_tokens": (1, 10_000_000), "output_tokens": (1, 10_000_000), "utilization": (0.01, 1.0),
    "kv_transfer_share_of_ttft": (0.001, 1.0), "gpu_memory_utilization": (0.05, 1.0), "max_sequences": (1, 100_000),
    "overhead_gib": (1.0, 32.0), "data_parallel": (1, 256), "tensor_parallel": (1, 64), "pipeline_parallel": (1, 64),
    "desired": (0, 1, 100_000), "context_tokens": (1, 10_000_000), "cold_load_gib_per_second": (0.001, 100.0),
    "weights_gib": (0.001, 65_536.0), "at_most_ms": (0.1, 86_400_000.0), "usd": (0.001, 1e12),
    "traffic_share": (0.0, 5e-324, 1.0), "availability_percent": (0.0, 99.999999999999),
}  # fmt: skip


@st.composite
def shapes(draw: st.DrawFn) -> Tree:
    """A model's own shape, each size at an end of its range."""
    size = st.sampled_from((1, 10_000_000))
    parameters = draw(st.sampled_from((1e6, 1e15)))
    experts = draw(st.sampled_from((0, 1, 100_000)))
    kinds: dict[str, Tree] = {
        "full": {"kv_heads": 1, "head_dim": draw(size)},
        "sliding": {"kv_heads": 1, "head_dim": draw(size), "window_tokens": draw(size)},
        "mla": {"kv_lora_rank": draw(size), "rope_head_dim": draw(size)},
    }
    kind = draw(st.sampled_from(tuple(kinds)))
    made = {
        "parameters": parameters, "active_parameters": draw(st.sampled_from((1e6, parameters))),
        "hidden_size": draw(size), "query_heads": draw(size), "vocabulary": draw(size),
        "max_context_tokens": draw(size),
        "attention": [{"kind": kind, "layers": draw(size), **kinds[kind]}], "experts": experts,
    }  # fmt: skip
    if experts and draw(st.booleans()):
        made["expert_parameters"] = draw(st.sampled_from((1e6, parameters)))
    return made


@st.composite
def at_the_ends(draw: st.DrawFn) -> Environment:
    """A valid environment whose numbers stand at the ends of their ranges."""
    made = draw(environment_trees())

    def end(field: str) -> Any:
        return draw(st.sampled_from(ENDS[field]))

    for pool in made["pools"].values():
        pool["workload"] = {field: end(field) for field in ("prompt_tokens", "output_tokens", "utilization")}
        if pool["topology"] == "disaggregated":
            pool["kv_transfer_share_of_ttft"] = end("kv_transfer_share_of_ttft")
        for role in ("prefill", "decode", "worker"):
            if role in pool:
                spread = {} if "gpu" in pool else {f: end(f) for f in ("tensor_parallel", "pipeline_parallel")}
                pool[role] = {
                    "replicas": {"desired": end("desired")},
                    "data_parallel": 1 if "gpu" in pool else end("data_parallel"),
                    **{f: end(f) for f in ("gpu_memory_utilization", "max_sequences", "overhead_gib")}, **spread,
                }  # fmt: skip
        if pool["topology"] == "shared":
            pool |= {f: end(f) for f in ("gpu_memory_utilization", "max_sequences")}
    for name, model in made["models"].items():
        model |= {f: end(f) for f in ("context_tokens", "cold_load_gib_per_second")}
        if draw(st.booleans()):
            model["weights_gib"] = end("weights_gib")
        if draw(st.booleans()):
            del model["catalog"]
            quantization = draw(st.sampled_from(("bf16", "fp8", "int4")))
            model |= {"shape": draw(shapes()), "source": f"example/{name}", "quantization": quantization}
    tiers = ("priority", "standard", "batch") if "tiers" not in made else tuple(made["tiers"])
    made["tiers"] = {
        tier: {
            "promises": [{"metric": m, "percentile": 95, "at_most_ms": end("at_most_ms")} for m in ("ttft", "itl")],
            "availability_percent": end("availability_percent"),
        }
        for tier in tiers
    }
    for cell in made["cells"].values():
        cell["traffic_share"] = end("traffic_share")
    machines = {pool["instance"] for pool in made["pools"].values() if "instance" in pool}
    made["prices"] = {
        "overlay": [
            {
                "cloud": cloud, "instance": machine, "kind": "on_demand", "usd_per_hour": end("usd"),
                "source": "test", "as_of": "2026-11-01",
            }
            for cloud in ("aws", "gcp") for machine in sorted(machines)
        ]
    }  # fmt: skip
    made["budget"] = {"usd_per_month": end("usd")}
    return Environment.model_validate(made)


@quick
@given(at_the_ends())
def test_ends_of_ranges_give_finite_plans(environment: Environment) -> None:
    """No number of the plan is infinite or none, and the JSON reads back equal."""
    assert_finite(plan(environment))


@pytest.mark.parametrize("value", [5e-324, 0.0099, 0.0, -1.0, math.inf, math.nan])
def test_tiny_utilization_is_refused(value: float) -> None:
    """Tokens at 5e-324 of the load would cost infinitely much each; the least that makes sense is 1 %."""
    workload = {"prompt_tokens": 10, "output_tokens": 10, "utilization": value}
    with pytest.raises(ValidationError, match="utilization"):
        environment_of({**aggregated(), "workload": workload})


def test_one_percent_is_taken() -> None:
    """At 1 % a token costs a hundred times what it costs at 100 %."""
    costs = []
    for share in (0.01, 1.0):
        workload = {"prompt_tokens": 1000, "output_tokens": 100, "utilization": share}
        cost = plan(environment_of({**aggregated(), "workload": workload})).pools[0].token_cost
        assert cost is not None
        costs.append(cost.usd_per_million_output_tokens.low)
    assert costs[0] == pytest.approx(100 * costs[1])


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("models", "llama", "cold_load_gib_per_second"), 1e-320),
        (("models", "llama", "weights_gib"), 1e-10),
        (("tiers", "standard", "promises", 0, "at_most_ms"), 5e-324),
        (("pools", "p", "worker", "gpu_memory_utilization"), 0.001),
        (("budget", "usd_per_month"), 5e-324),
        (("models", "own", "shape", "parameters"), math.inf),
        (("models", "own", "shape", "active_parameters"), math.nan),
        (("models", "own", "shape", "attention"), []),
    ],
)
def test_what_would_divide_by_nothing_is_refused(place: tuple[str | int, ...], value: object) -> None:
    """Each field has a lower end above zero, a shape has layers, and no number is infinite."""
    made = tree()
    made["pools"] = {"p": {"tier": "standard", **aggregated()}}
    made["cells"]["a"]["pools"] = {"p": None}
    made["budget"] = {"usd_per_month": 1.0}
    made["tiers"] = {"standard": {"promises": [{"metric": "ttft", "percentile": 95, "at_most_ms": 1000}]}}
    made["models"]["own"] = {
        "revision": "0123456789", "context_tokens": 1000, "source": "a/b", "quantization": "bf16",
        "shape": {
            "parameters": 1e9, "active_parameters": 1e9, "hidden_size": 2048, "query_heads": 16, "vocabulary": 32000,
            "max_context_tokens": 4096, "attention": [{"layers": 16, "kv_heads": 4, "head_dim": 128, "kind": "full"}],
        },
    }  # fmt: skip
    Environment.model_validate(made)
    at: Any = made
    for part in place[:-1]:
        at = at[part]
    at[place[-1]] = value
    with pytest.raises(ValidationError):
        Environment.model_validate(made)
