"""The entrance of a cell: somebody stands behind it, and says that it is ready."""

from inferfab.verify.cluster import Cluster, NotSeen
from inferfab.verify.seen import Seen


def look_at_gateway(seen: Seen, cluster: Cluster) -> None:
    gateway = seen.cell.gateway
    path = ("cells", seen.cell.name)
    fix = f"kubectl get services,endpointslices,pods --namespace {gateway.namespace}"
    try:
        services = cluster.list("services", gateway.namespace)
        slices = cluster.list(
            "endpointslices.discovery.k8s.io", gateway.namespace, f"kubernetes.io/service-name={gateway.service}"
        )
    except NotSeen as error:
        seen.not_known("the gateway", str(error))
        return
    if not any(one["metadata"]["name"] == gateway.service for one in services):
        seen.trouble(
            "IF-VFY-010", path,
            f"there is no Service {gateway.service} in {gateway.namespace}: nothing takes requests in",
            fix,
        )  # fmt: skip
        return
    ready = [
        str(point["targetRef"]["name"])
        for one in slices
        for point in one.get("endpoints") or ()
        if (point.get("conditions") or {}).get("ready", True) and point.get("targetRef", {}).get("kind") == "Pod"
    ]
    if not ready:
        seen.trouble("IF-VFY-010", path, f"no pod stands behind the Service {gateway.service}", fix)
        return
    healthy = 0
    for pod in ready:
        where = f"/api/v1/namespaces/{gateway.namespace}/pods/{pod}:{gateway.health_port}/proxy{gateway.health_path}"
        try:
            cluster.raw(where)
            healthy += 1
        except NotSeen as error:
            if error.kind == "forbidden":
                seen.not_known("whether the gateway's pods are ready", str(error))
                return
            seen.trouble("IF-VFY-010", path, f"gateway pod {pod} does not say that it is ready: {error}", fix)
    if healthy < gateway.replicas:
        seen.trouble(
            "IF-VFY-010", path, f"{healthy} gateway pods are ready, and {gateway.replicas} are planned", fix,
            severity="warning",
        )  # fmt: skip
    seen.line(f"{healthy} gateway pods ready")
