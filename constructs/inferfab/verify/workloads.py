"""What runs: graphs, deployments of the platform, copies of models."""

from inferfab.plan.names import SERVING_NAMESPACE
from inferfab.verify.cluster import Cluster, NotSeen, Object
from inferfab.verify.seen import Seen

_GRAPHS = "dynamographdeployments.nvidia.com"


def look_at_graphs(seen: Seen, cluster: Cluster) -> None:
    """Each planned graph is there under its very name, and Dynamo's operator calls it ready."""
    try:
        found = {str(one["metadata"]["name"]): one for one in cluster.list(_GRAPHS, SERVING_NAMESPACE)}
    except NotSeen as error:
        if error.kind == "no such kind":
            seen.trouble(
                "IF-VFY-005", ("cells", seen.cell.name), "the cluster knows no DynamoGraphDeployment",
                "apply the cell's platform stack: Dynamo's operator brings it",
            )  # fmt: skip
        else:
            seen.not_known("graphs", str(error))
        return
    ready = 0
    for graph in seen.cell.serving.graphs:
        path = ("pools", graph.pool) if graph.pool else ("cells", seen.cell.name)
        one = found.get(graph.name)
        if one is None:
            older = [name for name in found if name.rpartition("-")[0] == graph.route]
            beside = f"; {', '.join(older)} of another plan is there" if older else ""
            seen.trouble(
                "IF-VFY-005", path, f"graph {graph.name} is not there{beside}", "apply the cell's serving stack"
            )
        elif not graph_is_ready(one):
            seen.trouble(
                "IF-VFY-005", path, f"graph {graph.name} is not ready: {_state(one)}",
                f"kubectl describe dynamographdeployment {graph.name} --namespace {SERVING_NAMESPACE}",
            )  # fmt: skip
        else:
            ready += 1
    planned = {graph.name for graph in seen.cell.serving.graphs}
    for name in sorted(set(found) - planned):
        seen.trouble(
            "IF-VFY-005", ("cells", seen.cell.name), f"graph {name} is in no plan, and holds its GPUs",
            f"when the new graph answers: kubectl delete dynamographdeployment {name} --namespace {SERVING_NAMESPACE}",
            severity="warning",
        )  # fmt: skip
    if planned:
        seen.line(f"{ready} of {len(planned)} graphs ready")


def graph_is_ready(one: Object) -> bool:
    """By its condition of the newest generation, or by its state where it has no conditions."""
    status = one.get("status", {})
    newest = one["metadata"].get("generation")
    if newest is not None and status.get("observedGeneration", newest) < newest:
        return False
    conditions = [c for c in status.get("conditions") or () if c.get("type") == "Ready"]
    if conditions:
        return all(c.get("status") == "True" for c in conditions)
    return bool(status.get("state") == "successful")


def _state(one: Object) -> str:
    status = one.get("status", {})
    parts = [
        f"{name} {part.get('readyReplicas', 0)} of {part.get('replicas', 0)}"
        for name, part in sorted((status.get("components") or status.get("services") or {}).items())
        if part.get("readyReplicas", 0) < part.get("replicas", 0)
    ]
    why = next((c.get("message") for c in status.get("conditions") or () if c.get("type") == "Ready"), None)
    return "; ".join(str(p) for p in (status.get("state"), why, *parts) if p) or "it has no status yet"


def look_at_workloads(seen: Seen, cluster: Cluster) -> None:
    """Deployments and sets in all namespaces, and of the DaemonSets those that copy models apart."""
    good = 0
    for kind in ("deployments.apps", "statefulsets.apps", "daemonsets.apps"):
        try:
            objects = cluster.list(kind)
        except NotSeen as error:
            seen.not_known(kind.partition(".")[0], str(error))
            continue
        for one in objects:
            ready, wanted = _replicas(kind, one)
            if ready >= wanted:
                good += 1
            elif not _is_cache(one):
                meta = one["metadata"]
                ours = meta["namespace"] == SERVING_NAMESPACE
                seen.trouble(
                    "IF-VFY-006", ("cells", seen.cell.name),
                    f"{kind.partition('s.')[0]} {meta['namespace']}/{meta['name']}: {ready} of {wanted} pods ready",
                    f"kubectl describe {kind.partition('.')[0]} {meta['name']} --namespace {meta['namespace']}",
                    severity="error" if ours or meta["namespace"] in _PLATFORM else "warning",
                )  # fmt: skip
        if kind == "daemonsets.apps":
            _caches(seen, {one["metadata"]["name"]: one for one in objects if _is_cache(one)})
    seen.line(f"{good} deployments and sets ready")


_PLATFORM = frozenset(
    {"cert-manager", "monitoring", "keda", "gpu-operator", "dynamo-system", "external-secrets", "kube-system",
     "nvidia-network-operator", "envoy-gateway-system", "gateway"}
)  # fmt: skip
"""Namespaces of what the platform installs; elsewhere it may be somebody else's."""


def _replicas(kind: str, one: Object) -> tuple[int, int]:
    status, spec = one.get("status", {}), one.get("spec", {})
    if kind == "daemonsets.apps":
        return int(status.get("numberReady", 0)), int(status.get("desiredNumberScheduled", 0))
    return int(status.get("readyReplicas", 0)), int(spec.get("replicas", 1))


def _is_cache(one: Object) -> bool:
    labels = one.get("spec", {}).get("template", {}).get("metadata", {}).get("labels", {})
    return bool(labels.get("inferfab/component") == "model-cache")


def _caches(seen: Seen, found: dict[str, Object]) -> None:
    """A pod of these is ready when its folder is whole: its init containers copy."""
    whole = 0
    for holder in seen.cell.serving.cache.holders:
        one = found.get(holder.name)
        if one is None:
            seen.trouble(
                "IF-VFY-007", ("models", holder.model), f"nothing copies {holder.model} to {holder.node_group}: "
                f"the DaemonSet {holder.name} is not there", "apply the cell's serving stack",
            )  # fmt: skip
            continue
        ready, wanted = _replicas("daemonsets.apps", one)
        if ready < wanted:
            seen.trouble(
                "IF-VFY-007", ("models", holder.model),
                f"{holder.model} is whole on {ready} of {wanted} nodes of {holder.node_group or 'the system'}",
                f"its pods say why: kubectl logs --namespace {SERVING_NAMESPACE} daemonset/{holder.name} "
                "--all-containers --prefix",
            )  # fmt: skip
        else:
            whole += 1
    if seen.cell.serving.cache.holders:
        seen.line(f"{whole} of {len(seen.cell.serving.cache.holders)} model caches whole")
