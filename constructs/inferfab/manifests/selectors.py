"""Which workloads a Service or an inference pool selects."""

from collections.abc import Iterator, Mapping

from inferfab.manifests.model import Manifests, Object, Workload
from inferfab.manifests.nodes import Node
from inferfab.manifests.pods import labels_of


def service_selector(service: Object) -> dict[str, str]:
    return labels_of(service.node.get("spec", "selector"))


def pool_targets(pool: Object) -> tuple[dict[str, str], list[Node]]:
    """(selector, target ports) of an InferencePool: v1 has ``matchLabels`` and a list, v1alpha2 neither."""
    spec = pool.node.get("spec")
    match = spec.get("selector", "matchLabels")
    selector = labels_of(match if match.exists else spec.get("selector"))
    ports = [item.get("number") for item in spec.get("targetPorts").items()]
    return selector, ports or [p for p in (spec.get("targetPortNumber"),) if p.exists]


def selected(manifests: Manifests, namespace: str, selector: Mapping[str, str], file: str = "") -> Iterator[Workload]:
    """Workloads that the selector meets; a manifest without a namespace may be in any."""
    if not selector:
        return
    for workload in manifests.workloads:
        same = not namespace or not workload.namespace or namespace == workload.namespace
        same = same and workload.graph is None and (not file or manifests.together(file, workload.file))
        labels = {**workload.pod.labels, **_added(workload)}
        if same and all(labels.get(k) == v for k, v in selector.items()):
            yield workload


def _added(workload: Workload) -> dict[str, str]:
    """Labels that the LeaderWorkerSet's controller gives to a leader."""
    if workload.kind != "LeaderWorkerSet":
        return {}
    group = "leaderworkerset.sigs.k8s.io"
    return {f"{group}/name": workload.name, f"{group}/worker-index": "0"}
