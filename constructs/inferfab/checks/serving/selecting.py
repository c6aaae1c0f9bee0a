"""Which workloads a Service or an inference pool selects."""

from collections.abc import Iterator, Mapping

from inferfab.checks.registry import Problem, manifest_rule
from inferfab.checks.serving.manifest_views import spot
from inferfab.manifests.model import Manifests, Object, Workload
from inferfab.manifests.nodes import Node
from inferfab.manifests.pods import labels_of

_INJECTED = ("nvidia.com/", "leaderworkerset.sigs.k8s.io/", "app.kubernetes.io/managed-by", "disaggregatedset.",
             "statefulset.kubernetes.io/", "apps.kubernetes.io/", "serving.k", "kserve.io/")  # fmt: skip
"""Labels that operators add to pods."""


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


def _injected(selector: Mapping[str, str]) -> bool:
    return any(key.startswith(_INJECTED) for key in selector)


@manifest_rule(
    "IF-POD-005",
    "a selector that selects nothing",
    joins=("pod", "cluster"),
    why="requests end with 503 although pods are ready; a Deployment that does not select its own pods is refused.",
    do="write the labels of the pods into the selector.",
    source="Kubernetes: labels and selectors; Gateway API inference extension: InferencePool selector",
)
def selectors_select(manifests: Manifests) -> Iterator[Problem]:
    for workload in manifests.workloads:
        if workload.kind in ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"):
            node = workload.node.get("spec", "selector", "matchLabels")
            for key, value in node.entries():
                if workload.pod.labels.get(key) != value.text:
                    yield spot(value.ref).problem(
                        f"the selector of `{workload.name}` wants `{key}: {value.text}`, which its pods do not have",
                        "write the same into `template.metadata.labels`",
                    )
    for pool in manifests.of_kind("InferencePool"):
        selector, _ = pool_targets(pool)
        yield from _pool(manifests, pool, selector)


def _pool(manifests: Manifests, pool: Object, selector: Mapping[str, str]) -> Iterator[Problem]:
    place = pool.node.get("spec", "selector")
    here = [w for w in manifests.workloads if w.engines and w.graph is None and w.file == pool.file]
    if not selector:
        yield spot(place.ref).problem(f"InferencePool `{pool.name}` has no selector", "add `matchLabels`")
    elif here and not _injected(selector) and not any(selected(manifests, pool.namespace, selector, pool.file)):
        shown = ", ".join(f"{k}: {v}" for k, v in selector.items())
        yield spot(place.ref).problem(
            f"InferencePool `{pool.name}` selects `{shown}`, which no pod of these manifests has",
            f"write labels of `{here[0].name}`",
            severity="warning",
        )
