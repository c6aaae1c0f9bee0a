"""Fleets that scale in each way, planned once."""

from functools import cache
from typing import Any

from inferfab.environment.environment import Environment
from inferfab.plan.fleet import CellPlan, FleetPlan, plan
from plan.planning import tree

REPLICAS = {"min": 2, "desired": 2, "max": 6}
AGGREGATED: dict[str, Any] = {
    "topology": "aggregated", "tier": "priority", "model": "llama", "instance": "p5en.48xlarge",
    "worker": {"tensor_parallel": 4, "replicas": REPLICAS},
}  # fmt: skip
DISAGGREGATED: dict[str, Any] = {
    "topology": "disaggregated", "tier": "priority", "model": "llama", "instance": "p5en.48xlarge",
    "prefill": {"tensor_parallel": 4, "replicas": REPLICAS}, "decode": {"tensor_parallel": 4, "replicas": REPLICAS},
}  # fmt: skip


def environment(pools: dict[str, Any], *, dranet: bool = False, **changes: Any) -> Environment:
    made = tree(**changes)
    made["pools"] = pools
    made["cells"]["a"]["pools"] = {name: {} for name in pools}
    if dranet:
        made["cells"]["a"]["fabric"] = {"kind": "efa", "plugin": "dranet"}
    return Environment.model_validate(made)


@cache
def fleet(kind: str) -> FleetPlan:
    """:param kind: of :data:`KINDS`."""
    return plan(KINDS[kind]())


def cell(kind: str) -> CellPlan:
    (one,) = fleet(kind).cells
    return one


KEDA = {"mode": "keda", "headroom": 1.3, "queue_per_worker": 4}
KINDS = {
    "planner": lambda: environment({"p": AGGREGATED}, autoscaling={"headroom": 1.3}),
    "keda": lambda: environment({"p": AGGREGATED}, autoscaling=KEDA),
    "keda-disaggregated": lambda: environment({"p": DISAGGREGATED | {"scaling": KEDA}}),
    "advised": lambda: environment({"p": AGGREGATED | {"scaling": KEDA | {"planner": "advisory"}}}),
    "claims": lambda: environment({"p": DISAGGREGATED | {"scaling": KEDA}}, dranet=True),
    "routed": lambda: environment(
        {"p": DISAGGREGATED, "q": DISAGGREGATED | {"tier": "standard", "scaling": KEDA}}
    ),
    "fixed": lambda: environment({"p": AGGREGATED | {"worker": {"tensor_parallel": 4, "replicas": {"desired": 2}}}}),
    "reserved": lambda: environment(
        {"p": AGGREGATED | {"capacity": {"kind": "reservation", "id": "cr-0a1b2c3d4e5f60001"}}}
    ),
    "spot": lambda: environment({"p": AGGREGATED | {"tier": "batch", "capacity": {"kind": "spot"}}}),
    "off": lambda: environment({"p": AGGREGATED | {"scaling": {"placeholders": False}}}),
    "spanning": lambda: environment(
        {"p": AGGREGATED | {"worker": {"tensor_parallel": 8, "pipeline_parallel": 2, "replicas": REPLICAS}}},
        autoscaling=KEDA,
    ),
}  # fmt: skip
