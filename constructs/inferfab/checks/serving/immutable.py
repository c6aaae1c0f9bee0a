"""Fields of manifests that the API refuses to change, between what runs and what is to be applied."""

from collections.abc import Iterator
from dataclasses import replace

import inferfab.checks.changes  # noqa: F401 - enters IF-CHG-001, which judges manifests too
from inferfab.checks.registry import RULES, Problem
from inferfab.checks.serving.manifest_views import spot
from inferfab.manifests.model import Graph, Manifests, Workload
from inferfab.manifests.nodes import Node

_OF_SPEC = ("backendFramework", "topologyConstraint")


def immutable_fields(before: Manifests, after: Manifests) -> Iterator[Problem]:
    """Objects of one kind, name and namespace are held against each other."""
    old_graphs = {(g.namespace, g.name): g for g in before.graphs}
    for graph in after.graphs:
        old = old_graphs.get((graph.namespace, graph.name))
        if old is not None:
            yield from _graph(before, old, after, graph)
    old_workloads = {(w.kind, w.namespace, w.name): w for w in before.workloads if w.graph is None}
    for workload in after.workloads:
        was = old_workloads.get((workload.kind, workload.namespace, workload.name))
        if was is not None and workload.graph is None:
            yield from _workload(was, workload)


def _graph(before: Manifests, old: Graph, after: Manifests, new: Graph) -> Iterator[Problem]:
    was = {w.name.lower(): w for w in before.components(old)}
    now = {w.name.lower(): w for w in after.components(new)}
    gone, added = sorted(set(was) - set(now)), sorted(set(now) - set(was))
    if gone or added:
        said = [f"without `{was[n].name}`" for n in gone] + [f"with `{now[n].name}`" for n in added]
        yield spot(new.ref).problem(
            f"graph `{new.name}` comes {', '.join(said)}: its set of components cannot change",
            "give the graph another name, and drain the old one",
            severity="error",
        )
    for name, component in now.items():
        first = was.get(name)
        if first is not None:
            yield from _component(first, component)
    for field in _OF_SPEC:
        yield from _same(old.node.get("spec", field), new.node.get("spec", field), f"`{field}` of `{new.name}`")
    policy = ("spec", "experimental", "kvTransferPolicy")
    yield from _same(old.node.get(*policy), new.node.get(*policy), f"`kvTransferPolicy` of `{new.name}`")


def _component(was: Workload, now: Workload) -> Iterator[Problem]:
    if was.component_type != now.component_type:
        yield spot(now.ref).problem(
            f"`{now.name}` goes from type `{was.component_type}` to `{now.component_type}`, which cannot change",
            "give the graph another name, and drain the old one",
            severity="error",
        )
    if (was.nodes > 1) != (now.nodes > 1):
        yield spot(now.ref).problem(
            f"`{now.name}` goes from {was.nodes} to {now.nodes} node(s) a worker, and one cannot become several",
            "give the graph another name, and drain the old one",
            severity="error",
        )
    adapter = now.node.get("scalingAdapter")
    if adapter.exists and adapter.get("enabled").value is not False and was.replicas != now.replicas:
        yield spot(now.replicas_ref or now.ref).problem(
            f"`{now.name}` goes from {was.replicas} to {now.replicas} replicas, which belong to its scaling adapter",
            f"leave {was.replicas} here, and scale the adapter",
            severity="error",
        )


def _workload(was: Workload, now: Workload) -> Iterator[Problem]:
    if now.kind in ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"):
        path = ("spec", "selector")
        yield from _same(was.node.get(*path), now.node.get(*path), f"the selector of `{now.name}`")
    if now.kind == "StatefulSet":
        for field in ("serviceName", "volumeClaimTemplates", "podManagementPolicy"):
            yield from _same(was.node.get("spec", field), now.node.get("spec", field), f"`{field}` of `{now.name}`")


def _same(was: Node, now: Node, what: str) -> Iterator[Problem]:
    if was.value != now.value:
        yield spot(now.ref).problem(
            f"{what} changes, and the API refuses that",
            "give the object another name, and drain the old one",
            severity="error",
        )


RULES["IF-CHG-001"] = replace(RULES["IF-CHG-001"], run_change_manifests=immutable_fields)
