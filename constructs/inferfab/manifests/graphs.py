"""DynamoGraphDeployments of both served versions as workloads, one a component."""

from collections.abc import Iterator

from inferfab.manifests.model import Graph, GraphVersion, Object, Program, Role, Workload
from inferfab.manifests.nodes import Node
from inferfab.manifests.pods import Amount, Container, Pod, amounts_of, container_of, env_of, mounts_of, pod_of
from inferfab.manifests.processes import processes_of
from inferfab.manifests.quantities import quantity

OPERATOR_SHM_BYTES = 8 * 1024**3
"""What the operator mounts where ``sharedMemorySize`` is not given."""
_STARTS: dict[str, Program] = {
    "frontend": "dynamo.frontend", "planner": "dynamo.planner", "main": "dynamo.frontend", "router": "dynamo.router",
}  # fmt: skip
"""What the operator starts where a component names no command."""
_ROLES: dict[str, Role] = {"prefill": "prefill", "decode": "decode", "worker": "worker"}
_V1ALPHA1_RESOURCES = {"gpu": "nvidia.com/gpu"}


def graph_of(one: Object) -> Graph | None:
    """The graph that an object is; None for other kinds."""
    if one.kind != "DynamoGraphDeployment":
        return None
    spec = one.node.get("spec")
    version: GraphVersion = "v1alpha1" if spec.get("services").exists else "v1beta1"
    return Graph(one.name, one.namespace, version, one.node, one.node.get("metadata", "name").ref, one.file)


def components_of(one: Object, graph: Graph) -> Iterator[Workload]:
    """Components in order, in whichever shape they are written."""
    spec = one.node.get("spec")
    for name, service in spec.get("services").entries():
        yield _service(one, graph, name, service)
    for component in spec.get("components").items():
        yield _component(one, graph, component)


def _component(one: Object, graph: Graph, node: Node) -> Workload:
    """v1beta1: a native pod template, whose engine container is called ``main``."""
    pod = pod_of(node.get("podTemplate"))
    kind = node.get("type").text or ""
    return _workload(
        one,
        graph,
        node,
        name=node.get("name").text or "",
        kind=kind,
        role=_ROLES.get(kind),
        pod=pod,
        shm=node.get("sharedMemorySize"),
    )


def _service(one: Object, graph: Graph, name: str, node: Node) -> Workload:
    """v1alpha1: ``extraPodSpec.mainContainer`` with resources, environment and mounts beside it."""
    extra = node.get("extraPodSpec")
    main = container_of(extra.get("mainContainer"))
    limits = {**main.limits, **_resources(node.get("resources", "limits"))}
    requests = {**main.requests, **_resources(node.get("resources", "requests"))}
    ref = node.key_ref
    container = Container(
        **{
            **vars(main),
            "name": "main",
            "env": {**env_of(one.node.get("spec", "envs"), node.get("envs")), **main.env},
            "env_from": main.env_from or node.get("envFromSecret").exists,
            "limits": limits,
            "requests": requests,
            "mounts": (*main.mounts, *mounts_of(node.get("volumeMounts"))),
            "ref": ref,
        }
    )
    rest = pod_of(Node(node.document, node.path, {"spec": extra.value}, node.title, node.root))
    pod = Pod(**{**vars(rest), "containers": (container, *rest.containers), "ref": ref})
    kind = node.get("componentType").text or ""
    sub = node.get("subComponentType").text or ""
    role = _ROLES.get(sub) or _ROLES.get(kind)
    return _workload(one, graph, node, name=name, kind=kind, role=role, pod=pod, shm=node.get("sharedMemory", "size"))


def _workload(
    one: Object, graph: Graph, node: Node, *, name: str, kind: str, role: Role | None, pod: Pod, shm: Node
) -> Workload:
    main = next((c for c in pod.containers if c.name == "main"), pod.containers[0] if pod.containers else None)
    default = _STARTS.get(kind)
    if default is None and kind == "" and name.lower() == "frontend":
        default = "dynamo.frontend"
    replicas = node.get("replicas")
    processes = tuple(p for c in pod.containers for p in processes_of(c, default=default if c is main else None))
    size = quantity(shm.text) if shm.exists else float(OPERATOR_SHM_BYTES)
    return Workload(
        kind=one.kind,
        name=name,
        namespace=one.namespace,
        file=one.file,
        pod=pod,
        processes=processes,
        replicas=replicas.whole,
        replicas_ref=replicas.ref if replicas.exists else None,
        nodes=max(1, node.get("multinode", "nodeCount").whole or 1),
        node=node,
        ref=node.get("name").ref if node.get("name").exists else node.key_ref,
        graph=graph,
        role=role,
        component_type=kind,
        shm_bytes=size,
        own_gpus=sum(c.gpus for c in pod.containers),
    )


def _resources(node: Node) -> dict[str, Amount]:
    """``gpu`` is NVIDIA's resource; ``custom`` holds others by their full names."""
    named = {_V1ALPHA1_RESOURCES.get(key, key): amount for key, amount in amounts_of(node).items()}
    return {**named, **amounts_of(node.get("custom"))}
