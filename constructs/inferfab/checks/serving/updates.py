"""Whether a roll-out has room."""

import math
from collections.abc import Iterator

import inferfab.checks.updates  # noqa: F401 - enters IF-PLC-012, which judges manifests too
from inferfab.checks.registry import Problem, on_manifests
from inferfab.checks.serving.manifest_views import spot
from inferfab.manifests.model import Manifests
from inferfab.manifests.nodes import Node


@on_manifests("IF-PLC-012")
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
                severity="info",
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
