"""What a plan decides, written as a graph, is sound to the rules that judge manifests: both sides agree."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from inferfab.checks.check import check
from inferfab.checks.manifests import check_manifests
from inferfab.manifests.read import manifests_from_text
from inferfab.plan.fleet import CellPlan
from inferfab.plan.pools import PoolPlan
from inferfab.plan.roles import RolePlan

ROOT = Path(__file__).parent.parent.parent


def component(cell: CellPlan, role: RolePlan) -> dict[str, Any]:
    """A worker of a graph, from nothing but the plan's fields."""
    engine, group = role.engine, cell.node_group(role.node_group)
    devices = {"nvidia.com/gpu": engine.gpus, **engine.resources}
    if engine.hugepages_2mi_mib:
        devices["hugepages-2Mi"] = f"{engine.hugepages_2mi_mib}Mi"
    devices["memory"] = engine.memory_limit_bytes
    container = {
        "name": "main",
        "image": engine.image,
        "command": list(engine.command),
        "args": engine.argv(),
        "env": [
            {"name": e.name, "value": e.value}
            if e.value is not None
            else {"name": e.name, "valueFrom": {"fieldRef": {"fieldPath": e.field_ref}}}
            for e in engine.env
        ],
        "resources": {"limits": devices, "requests": devices},
        "securityContext": {"privileged": engine.privileged, "capabilities": {"add": list(engine.capabilities)}},
    }
    claims = {"resourceClaims": [{"name": "nics"}]} if role.fabric.kind != "tcp" and not engine.resources else {}
    return {
        "name": role.role,
        "type": role.role if role.role in ("prefill", "decode") else "worker",
        "replicas": max(1, role.workers.desired),
        "sharedMemorySize": engine.shm_bytes,
        **({"multinode": {"nodeCount": group.nodes_per_worker}} if group.nodes_per_worker > 1 else {}),
        "podTemplate": {
            "spec": {
                "nodeSelector": {"node.kubernetes.io/instance-type": group.instance},
                "containers": [container],
                **claims,
            }
        },
    }


def graph(cell: CellPlan, pool: PoolPlan) -> dict[str, Any]:
    image = pool.roles[0].engine.image.replace("vllm-runtime", "dynamo-frontend").removesuffix("-efa")
    front = {
        "name": "frontend",
        "type": "frontend",
        "podTemplate": {
            "spec": {
                "containers": [
                    {"name": "main", "image": image, "command": ["python3", "-m", "dynamo.frontend"],
                     "args": ["--router-mode", "kv"]}
                ]
            }
        },
    }  # fmt: skip
    return {
        "apiVersion": "nvidia.com/v1beta1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": pool.graph, "namespace": pool.namespace},
        "spec": {"components": [front, *(component(cell, role) for role in pool.roles)]},
    }


@pytest.mark.parametrize("name", ["dev", "staging", "prod", "prod-gcp"])
def test_plans_are_sound_manifests(name: str) -> None:
    """Engine, transport, memory and devices of every pool of the shipped environments: no error, no warning."""
    fleet = check(ROOT / "environments" / f"{name}.yaml").plan
    assert fleet is not None
    documents = [graph(cell, pool) for cell in fleet.cells for pool in cell.pools if pool.roles]
    checked = check_manifests(manifests_from_text(yaml.safe_dump_all(documents)))
    assert [f"{f.rule} {f.what}" for f in checked.findings if f.severity != "info"] == []
    assert checked.judged["dynamo.vllm"] == sum(len(p.roles) for p in fleet.pools)
