"""Workers as components: from what the plan decided of an engine to what its pods ask for."""

from inferfab.catalog.engines import EnginePair
from inferfab.catalog.gke import gke
from inferfab.catalog.instances import instances
from inferfab.plan.engine import EnginePlan
from inferfab.plan.names import token_secret_name
from inferfab.plan.placement import NodeGroupPlan
from inferfab.plan.roles import RolePlan
from inferfab.plan.served import ModelPlan
from inferfab.plan.serving.component import ComponentKind, ComponentPlan, HostMount
from inferfab.plan.serving.cpu_components import SELF_HOST_ENV, drain_env
from inferfab.plan.sharing import SharedInstancePlan
from inferfab.plan.transport import EnvValue

SAME_NAMESPACE_ENV = (EnvValue(name="DYN_NAMESPACE_WORKER_SUFFIX", value=""),)
"""Behind a router over pools. The operator may give workers a suffix to their Dynamo namespace, by which it tells old
from new in a rolling update; frontends look by prefix, but a standalone router by the exact name, and would find no
worker. A digest in the graph's name does the telling apart here. Read in ai-dynamo's operator documentation
(DYN_NAMESPACE_WORKER_SUFFIX) and in two deployments that set it empty for this reason; unproven on a cluster.
"""
_CANARY_ENV = (EnvValue(name="DYN_HEALTH_CHECK_ENABLED", value="true"),)
"""An idle worker asks its own engine for one token, every 10 s; while none comes it is not ready. Off by default in the
runtime of 1.6.1, as its start-up line says (health_check_enabled=false), whatever the operator may add;
DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS does nothing any more. dynamo/vllm/health_check.py has the question.
"""
CPU_SHARE = 0.8
"""Part of a node's vCPUs that its workers ask for; the rest is for the system, plugins and the model cache."""


def role_worker(
    pair: EnginePair,
    role: RolePlan,
    group: NodeGroupPlan,
    model: ModelPlan,
    *,
    scaled: bool,
    behind_router: bool,
    annotations: dict[str, str],
    drain_seconds: int,
) -> ComponentPlan:
    """The workers of one role of a pool."""
    env, mounts = _nccl(role, group)
    return _worker(
        pair,
        role.role if role.role in ("prefill", "decode") else "worker",
        role.engine,
        group,
        model,
        replicas=role.workers.desired,
        nodes=group.nodes_per_worker,
        pods_on_node=max(1, group.workers_per_node),
        scaled=scaled,
        env=(*env, *(SAME_NAMESPACE_ENV if behind_router else ())),
        host_mounts=mounts,
        claim=role.claim.name if role.claim else None,
        annotations=annotations,
        drain_seconds=drain_seconds,
    )


def _nccl(role: RolePlan, group: NodeGroupPlan) -> tuple[tuple[EnvValue, ...], tuple[HostMount, ...]]:
    """What NCCL takes between nodes on Google's RoCE fabric: its plugin gIB, from where the node has it."""
    if group.cloud != "gcp" or group.nodes_per_worker < 2 or role.fabric.kind != "roce":
        return (), ()
    facts = gke()
    env = tuple(EnvValue(name=name, value=value) for name, value in facts.gib_env.value.items())
    mount = HostMount(name="nccl-plugin", host_path=facts.gib_host_path.value, path=facts.gib_path.value)
    return env, (mount,)


def shared_worker(
    pair: EnginePair,
    instance: SharedInstancePlan,
    group: NodeGroupPlan,
    model: ModelPlan,
    *,
    replicas: int,
    on_node: int,
    drain_seconds: int,
) -> ComponentPlan:
    """The instances of one model in a shared pool.

    :param on_node: instances that stand on the fullest node.
    """
    return _worker(
        pair,
        "worker",
        instance.engine,
        group,
        model,
        replicas=replicas,
        nodes=1,
        pods_on_node=max(1, on_node),
        scaled=False,
        gpu_resource=instance.resource,
        drain_seconds=drain_seconds,
    )


def _worker(
    pair: EnginePair,
    kind: ComponentKind,
    engine: EnginePlan,
    group: NodeGroupPlan,
    model: ModelPlan,
    *,
    replicas: int,
    nodes: int,
    pods_on_node: int,
    scaled: bool,
    drain_seconds: int,
    gpu_resource: str = "nvidia.com/gpu",
    env: tuple[EnvValue, ...] = (),
    host_mounts: tuple[HostMount, ...] = (),
    claim: str | None = None,
    annotations: dict[str, str] | None = None,
) -> ComponentPlan:
    return ComponentPlan(
        name=kind,
        kind=kind,
        replicas=replicas,
        scaled=scaled,
        nodes=nodes,
        image=engine.image,
        # A tag like 1.6.1-efa sorts before 1.6.1.
        runtime_version=None if engine.image.endswith(f":{pair.dynamo}") else pair.dynamo,
        command=engine.command,
        arguments=engine.arguments,
        env=(*engine.env, *SELF_HOST_ENV, drain_env(drain_seconds), *_CANARY_ENV, *env),
        drain_seconds=drain_seconds,
        cpu_millis=cpu_millis_of(group, pods_on_node),
        memory_request_bytes=engine.memory_limit_bytes,
        memory_limit_bytes=engine.memory_limit_bytes,
        gpus=engine.gpus,
        gpu_resource=gpu_resource,
        resources=engine.resources,
        claim=claim,
        hugepages_2mi_mib=engine.hugepages_2mi_mib,
        shm_bytes=engine.shm_bytes,
        kv_disk_bytes=engine.kv_disk_bytes,
        kv_disk_class=model.nvme_storage_class if engine.kv_disk_bytes else None,
        privileged=engine.privileged,
        capabilities=engine.capabilities,
        node_group=group.name,
        host_mounts=host_mounts,
        annotations=annotations or {},
        model_folders=tuple(f for f in (model.folder, model.draft_folder) if f),
        model_ref=(model.name, model.revision) if model.adapters else None,
        token_secret=token_secret_name(model.token_secret) if model.adapters and model.token_secret else None,
        disruption_budget=replicas > 1 or scaled,
    )


def cpu_millis_of(group: NodeGroupPlan, pods_on_node: int) -> int:
    """A pod's part of the node; 2 vCPUs a GPU where no source says how many there are."""
    machine = instances(group.cloud)[group.instance]
    vcpus = machine.vcpus or 2 * machine.gpu_count
    return max(500, int(vcpus * 1000 * CPU_SHARE / pods_on_node) // 100 * 100)
