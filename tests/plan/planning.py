"""Short ways to the values that the plan's tests start from."""

import copy
from functools import cache
from pathlib import Path
from typing import Any

from inferfab.catalog.gpus import gpus
from inferfab.environment.environment import Environment
from inferfab.environment.loading import load
from inferfab.environment.served_models import ServedModel
from inferfab.plan.fleet import FleetPlan, plan
from inferfab.plan.memory import MemoryPlan, Parallelism, plan_memory
from inferfab.plan.pools import PoolPlan
from inferfab.plan.served import ModelPlan, plan_model

ROOT = Path(__file__).parents[2]


def served(catalog: str, name: str = "m", **fields: Any) -> ModelPlan:
    """A catalog model as a plan sees it; 32k context, pinned revision."""
    tree = {"catalog": catalog, "revision": "0123456789", "context_tokens": 32768, **fields}
    return plan_model(name, ServedModel.model_validate(tree))


def memory(model: ModelPlan, gpu: str, tensor: int = 1, **more: Any) -> MemoryPlan:
    """Memory of a worker with vLLM's default utilization, 8,192 batched tokens and 256 sequences."""
    spread = {key: more.pop(key) for key in ("pipeline", "data", "expert") if key in more}
    parallel = Parallelism(tensor=tensor, **spread)
    settings = {"gpu_memory_utilization": 0.92, "batched_tokens": 8192, "sequences": 256, **more}
    return plan_memory(model, gpus()[gpu], parallel, **settings)


@cache
def prod() -> Environment:
    loaded = load(ROOT / "environments" / "prod.yaml")
    assert not loaded.findings
    assert loaded.environment is not None
    return loaded.environment


@cache
def prod_plan() -> FleetPlan:
    return plan(prod())


_TREE: dict[str, Any] = {
    "name": "t",
    "owner": "tests",
    "accounts": {"aws": {"account_id": "111122223333"}, "gcp": {"project": "tests-project"}},
    "engine": {"dynamo": "1.6.1"},
    "models": {
        "llama": {
            "catalog": "llama-3.1-70b-instruct", "revision": "0123456789", "context_tokens": 32768,
            "quantization": "fp8", "kv_cache_dtype": "fp8",
        }
    },
    "pools": {},
    "cells": {
        "a": {
            "cloud": "aws", "region": "us-east-1", "zone": "us-east-1a",
            "network": {"kind": "new", "cidr": "10.16.0.0/16"}, "pools": {},
        }
    },
}  # fmt: skip


def tree(**changes: Any) -> dict[str, Any]:
    """A small environment mapping; ``changes`` replace whole sections."""
    made = copy.deepcopy(_TREE)
    made.update(copy.deepcopy(changes))
    return made


def environment_of(
    pool: dict[str, Any], *, gcp: bool = False, cell: dict[str, Any] | None = None, **changes: Any
) -> Environment:
    """An environment of one pool ``p`` in one cell ``a``."""
    made = tree(**changes)
    made["pools"] = {"p": {"tier": "standard", **pool}}
    if gcp:
        made["cells"]["a"] |= {"cloud": "gcp", "region": "us-central1", "zone": "us-central1-a"}
    made["cells"]["a"] |= {"pools": {"p": None}, **(cell or {})}
    return Environment.model_validate(made)


def pool_plan(pool: dict[str, Any], **more: Any) -> PoolPlan:
    """The plan of one pool in one cell."""
    return plan(environment_of(pool, **more)).pools[0]


def disaggregated(instance: str = "p5en.48xlarge", tensor: int = 4, **fields: Any) -> dict[str, Any]:
    part = {"tensor_parallel": tensor, "replicas": {"desired": 2}}
    return {
        "topology": "disaggregated", "model": "llama", "instance": instance,
        "prefill": dict(part), "decode": dict(part), **fields,
    }  # fmt: skip


def aggregated(instance: str = "p5en.48xlarge", **worker: Any) -> dict[str, Any]:
    return {
        "topology": "aggregated", "model": "llama", "instance": instance,
        "worker": {"replicas": {"desired": 2}, **worker},
    }  # fmt: skip
