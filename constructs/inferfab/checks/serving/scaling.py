"""Who owns a number of replicas, and within which bounds."""

from collections.abc import Iterator
from dataclasses import dataclass

import inferfab.checks.placement  # noqa: F401 - enters IF-PLC-007, which judges manifests too
from inferfab.checks.registry import Problem, manifest_rule, on_manifests
from inferfab.checks.serving.manifest_views import spot
from inferfab.checks.serving.planner import config_of, planners
from inferfab.checks.serving.views import Spot
from inferfab.manifests.model import Graph, Manifests, Workload
from inferfab.manifests.nodes import Node

_OWNERS = "ai-dynamo planner guide (scalingAdapter); KEDA: ScaledObject; dynamo#4420"


@dataclass(frozen=True)
class Scaler:
    """A HorizontalPodAutoscaler or a ScaledObject."""

    name: str
    target_kind: str
    target: str
    namespace: str
    least: Node
    most: Node
    spot: Spot
    zero_allowed: bool
    file: str


def scalers(manifests: Manifests) -> Iterator[Scaler]:
    for one in manifests.of_kind("HorizontalPodAutoscaler", "ScaledObject"):
        spec, hpa = one.node.get("spec"), one.kind == "HorizontalPodAutoscaler"
        target = spec.get("scaleTargetRef")
        yield Scaler(
            name=f"{one.kind} `{one.name}`",
            target_kind=target.get("kind").text or "Deployment",
            target=target.get("name").text or "",
            namespace=one.namespace,
            least=spec.get("minReplicas" if hpa else "minReplicaCount"),
            most=spec.get("maxReplicas" if hpa else "maxReplicaCount"),
            spot=spot(target.get("name").ref if target.get("name").exists else one.node.key_ref),
            zero_allowed=not hpa,
            file=one.file,
        )


def _scaled(manifests: Manifests, scaler: Scaler) -> Workload | None:
    """What a scaler scales: a workload, or a graph's component behind its scaling adapter."""
    for workload in manifests.workloads:
        same = not scaler.namespace or not workload.namespace or scaler.namespace == workload.namespace
        same = same and manifests.together(scaler.file, workload.file)
        if same and workload.graph is None and (workload.kind, workload.name) == (scaler.target_kind, scaler.target):
            return workload
    if scaler.target_kind == "DynamoGraphDeploymentScalingAdapter":
        for workload in manifests.workloads:
            if workload.graph is not None and scaler.target in _adapters(manifests, workload, workload.graph):
                return workload
    return None


def _adapters(manifests: Manifests, workload: Workload, graph: Graph) -> set[str]:
    named = {f"{graph.name}-{workload.name}".lower(), f"{graph.name}-{workload.name}"}
    for one in manifests.of_kind("DynamoGraphDeploymentScalingAdapter"):
        reference = one.node.get("spec", "dgdRef")
        part = reference.get("componentName").text or reference.get("serviceName").text
        if (reference.get("name").text, part) == (graph.name, workload.name):
            named.add(one.name)
    return named


@manifest_rule(
    "IF-SCL-002",
    "two owners of one number of replicas",
    joins=("cluster", "engine"),
    why="each sets the number back that the other has set: pods flap, or the planner waits for ever for what it asked "
    "for (dynamo#4420).",
    do="leave `replicas` to one owner: the manifest, an autoscaler, or the planner.",
    source=f"{_OWNERS}; Kubernetes: migrating Deployments to horizontal autoscaling",
)
def one_owner(manifests: Manifests) -> Iterator[Problem]:
    first: dict[int, Scaler] = {}
    planned = {id(w): p for w, p in _planned(manifests)}
    for scaler in scalers(manifests):
        workload = _scaled(manifests, scaler)
        if workload is None:
            continue
        before = first.setdefault(id(workload), scaler)
        if before is not scaler:
            yield scaler.spot.problem(
                f"{scaler.name} and {before.name} both scale `{workload.name}`", "keep one of them"
            )
        elif id(workload) in planned and workload.role in ("prefill", "decode", "worker"):
            yield scaler.spot.problem(
                f"{scaler.name} scales `{workload.name}`, and so does the planner `{planned[id(workload)].name}`",
                "keep one of them",
            )
        if workload.graph is None and workload.replicas_ref is not None and workload.kind != "Pod":
            yield spot(workload.replicas_ref).problem(
                f"`{workload.name}` states {workload.replicas} replicas, and {scaler.name} scales it: every apply sets "
                "the number back",
                "remove `replicas`",
                severity="warning",
            )


def _planned(manifests: Manifests) -> Iterator[tuple[Workload, Workload]]:
    """(component, planner of its graph) of every component that a planner scales."""
    for planner, process in planners(manifests):
        config, _ = config_of(manifests, planner, process)
        if planner.graph is None or (config or {}).get("advisory") is True:
            continue
        for component in manifests.components(planner.graph):
            if component.role is not None:
                yield component, planner


@manifest_rule(
    "IF-SCL-001",
    "bounds of scaling that contradict",
    joins=("cluster", "engine", "cost"),
    why="an autoscaler with its bounds the wrong way round is refused or never acts, and a planner whose budget is "
    "below what must run at least scales nothing.",
    do="put the least below the most, and the budget above what the least number of workers takes.",
    source="Kubernetes and KEDA: API validation; ai-dynamo 1.6.1 dynamo/planner/config/planner_config.py",
)
def bounds_agree(manifests: Manifests) -> Iterator[Problem]:
    for scaler in scalers(manifests):
        least, most = scaler.least.whole, scaler.most.whole
        if least is not None and most is not None and least > most:
            yield spot(scaler.least.ref).problem(
                f"{scaler.name} scales between {least} and {most}", f"write at most {most}", value=str(least)
            )
    for planner, process in planners(manifests):
        config, where = config_of(manifests, planner, process)
        if config is not None and planner.graph is not None:
            yield from _budget(manifests, planner, planner.graph, config, where)


def _budget(
    manifests: Manifests, planner: Workload, graph: Graph, config: dict[str, object], where: Spot
) -> Iterator[Problem]:
    budget, low = config.get("max_gpu_budget", 8), config.get("min_gpu_budget", -1)
    workers = [w for w in manifests.components(graph) if w.role is not None and w.own_gpus]
    if not isinstance(budget, int) or isinstance(budget, bool) or not workers:
        return
    if isinstance(low, int) and 0 <= budget < low:
        yield where.problem(f"min_gpu_budget is {low} and max_gpu_budget {budget}", f"write at least {low}")
    least = 0
    for worker in workers:
        stated = config.get(f"{worker.role}_min_endpoint") or config.get("min_endpoint", 1)
        least += (stated if isinstance(stated, int) else 1) * worker.own_gpus * worker.nodes
    now = sum((w.replicas if w.replicas is not None else 1) * w.own_gpus * w.nodes for w in workers)
    said = "" if "max_gpu_budget" in config else ", which is the default"
    if 0 <= budget < least:
        yield where.problem(
            f"`{planner.name}` may use {budget} GPUs{said}, and the least number of workers takes {least}",
            f"write `max_gpu_budget` {now if now > least else least} or more",
        )
    elif 0 <= budget < now:
        yield where.problem(
            f"`{planner.name}` may use {budget} GPUs{said}, and the graph starts with {now}: it would shrink at once",
            f"write `max_gpu_budget` {now} or more",
            severity="warning",
        )


@on_manifests("IF-PLC-007")
def never_none(manifests: Manifests) -> Iterator[Problem]:
    for scaler in scalers(manifests):
        workload = _scaled(manifests, scaler)
        if workload is None or not workload.engines:
            continue
        least = scaler.least.whole if scaler.least.exists else 0 if scaler.zero_allowed else 1
        if least == 0:
            place = spot(scaler.least.ref) if scaler.least.exists else scaler.spot
            yield place.problem(f"{scaler.name} may take `{workload.name}` down to no pod", "write 1 or more")
    for workload in manifests.workloads:
        none = workload.replicas == 0 and bool(workload.engines)
        if none and workload.replicas_ref is not None and _others_run(manifests, workload):
            yield spot(workload.replicas_ref).problem(f"`{workload.name}` has no replica", "write 1 or more")
    for planner, process in planners(manifests):
        config, where = config_of(manifests, planner, process)
        if (config or {}).get("min_endpoint") == 0:
            yield where.problem("the planner may take a role down to no worker (min_endpoint 0)", "write 1 or more")


def _others_run(manifests: Manifests, workload: Workload) -> bool:
    """A graph of which the rest runs; a lone Deployment of none is switched off on purpose."""
    return workload.graph is not None and any(
        c.replicas != 0 for c in manifests.components(workload.graph) if c.engines
    )
