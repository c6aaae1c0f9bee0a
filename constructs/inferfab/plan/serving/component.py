"""Components and graphs: what becomes a DynamoGraphDeployment."""

from typing import Literal

from pydantic import NonNegativeInt, PositiveInt

from inferfab.environment.pools import Locality
from inferfab.plan.engine import Argument
from inferfab.plan.names import DIGEST_LENGTH
from inferfab.plan.serving.global_router import GlobalRouterPlan
from inferfab.plan.serving.planner import PlannerPlan
from inferfab.plan.serving.router_policy import RouterPolicy
from inferfab.plan.transport import EnvValue
from inferfab.record import Record

ComponentKind = Literal["frontend", "prefill", "decode", "worker", "planner", "router", "global-router"]
FRONTEND_PORT = 8000
"""HTTP port of a frontend, which the operator opens (deploy/operator/internal/consts; DYN_HTTP_PORT)."""
SYSTEM_PORT = 9090
"""Health and metrics of workers and routers; the operator opens it on workers only."""
CONFIG_PATH = "/etc/inferfab"
"""Where a component sees its own configuration file."""


class HostMount(Record):
    """A folder of the node that a pod reads."""

    name: str
    host_path: str
    path: str
    """In the pod."""


class ComponentPlan(Record):
    """One component of a graph: equal pods, or groups of pods where a worker spans nodes."""

    name: str
    kind: ComponentKind
    replicas: NonNegativeInt
    """Workers to start with."""
    scaled: bool = False
    """Its ``replicas`` belong to planner or KEDA, not to what is rendered."""
    nodes: PositiveInt = 1
    """Nodes that one worker spans."""
    image: str
    runtime_version: str | None = None
    """Stated where the image's tag is not that version itself; admission asks for it."""
    command: tuple[str, ...]
    arguments: tuple[Argument, ...]
    env: tuple[EnvValue, ...] = ()
    cpu_millis: PositiveInt
    memory_request_bytes: PositiveInt
    memory_limit_bytes: PositiveInt
    gpus: NonNegativeInt = 0
    """Of one pod."""
    gpu_resource: str = "nvidia.com/gpu"
    """What the pod asks for: whole GPUs, or a MIG profile."""
    resources: dict[str, int] = {}
    """Further extended resources, equal in requests and limits."""
    claim: str | None = None
    """ResourceClaimTemplate that brings GPUs and NICs; then no extended resource does."""
    hugepages_2mi_mib: NonNegativeInt = 0
    shm_bytes: NonNegativeInt | None = None
    """tmpfs on /dev/shm; None: what the operator gives."""
    kv_disk_bytes: NonNegativeInt = 0
    kv_disk_class: str | None = None
    """Storage class of that volume."""
    privileged: bool = False
    capabilities: tuple[str, ...] = ()
    node_group: str | None = None
    """None: system nodes."""
    beside_gpus: bool = False
    """Without GPUs, and yet on the racks' servers: frontends there are in the rack of the workers that they feed."""
    host_mounts: tuple[HostMount, ...] = ()
    """NCCL's plugin on Google's RoCE fabric."""
    annotations: dict[str, str] = {}
    """Of its pods: the networks that a plugin gives them."""
    model_folders: tuple[str, ...] = ()
    """Folders of the model cache that must be complete before it starts."""
    model_as: str | None = None
    """Name under which the working directory shows the model's small files (routers over pools)."""
    config: str | None = None
    """File of the graph's ConfigMap that it reads."""
    model_ref: tuple[str, str] | None = None
    """Model and revision, where adapters find their base model by a headless Service."""
    token_secret: str | None = None
    """Secret that holds a download token; a reference."""
    drain_seconds: NonNegativeInt = 0
    """That its pods have to end requests in flight; 0: what the operator gives."""
    disruption_budget: bool = False
    """A drain takes one of its pods at a time."""


class KvTransferPolicy(Record):
    """Whether a request's decode stays near its prefill."""

    label_key: str
    domain: str
    enforcement: Locality
    preferred_weight: float | None


class GraphPlan(Record):
    """One DynamoGraphDeployment."""

    name: str
    """Ends in a digest of what admission makes immutable: a change rolls a new graph beside the old one."""
    dynamo_namespace: str
    route: str
    """Name without digest: the same of the graph that replaces it."""
    entry: str | None
    """Label value by which a Service finds its frontends; None where it has none."""
    pool: str | None
    """None for what stands in front of several pools."""
    tier: str | None
    model: str
    role: str
    """What the graph holds: a whole pool, one role of it, one model of a shared pool, or routers over pools."""
    priority_class: str
    components: tuple[ComponentPlan, ...]
    router_policy: RouterPolicy | None = None
    planner: PlannerPlan | None = None
    global_router: GlobalRouterPlan | None = None
    kv_transfer_policy: KvTransferPolicy | None = None

    @property
    def pods_regex(self) -> str:
        """Beginning of its pods' names, whatever its digest: the route of a longer name does not match."""
        return f"{self.route}-[0-9a-f]{{{DIGEST_LENGTH}}}"

    def component(self, kind: ComponentKind) -> ComponentPlan:
        return next(c for c in self.components if c.kind == kind)
