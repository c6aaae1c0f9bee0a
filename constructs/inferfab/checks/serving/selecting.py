"""Selectors that select something."""

from collections.abc import Iterator, Mapping

from inferfab.checks.registry import Problem, manifest_rule
from inferfab.checks.serving.manifest_views import spot
from inferfab.manifests.model import Manifests, Object
from inferfab.manifests.selectors import pool_targets, selected

_INJECTED = ("nvidia.com/", "leaderworkerset.sigs.k8s.io/", "app.kubernetes.io/managed-by", "disaggregatedset.",
             "statefulset.kubernetes.io/", "apps.kubernetes.io/", "serving.k", "kserve.io/")  # fmt: skip
"""Labels that operators add to pods."""


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
