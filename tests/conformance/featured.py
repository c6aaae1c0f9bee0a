"""Environments that have what the shipped ones lack, as changes of those."""

import copy
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from inferfab.environment.environment import Environment
from inferfab.plan.fleet import FleetPlan, plan

ROOT = Path(__file__).resolve().parents[2]
Tree = dict[str, Any]


def _adapters(tree: Tree) -> None:
    tree["models"]["qwen3-8b"] |= {
        "adapters": {
            "legal": {"source": "example/legal-lora", "revision": "0123456789abcdef", "rank": 64},
            "on": {"source": "example/on-lora", "revision": "1e50000"},
        },
        "token_secret": "prod/HF_token",
    }


def _dranet(tree: Tree) -> None:
    tree["cells"]["use2-b"]["fabric"] = {"kind": "efa", "plugin": "dranet"}
    tree["cells"]["use2-b"]["cluster"] = {"kubernetes": "1.36"}
    tree["cells"]["use2-b"]["pools"].pop("small-models")
    del tree["pools"]["small-models"], tree["models"]["llama-8b"], tree["models"]["qwen3-8b"], tree["tiers"]["batch"]


def _sleep(tree: Tree) -> None:
    tree["pools"]["small-models"] |= {"sharing": "sleep", "instance": "g6e.12xlarge"}


def _several_nodes(tree: Tree) -> None:
    tree["pools"]["chat"]["prefill"] |= {"tensor_parallel": 8, "pipeline_parallel": 2}


def _several_google_nodes(tree: Tree) -> None:
    tree["cells"]["usc1-c"]["fabric"] = {"kind": "roce", "attach": "networks"}
    tree["pools"]["chat"]["prefill"] |= {"tensor_parallel": 8, "pipeline_parallel": 2}
    tree["pools"]["chat"]["decode"]["tensor_parallel"] = 8


def _two_aggregated_tiers(tree: Tree) -> None:
    tree["tiers"] = {"priority": {}, "standard": {}, "batch": {}}
    worker = tree["pools"]["chat"]["worker"]
    tree["pools"] = {
        f"chat-{tier}": {**copy.deepcopy(tree["pools"]["chat"]), "tier": tier, "worker": copy.deepcopy(worker)}
        for tier in tree["tiers"]
    }
    tree["pools"]["chat-batch"]["worker"]["replicas"] = {"min": 1, "desired": 1, "max": 4}
    tree["cells"]["use1-a"]["pools"] = {name: {} for name in tree["pools"]}


def _tiers_of_memory(tree: Tree) -> None:
    tree["models"]["qwen3-8b"]["offload"] = {
        "cpu_gib_per_gpu": 40, "nvme_gib_per_gpu": 100, "nvme_storage_class": "topolvm",
    }  # fmt: skip


def _drafting(tree: Tree) -> None:
    draft = {"source": "example/eagle3-head", "revision": "v1.0/final", "weights_gib": 1.5}
    tree["models"]["qwen3-8b"]["speculative"] = {"method": "eagle3", "tokens": 3, "draft": draft}


def _own_bucket(tree: Tree) -> None:
    tree["models"]["qwen3-8b"]["source"] = "s3://team-weights/qwen/3-8b"


def _mirrored(tree: Tree) -> None:
    tree["engine"]["image_registry"] = "111122223333.dkr.ecr.us-east-1.amazonaws.com/1.10"


def _nasty(tree: Tree) -> None:
    tree["models"]["on"] = {**tree["models"].pop("qwen3-8b"), "revision": "1e50000", "token_secret": "on/1e5=@+._-"}
    tree["pools"]["chat"]["model"] = "on"
    tree["pools"]["chat"]["worker"]["flags"] = {"--otlp-traces-endpoint": "{{ x }} ${y} %{z} 'é' \"q\" #\n- on: 1e5"}


FEATURES: dict[str, tuple[str, Callable[[Tree], None]]] = {
    "adapters": ("dev", _adapters),
    "dranet": ("staging", _dranet),
    "sleep": ("staging", _sleep),
    "several nodes": ("staging", _several_nodes),
    "several Google nodes": ("prod-gcp", _several_google_nodes),
    "two aggregated tiers": ("dev", _two_aggregated_tiers),
    "tiers of memory": ("dev", _tiers_of_memory),
    "drafting": ("dev", _drafting),
    "own bucket": ("dev", _own_bucket),
    "mirrored": ("staging", _mirrored),
    "nasty": ("dev", _nasty),
}
"""Shipped environment that is changed, and how."""


@cache
def featured(name: str) -> FleetPlan:
    """The plan of a changed environment."""
    shipped, change = FEATURES[name]
    tree: Tree = yaml.safe_load((ROOT / "environments" / f"{shipped}.yaml").read_text(encoding="utf-8"))
    change(tree)
    return plan(Environment.model_validate(tree))
