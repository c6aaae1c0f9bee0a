"""Hypothesis strategies shared by the tests: whole valid environments, as the mappings that YAML would
give."""

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from inferfab.catalog.models import models
from inferfab.environment.environment import Environment

quick = settings(
    max_examples=50,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
    database=None,
)
"""For properties over whole plans: few examples, the same ones each run."""

cheap = settings(max_examples=100, deadline=None, derandomize=True, database=None)
"""For properties over single functions."""

MODELS = (
    "llama-3.1-8b-instruct", "llama-3.1-70b-instruct", "qwen3-30b-a3b", "qwen3-235b-a22b", "deepseek-r1",
    "gpt-oss-20b", "gemma-3-27b",
)  # fmt: skip
"""Dense, mixture of experts, latent attention, sliding windows."""

INSTANCES = {
    "aws": (
        "p5en.48xlarge",
        "p5.48xlarge",
        "p6-b300.48xlarge",
        "g6e.12xlarge",
        "g6e.4xlarge",
        "p4de.24xlarge",
    ),
    "gcp": ("a3-ultragpu-8g", "a4-highgpu-8g", "a3-highgpu-8g", "g2-standard-96"),
}
GPUS_OF_CLOUD = {"aws": ("h200", "l40s", "h100"), "gcp": ("h200", "l4", "b200")}
WITH_MIG = {"aws": ("p4de.24xlarge", "p5.48xlarge"), "gcp": ("a3-highgpu-8g", "a4-highgpu-8g")}
WITH_RDMA = {
    "aws": ("p5en.48xlarge", "p5.48xlarge", "p6-b300.48xlarge", "p4de.24xlarge"),
    "gcp": ("a3-ultragpu-8g", "a4-highgpu-8g"),
}
ZONES = {
    "aws": (("us-east-1", "us-east-1a"), ("us-west-2", "us-west-2c"), ("eu-north-1", "eu-north-1b")),
    "gcp": (("us-central1", "us-central1-a"), ("europe-west1", "europe-west1-b")),
}

Tree = dict[str, Any]


@st.composite
def replicas(draw: st.DrawFn, most: int = 9) -> Tree:
    low = draw(st.integers(0, most))
    desired = draw(st.integers(low, most))
    high = draw(st.integers(desired, most))
    tree: Tree = {"desired": desired}
    if draw(st.booleans()):
        tree |= {"min": low, "max": high}
    return tree


@st.composite
def workers(draw: st.DrawFn, *, decode: bool = False) -> Tree:
    tree: Tree = {"replicas": draw(replicas()), "tensor_parallel": draw(st.sampled_from((1, 2, 4, 8)))}
    if not decode and draw(st.integers(0, 4)) == 0:
        tree["pipeline_parallel"] = 2
    if draw(st.integers(0, 4)) == 0:
        tree |= {"data_parallel": draw(st.sampled_from((2, 4))), "expert_parallel": True}
    if draw(st.booleans()):
        tree["gpu_memory_utilization"] = draw(st.sampled_from((0.8, 0.9, 0.95)))
    if draw(st.booleans()):
        tree["max_sequences"] = draw(st.integers(1, 512))
    if draw(st.integers(0, 3)) == 0:
        tree["flags"] = draw(st.sampled_from(({"--enforce-eager": True}, {"--max-num-seqs": 64}, {"--seed": 7})))
    return tree


@st.composite
def served_models(draw: st.DrawFn) -> Tree:
    name = draw(st.sampled_from(MODELS))
    entry = models()[name]
    tree: Tree = {
        "catalog": name,
        "revision": "0123456789abcdef",
        "context_tokens": draw(st.sampled_from((2048, 8192, 32768))),
    }
    if draw(st.booleans()):
        tree["quantization"] = draw(st.sampled_from([c.quantization for c in entry.checkpoints]))
    if draw(st.booleans()):
        tree["kv_cache_dtype"] = draw(st.sampled_from(("auto", "bf16", "fp8", "nvfp4")))
    tree["prefix_caching"] = draw(st.booleans())
    match draw(st.integers(0, 5)):
        case 0:
            tree["speculative"] = {"method": "ngram"}
        case 1:
            draft = {"source": "example/eagle", "revision": "1234567", "weights_gib": 1.5}
            tree["speculative"] = {"method": "eagle3", "draft": draft}
        case 2:
            tree["speculative"] = {"method": "mtp", "tokens": 1}
        case 3:
            draft = {"catalog": "llama-3.1-8b-instruct", "source": "example/draft", "revision": "1234567"}
            tree["speculative"] = {"method": "draft_model", "draft": draft}
        case _:
            pass
    if draw(st.integers(0, 3)) == 0:
        tree["offload"] = {"cpu_gib_per_gpu": 64}
        if draw(st.booleans()):
            tree["offload"]["nvme_gib_per_gpu"] = 512
    return tree


def capacities(cloud: str) -> st.SearchStrategy[Tree]:
    options: list[Tree] = [
        {"kind": "on_demand"},
        {"kind": "spot"},
        {"kind": "reservation", "id": "cr-0123456789abcdef0"},
    ]
    if cloud == "aws":
        block: Tree = {
            "kind": "capacity_block",
            "id": "cr-0123456789abcdef0",
            "ends_at": "2027-01-31T11:30:00Z",
        }
        options += [block, {**block, "usd_per_instance_hour": 40.0}]
    return st.sampled_from(options)


@st.composite
def pools(draw: st.DrawFn, cloud: str, model_names: list[str], tiers: list[str]) -> Tree:
    topology = draw(st.sampled_from(("disaggregated", "aggregated", "shared")))
    tree: Tree = {"topology": topology, "tier": draw(st.sampled_from(tiers))}
    if draw(st.booleans()):
        tree["capacity"] = draw(capacities(cloud))
    if draw(st.integers(0, 3)) == 0:
        tree["workload"] = {
            "prompt_tokens": draw(st.integers(1, 8000)), "output_tokens": draw(st.integers(1, 1500)),
            "utilization": draw(st.sampled_from((0.5, 0.7, 1.0))),
        }  # fmt: skip
    if topology == "shared":
        sharing = draw(st.sampled_from(("mig", "sleep")))
        names = draw(st.lists(st.sampled_from(model_names), min_size=1, max_size=3, unique=True))
        return tree | {
            "sharing": sharing,
            "instance": draw(st.sampled_from(WITH_MIG[cloud] if sharing == "mig" else INSTANCES[cloud])),
            "models": [{"model": n, "instances": draw(st.integers(1, 3))} for n in names],
            "nodes": draw(replicas(most=3)),
            "max_sequences": draw(st.integers(1, 8)),
        }
    tree["model"] = draw(st.sampled_from(model_names))
    if topology == "aggregated":
        machine = {"gpu": draw(st.sampled_from(GPUS_OF_CLOUD[cloud]))} if draw(st.booleans()) else {}
        # A machine picked by GPU must hold the worker, so only one of a single GPU is asked there.
        worker = {"replicas": draw(replicas())} if machine else draw(workers())
        machine = machine or {"instance": draw(st.sampled_from(INSTANCES[cloud]))}
        return tree | machine | {"worker": worker}
    return tree | {
        "instance": draw(st.sampled_from(WITH_RDMA[cloud])),
        "prefill": draw(workers()),
        "decode": draw(workers(decode=True)),
    }


TIERS: Tree = {
    "priority": {},
    "standard": {"spill": "never"},
    "interactive": {
        "promises": [{"metric": "itl", "percentile": 95, "at_most_ms": 30}],
        "availability_percent": 99,
    },
}


@st.composite
def environment_trees(draw: st.DrawFn) -> Tree:
    """A mapping that :class:`Environment` accepts and whose references are sound."""
    model_names = [f"m{n}" for n in range(draw(st.integers(1, 3)))]
    tiers = TIERS if draw(st.booleans()) else None
    tier_names = list(tiers or ("priority", "standard", "batch"))
    clouds = draw(st.sampled_from((("aws",), ("gcp",), ("aws", "gcp"))))
    tree: Tree = {
        "name": "gen",
        "owner": "tests",
        "accounts": {"aws": {"account_id": "111122223333"}, "gcp": {"project": "tests-project"}},
        "engine": {"dynamo": "1.6.1"},
        "models": {name: draw(served_models()) for name in model_names},
        "pools": {},
        "cells": {},
    }
    if tiers:
        tree["tiers"] = tiers
    for number, cloud in enumerate(clouds):
        names = [f"{cloud}-pool-{n}" for n in range(draw(st.integers(1, 2)))]
        tree["pools"] |= {name: draw(pools(cloud, model_names, tier_names)) for name in names}
        for cell in range(draw(st.integers(1, 2))):
            region, zone = draw(st.sampled_from(ZONES[cloud]))
            here = draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
            tree["cells"][f"{cloud}-{cell}"] = {
                "cloud": cloud,
                "region": region,
                "zone": zone,
                "network": {
                    "kind": "new",
                    "cidr": f"10.{16 + number * 8 + cell}.0.0/{draw(st.integers(16, 20))}",
                },
                "pools": {name: draw(st.sampled_from((None, {}))) for name in here},
            }
            if draw(st.integers(0, 3)) == 0:
                tree["cells"][f"{cloud}-{cell}"]["traffic_share"] = 0.2
    if draw(st.booleans()):
        tree["routing"] = {"domain": "llm.example.com"}
    return tree


def environments() -> st.SearchStrategy[Environment]:
    """Whole valid environments."""
    return environment_trees().map(Environment.model_validate)
