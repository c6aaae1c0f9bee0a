"""A small sound environment in parts, and changes to it by dotted path, for tests of rules.

Parts: ``aggregated`` (pool ``docs`` in AWS cell ``east-a``), ``disaggregated`` (pool ``chat`` on p5en in AWS cell
``east-b``), ``gcp`` (pool ``far`` on a3-ultragpu in cell ``central-c``) and ``shared`` (pool ``small`` in ``east-a``).
"""

import copy
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import yaml

from inferfab.checks.check import Checked, check
from inferfab.environment.loading import load_text

REVISION = "0e9e39f249a16976918f6564b8830bc894c89659"
AGGREGATED, DISAGGREGATED, GCP, SHARED = "aggregated", "disaggregated", "gcp", "shared"
ALL_PARTS = (AGGREGATED, DISAGGREGATED, GCP, SHARED)

Path = tuple[str | int, ...]


def split(dotted: str) -> Path:
    """``cells.east-a.pools`` and ``tiers.fast.promises[0]`` as keys and positions."""
    found: list[str | int] = []
    for name, position in re.findall(r"([^.\[\]]+)|\[(\d+)\]", dotted):
        found.append(int(position) if position else name)
    return tuple(found)


@dataclass(frozen=True)
class Env:
    """An environment's tree; each change gives a new one."""

    tree: dict[str, Any]

    def set(self, dotted: str, value: Any) -> "Env":
        """Replace or add the value at a path; the mappings above it must be there."""
        tree = copy.deepcopy(self.tree)
        *above, last = split(dotted)
        _at(tree, above)[last] = value
        return Env(tree)

    def delete(self, dotted: str) -> "Env":
        """Remove a key or list entry that must be there."""
        tree = copy.deepcopy(self.tree)
        *above, last = split(dotted)
        del _at(tree, above)[last]
        return Env(tree)

    def add(self, dotted: str, value: Any) -> "Env":
        """Append to the list at a path, or add a key that must not be there yet."""
        *above, last = split(dotted)
        tree = copy.deepcopy(self.tree)
        parent = _at(tree, above)
        if isinstance(parent, dict) and last not in parent:
            parent[last] = value
        else:
            assert isinstance(parent[last], list), f"{dotted} is there already"
            parent[last].append(value)
        return Env(tree)

    def rename(self, dotted: str, name: str) -> "Env":
        """Give a key another name in the same place."""
        tree = copy.deepcopy(self.tree)
        *above, last = split(dotted)
        parent = _at(tree, above)
        entries = list(parent.items())
        assert last in parent
        parent.clear()
        parent.update((name if key == last else key, value) for key, value in entries)
        return Env(tree)

    def get(self, dotted: str) -> Any:
        return _at(self.tree, split(dotted))

    @property
    def text(self) -> str:
        return yaml.safe_dump(self.tree, sort_keys=False, allow_unicode=True, width=1000)

    def check(self) -> Checked:
        return check_text(self.text)


def _at(tree: Any, path: Any) -> Any:
    for part in path:
        tree = tree[part]
    return tree


@lru_cache(maxsize=512)
def check_text(text: str) -> Checked:
    return check(load_text(text))


def model(catalog: str, context_tokens: int, **more: Any) -> dict[str, Any]:
    return {
        "catalog": catalog, "revision": REVISION, "context_tokens": context_tokens, "quantization": "fp8",
        "kv_cache_dtype": "fp8", **more,
    }  # fmt: skip


def cell(cloud: str, region: str, zone: str, cidr: str, *pools: str) -> dict[str, Any]:
    return {
        "cloud": cloud, "region": region, "zone": zone, "network": {"kind": "new", "cidr": cidr},
        "pools": {pool: {} for pool in pools},
    }  # fmt: skip


def aggregated_pool(model: str, **more: Any) -> dict[str, Any]:
    return {
        "topology": "aggregated", "tier": "fast", "model": model, "instance": "g6e.12xlarge",
        "worker": {"tensor_parallel": 1, "replicas": {"desired": 4}}, **more,
    }  # fmt: skip


def disaggregated_pool(**machine: Any) -> dict[str, Any]:
    return {
        "topology": "disaggregated", "tier": "fast", "model": "llama-70b", **machine,
        "prefill": {"tensor_parallel": 4, "replicas": {"desired": 2}},
        "decode": {"tensor_parallel": 4, "replicas": {"desired": 2}},
    }  # fmt: skip


def base(*parts: str) -> Env:
    """A sound environment of the parts named, in one fixed order."""
    assert parts
    assert set(parts) <= set(ALL_PARTS)
    models: dict[str, Any] = {}
    pools: dict[str, Any] = {}
    cells: dict[str, Any] = {}
    accounts: dict[str, Any] = {}
    tiers: dict[str, Any] = {
        "fast": {
            "promises": [{"metric": "ttft", "percentile": 95, "at_most_ms": 500}], "availability_percent": 99,
            "workload": {"prompt_tokens": 1500, "output_tokens": 300, "utilization": 0.5},
        },
    }  # fmt: skip
    if AGGREGATED in parts or SHARED in parts:
        models["qwen-8b"] = model("qwen3-8b", 8192)
        cells["east-a"] = cell("aws", "us-east-1", "us-east-1a", "10.16.0.0/16")
    if AGGREGATED in parts:
        pools["docs"] = aggregated_pool("qwen-8b")
        cells["east-a"]["pools"]["docs"] = {}
    if SHARED in parts:
        models["llama-8b"] = model("llama-3.1-8b-instruct", 8192)
        tiers["slow"] = {}
        pools["small"] = {
            "topology": "shared", "sharing": "mig", "tier": "slow", "instance": "p5.4xlarge",
            "models": [{"model": "llama-8b", "instances": 3}, {"model": "qwen-8b", "instances": 1}],
            "max_sequences": 4, "nodes": {"desired": 1},
        }  # fmt: skip
        cells["east-a"]["pools"]["small"] = {}
        if set(parts) == {SHARED}:
            del tiers["fast"]
    if DISAGGREGATED in parts or GCP in parts:
        models["llama-70b"] = model("llama-3.1-70b-instruct", 32768)
    if DISAGGREGATED in parts:
        pools["chat"] = disaggregated_pool(instance="p5en.48xlarge")
        cells["east-b"] = cell("aws", "us-east-1", "us-east-1b", "10.17.0.0/16", "chat")
    if GCP in parts:
        pools["far"] = disaggregated_pool(gpu="h200")
        cells["central-c"] = cell("gcp", "us-central1", "us-central1-c", "10.48.0.0/16", "far")
        accounts["gcp"] = {"project": "example-inference"}
    if set(parts) != {GCP}:
        accounts["aws"] = {"account_id": "111122223333"}
    return Env(
        {
            "name": "test", "owner": "ml-platform", "accounts": accounts, "engine": {"dynamo": "1.6.1"},
            "models": models, "tiers": tiers, "pools": pools, "cells": cells,
        }
    )  # fmt: skip
