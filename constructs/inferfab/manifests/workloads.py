"""Deployments, StatefulSets, LeaderWorkerSets and their like as workloads."""

from collections.abc import Callable, Iterator

from inferfab.manifests.model import Object, Role, Workload
from inferfab.manifests.nodes import Node
from inferfab.manifests.pods import Pod, pod_of
from inferfab.manifests.processes import processes_of

FILLED_IN = ("LLMInferenceService", "LLMInferenceServiceConfig")
"""KServe merges commands and parallelism from its configurations into these."""
_SHM = "/dev/shm"
_CONTAINER_SHM_BYTES = 64 * 1024**2
"""What a container runtime gives where nothing is mounted. Source: docs.docker.com, --shm-size."""


def workloads_of(one: Object) -> Iterator[Workload]:
    """Workloads of an object other than a graph; none for kinds without pods."""
    read = _KINDS.get(one.kind)
    if read is not None:
        yield from read(one)


def _single(one: Object, template: Node, nodes: int = 1, replicas: Node | None = None, name: str = "") -> Workload:
    """:param nodes: pods of one worker."""
    pod = pod_of(template)
    replicas = one.node.get("spec", "replicas") if replicas is None else replicas
    return Workload(
        kind=one.kind,
        name=name or one.name,
        namespace=one.namespace,
        file=one.file,
        pod=pod,
        processes=tuple(p for c in pod.containers for p in processes_of(c, entrypoint=one.kind not in FILLED_IN)),
        replicas=replicas.whole,
        replicas_ref=replicas.ref if replicas.exists else None,
        nodes=nodes,
        node=one.node,
        ref=one.node.key_ref,
        role=labelled_role(pod),
        shm_bytes=shm_bytes(pod),
        own_gpus=sum(c.gpus for c in pod.containers),
    )


def shm_bytes(pod: Pod) -> float | None:
    """/dev/shm of the container with the GPUs; None where a volume of unknown size is mounted there."""
    main = max(pod.containers, key=lambda c: c.gpus, default=None)
    if main is None:
        return None
    mount = next((m for m in main.mounts if m.path.rstrip("/") == _SHM), None)
    if mount is None:
        return _CONTAINER_SHM_BYTES
    volume = pod.volumes.get(mount.volume)
    return volume.size_bytes if volume is not None and volume.kind == "emptyDir" else None


def labelled_role(pod: Pod) -> Role | None:
    """``llm-d.ai/role: prefill`` and its like."""
    for key in ("llm-d.ai/role", "role", "app.kubernetes.io/component"):
        value = pod.labels.get(key, "").lower()
        if value in ("prefill", "decode"):
            return "prefill" if value == "prefill" else "decode"
    return None


def _of_template(one: Object) -> Iterator[Workload]:
    yield _single(one, one.node.get("spec", "template"))


def _of_pod(one: Object) -> Iterator[Workload]:
    yield _single(one, one.node)


def _of_cron_job(one: Object) -> Iterator[Workload]:
    yield _single(one, one.node.get("spec", "jobTemplate", "spec", "template"))


def _of_leader_worker_set(one: Object) -> Iterator[Workload]:
    """The leader runs the engine; workers follow by Ray or by vLLM's own ranks. One worker is ``size`` pods."""
    template = one.node.get("spec", "leaderWorkerTemplate")
    size = max(1, template.get("size").whole or 1)
    leader, worker = template.get("leaderTemplate"), template.get("workerTemplate")
    yield _single(one, leader if leader.exists else worker, nodes=size)


def _of_disaggregated_set(one: Object) -> Iterator[Workload]:
    for role in one.node.get("spec", "roles").items():
        template = role.get("template", "spec", "leaderWorkerTemplate")
        template = template if template.exists else role.get("leaderWorkerTemplate")
        leader, worker = template.get("leaderTemplate"), template.get("workerTemplate")
        size = max(1, template.get("size").whole or 1)
        name = f"{one.name}/{role.get('name').text or ''}"
        yield _single(one, leader if leader.exists else worker, size, role.get("replicas"), name)


def _of_llm_inference(one: Object) -> Iterator[Workload]:
    """KServe: an LLMInferenceService's ``template`` is a pod's spec, and so is that of its ``prefill``."""
    spec = one.node.get("spec")
    for part, suffix in ((spec, ""), (spec.get("prefill"), "/prefill")):
        if part.get("template").exists:
            yield _bare(one, part.get("template"), part.get("replicas"), f"{one.name}{suffix}")


def _of_inference_service(one: Object) -> Iterator[Workload]:
    """KServe: ``spec.predictor`` is a pod's spec; its ``model`` takes arguments for the runtime that it names."""
    predictor = one.node.get("spec", "predictor")
    if predictor.get("containers").exists:
        yield _bare(one, predictor, predictor.get("minReplicas"), one.name)


def _of_serving_runtime(one: Object) -> Iterator[Workload]:
    yield _bare(one, one.node.get("spec"), Node(one.node.document, one.node.path, None), one.name)


def _bare(one: Object, spec: Node, replicas: Node, name: str) -> Workload:
    """A pod's spec that stands without the template around it."""
    document, path = spec.document, spec.path
    template = Node(document, path[:-1], {path[-1]: spec.value}, spec.title, spec.root)
    wrapped = Node(document, path[:-1], {"spec": spec.value}, spec.title, spec.root)
    for old, mark in list(document.marks.items()):
        if path[-1] != "spec" and old[: len(path)] == path:
            document.marks.setdefault((*path[:-1], "spec", *old[len(path) :]), mark)
    return _single(one, wrapped if path[-1] != "spec" else template, replicas=replicas, name=name)


def is_read(kind: str) -> bool:
    """Pods of this kind are understood."""
    return kind in _KINDS


_KINDS: dict[str, Callable[[Object], Iterator[Workload]]] = {
    "Deployment": _of_template,
    "StatefulSet": _of_template,
    "DaemonSet": _of_template,
    "ReplicaSet": _of_template,
    "Job": _of_template,
    "CronJob": _of_cron_job,
    "Pod": _of_pod,
    "LeaderWorkerSet": _of_leader_worker_set,
    "DisaggregatedSet": _of_disaggregated_set,
    "LLMInferenceService": _of_llm_inference,
    "LLMInferenceServiceConfig": _of_llm_inference,
    "InferenceService": _of_inference_service,
    "ServingRuntime": _of_serving_runtime,
    "ClusterServingRuntime": _of_serving_runtime,
}
