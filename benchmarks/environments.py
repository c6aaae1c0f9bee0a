"""Synthetic environments of any size, for measuring growth."""

import copy

import yaml

from inferfab.catalog.regions import regions

REVISION = "0" * 40


def environment_text(cells: int, pools: int) -> str:
    """An environment with ``cells`` cells and ``pools`` pools in all, spread evenly; every third is disaggregated."""
    places = [(key.split(":")[1], zone) for key, r in regions().items() if r.cloud == "aws" for zone in r.zones]
    cell_names = [f"c{n:02d}" for n in range(cells)]
    pool_bodies = {f"p{n:03d}": _pool(n) for n in range(pools)}
    body = {
        "name": "bench",
        "owner": "bench",
        "accounts": {"aws": {"account_id": "111122223333"}},
        "engine": {"dynamo": "1.6.1"},
        "models": {
            "llama-70b": _model("llama-3.1-70b-instruct"),
            "qwen-32b": _model("qwen3-32b"),
            "llama-8b": _model("llama-3.1-8b-instruct"),
        },
        "tiers": {name: {"availability_percent": 0} for name in ("priority", "standard", "batch")},
        "pools": pool_bodies,
        "cells": {
            cell: {
                "cloud": "aws",
                "region": places[n % len(places)][0],
                "zone": places[n % len(places)][1],
                "network": {"kind": "new", "cidr": f"10.{n}.0.0/16"},
                "pools": {pool: {} for m, pool in enumerate(pool_bodies) if m % cells == n},
            }
            for n, cell in enumerate(cell_names)
        },
    }
    text: str = yaml.safe_dump(body, sort_keys=False)
    return text


def _model(catalog: str) -> dict[str, object]:
    return {
        "catalog": catalog,
        "revision": REVISION,
        "context_tokens": 16384,
        "quantization": "fp8",
        "kv_cache_dtype": "fp8",
    }


def _pool(n: int) -> dict[str, object]:
    tier = ("priority", "standard", "batch")[n % 3]
    if n % 3 == 0:
        role = {"tensor_parallel": 4, "replicas": {"desired": 2, "max": 4}}
        return {
            "topology": "disaggregated",
            "tier": tier,
            "model": "llama-70b",
            "instance": "p5en.48xlarge",
            "prefill": role,
            "decode": copy.deepcopy(role),
        }
    model, instance, parallel = ("qwen-32b", "p5en.48xlarge", 2) if n % 3 == 1 else ("llama-8b", "g6e.12xlarge", 1)
    worker = {"tensor_parallel": parallel, "replicas": {"desired": 4, "max": 8}}
    return {"topology": "aggregated", "tier": tier, "model": model, "instance": instance, "worker": worker}
