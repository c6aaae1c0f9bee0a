"""A cluster that is as planned, in the shapes of the Kubernetes API, to be broken by tests."""

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

from inferfab.plan.fleet import CellPlan
from inferfab.verify.cluster import Answer, NotSeen, Object

TOKEN = json.dumps({"choices": [{"message": {"content": "Yes"}}], "usage": {"completion_tokens": 1}})


class Live:
    """The protocol over objects in memory; tests change :attr:`objects`, :attr:`series` and :attr:`answers`."""

    def __init__(self, cell: CellPlan) -> None:
        self.cell = cell
        self.objects: dict[str, list[Object]] = {
            "nodes": _nodes(cell),
            "dynamographdeployments.nvidia.com": [_graph(g) for g in cell.serving.graphs],
            "deployments.apps": [_workload("keda", "keda-operator", 1, 1)],
            "statefulsets.apps": [_workload("monitoring", "prometheus", 1, 1)],
            "daemonsets.apps": [_cache(h.name, 2, 2) for h in cell.serving.cache.holders],
            "services": [{"metadata": {"name": cell.gateway.service, "namespace": cell.gateway.namespace}}],
            "endpointslices.discovery.k8s.io": [
                {
                    "metadata": {"name": "gateway-x", "namespace": cell.gateway.namespace},
                    "endpoints": [
                        {"conditions": {"ready": True}, "targetRef": {"kind": "Pod", "name": f"gw-{n}"}}
                        for n in range(cell.gateway.replicas)
                    ],
                }
            ],
            "pods": _pods(cell),
            "resourceslices.resource.k8s.io": [],
        }
        self.series: dict[str, Any] = {
            "vllm:nixl_bytes_transferred_sum": [5e6],
            "vllm:nixl_num_failed_transfers_total": [],
            "__name__": [9e9],
            "ALERTS": [{"alertname": "Watchdog", "severity": "none"}],
        }
        self.answers: Callable[[str, Object], Answer] = lambda service, body: Answer(status=200, text=TOKEN)
        self.refused: dict[str, NotSeen] = {}
        """Kinds and paths, by their beginning, that are not answered."""
        self.asked: list[tuple[str, Object]] = []

    def list(self, kind: str, namespace: str | None = None, selector: str = "") -> list[Object]:
        self._refuse(kind)
        found = self.objects[kind]
        if kind == "pods" and selector:
            key, _, value = selector.partition("=")
            found = [one for one in found if one["metadata"]["labels"].get(key) == value]
        return found

    def raw(self, path: str) -> str:
        self._refuse(path)
        if "/proxy/api/v1/query" not in path:
            return "ok"
        (expression,) = parse_qs(urlsplit(path).query)["query"]
        name = next(key for key in self.series if key in expression)
        result = [
            {
                "metric": value if isinstance(value, dict) else {},
                "value": [0, "1" if isinstance(value, dict) else value],
            }
            for value in self.series[name]
        ]
        return json.dumps({"status": "success", "data": {"resultType": "vector", "result": result}})

    def post(self, namespace: str, service: str, port: int, path: str, body: Object) -> Answer:
        self._refuse(service)
        self.asked.append((service, body))
        return self.answers(service, body)

    def _refuse(self, what: str) -> None:
        for beginning, error in self.refused.items():
            if what.startswith(beginning):
                raise error


def _nodes(cell: CellPlan) -> list[Object]:
    found = []
    for group in cell.node_groups:
        resources = {"nvidia.com/gpu": str(group.gpus_per_node), "cpu": "191450m", "memory": "2063829292Ki"}
        for graph in cell.serving.graphs:
            for part in graph.components:
                if part.node_group == group.name:
                    # As MIG's plugin does in `mixed`: whole GPUs are gone, slices are there.
                    if part.gpu_resource != "nvidia.com/gpu":
                        resources |= {"nvidia.com/gpu": "0", part.gpu_resource: "7"}
                    for name, number in part.resources.items():
                        resources[name] = str(number * max(1, group.workers_per_node))
        for number in range(group.nodes.desired):
            labels = {
                **group.labels,
                "node.kubernetes.io/instance-type": group.instance,
                "topology.kubernetes.io/zone": group.zone,
                "eks.amazonaws.com/sourceLaunchTemplateVersion": "3",
            }
            found.append(
                {
                    "metadata": {"name": f"{group.name}-{number}", "labels": labels},
                    "status": {
                        "allocatable": resources,
                        "conditions": [{"type": "Ready", "status": "True"}],
                        "nodeInfo": {"kubeletVersion": f"v{cell.kubernetes}.1-eks-0123456"},
                    },
                }
            )
    return found


def _graph(graph: Any) -> Object:
    return {
        "metadata": {"name": graph.name, "generation": 2},
        "status": {
            "observedGeneration": 2,
            "state": "successful",
            "conditions": [{"type": "Ready", "status": "True", "reason": "all_resources_are_ready"}],
            "components": {
                part.name: {"replicas": part.replicas, "readyReplicas": part.replicas, "updatedReplicas": part.replicas}
                for part in graph.components
            },
        },
    }


def _workload(namespace: str, name: str, ready: int, wanted: int) -> Object:
    return {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"replicas": wanted, "template": {"metadata": {"labels": {}}}},
        "status": {"readyReplicas": ready},
    }


def _cache(name: str, ready: int, wanted: int) -> Object:
    return {
        "metadata": {"name": name, "namespace": "serving"},
        "spec": {"template": {"metadata": {"labels": {"inferfab/component": "model-cache"}}}},
        "status": {"numberReady": ready, "desiredNumberScheduled": wanted},
    }


def _pods(cell: CellPlan) -> list[Object]:
    return [
        {
            "metadata": {
                "name": f"{graph.name}-{part.name}-0",
                "labels": {"nvidia.com/dynamo-graph-deployment-name": graph.name},
            },
            "spec": {
                "containers": [
                    {
                        "name": "main",
                        "env": [{"name": e.name, "value": e.value} for e in part.env if e.value is not None],
                        "resources": {"limits": {"nvidia.com/gpu": str(part.gpus)}} if part.gpus else {},
                    }
                ]
            },
        }
        for graph in cell.serving.graphs
        for part in graph.components
    ]
