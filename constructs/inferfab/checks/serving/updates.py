"""Whether a roll-out has room."""

import math
from collections.abc import Iterator

from inferfab.checks.registry import Problem, manifest_rule
from inferfab.checks.serving.manifest_views import spot
from inferfab.manifests.model import Manifests
from inferfab.manifests.nodes import Node


@manifest_rule(
    "IF-PLC-013",
    "a roll-out that needs GPUs beside those that run",
    severity="info",
    joins=("pod", "cloud"),
    why="a new pod waits for GPUs that the old one holds; where the nodes are counted exactly the roll-out stands "
    "still, and with `maxUnavailable: 0` it never ends.",
    do="write `strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}`, or keep a spare node.",
    source="Kubernetes: Deployment rolling update (25 % each by default; surge rounds up, unavailable down)",
)
def updates_have_room(manifests: Manifests) -> Iterator[Problem]:
    for workload in manifests.workloads:
        if workload.kind != "Deployment" or not workload.engines or not workload.own_gpus:
            continue
        strategy = workload.node.get("spec", "strategy")
        if strategy.get("type").text == "Recreate":
            continue
        replicas = workload.replicas if workload.replicas is not None else 1
        rolling = strategy.get("rollingUpdate")
        surge = _pods(rolling.get("maxSurge"), replicas, up=True)
        gone = _pods(rolling.get("maxUnavailable"), replicas, up=False)
        if surge and not gone and replicas:
            place = rolling.get("maxUnavailable")
            yield spot(place.ref if place.exists else workload.ref).problem(
                f"a roll-out of `{workload.name}` starts a new pod of {workload.own_gpus} GPU(s) before it stops one",
                "write `maxSurge: 0` and `maxUnavailable: 1` where no GPU is spare",
            )


def _pods(node: Node, replicas: int, *, up: bool) -> int:
    text = node.text or "25%"
    if text.endswith("%"):
        try:
            share = float(text[:-1]) / 100 * replicas
        except ValueError:
            return 0
        return math.ceil(share) if up else math.floor(share)
    return node.whole or 0
