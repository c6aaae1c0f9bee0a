"""One DynamoGraphDeployment with its configuration files."""

import hashlib
from typing import Any

from inferfab.plan.fleet import CellPlan
from inferfab.plan.groups import HYBRID_LABELS, SYSTEM_LABELS
from inferfab.plan.kv_config import KV_DISK_PATH
from inferfab.plan.names import SERVING_NAMESPACE
from inferfab.plan.placement import NodeGroupPlan
from inferfab.plan.racks.racks import RACK_LABEL
from inferfab.plan.served import MODELS_PATH
from inferfab.plan.serving.component import CONFIG_PATH, FRONTEND_PORT, SYSTEM_PORT, ComponentPlan, GraphPlan
from inferfab.plan.serving.frontends import READY
from inferfab.plan.serving.model_cache import COMPLETE, DISK_MODELS, host_path
from inferfab.record import Record
from inferfab.render.serving.configuration import configuration
from inferfab.render.serving.origins import argument_from, replicas_from
from inferfab.render.templates import render

_TYPES = {"frontend": "frontend", "prefill": "prefill", "decode": "decode", "worker": "worker", "planner": "planner"}
"""Routers have no type: the operator then adds no probes and no ports of an engine."""
NAMES = "/served"
"""Where routers over pools see a model's small files under its served name."""


class Mount(Record):
    """One mount of a container."""

    volume: str
    path: str
    sub_path: str | None = None
    read_only: bool = True


def graph_file(cell: CellPlan, graph: GraphPlan, variant: str, live_replicas: dict[str, str] | None) -> str:
    """The graph and, behind it, its ConfigMap.

    :param variant: of the engine pair's templates.
    :param live_replicas: filled with a placeholder for the replicas of each scaled component (placeholder to what
        stands there at first); None writes the number itself.
    """
    files = configuration(graph, variant)
    digests = {name: hashlib.sha256(text.encode()).hexdigest()[:12] for name, text in files.items()}
    components = [_component(cell, graph, part, digests, live_replicas) for part in graph.components]
    text = render(
        "dynamo/graph.yaml.j2",
        variant,
        title=_title(graph),
        graph=graph,
        namespace=SERVING_NAMESPACE,
        graph_labels=_labels(cell, graph),
        components=components,
        pull_secret=cell.images.pull_secret,
        models_path=MODELS_PATH,
        complete=COMPLETE,
        frontend_port=FRONTEND_PORT,
        owner="the planner's" if graph.planner is not None and not graph.planner.advisory else "KEDA's",
    )
    if not files:
        return text
    settings = render(
        "dynamo/config_map.yaml.j2",
        variant,
        name=graph.name,
        namespace=SERVING_NAMESPACE,
        files=files,
        kept_with=graph.name,
    )
    return f"{text}---\n{settings}"


def _node_selector(cell: CellPlan, part: ComponentPlan, group: NodeGroupPlan | None) -> dict[str, str]:
    if part.beside_gpus:
        # Only the racks' servers are nodes of a hybrid kind.
        return {"inferfab/cell": cell.name, **HYBRID_LABELS}
    return group.labels if group else SYSTEM_LABELS


def _any_gpu_node(cell: CellPlan) -> list[dict[str, str]]:
    """Tolerations of all groups, each once."""
    found = [one for group in cell.node_groups for one in tolerations(group)]
    return [one for n, one in enumerate(found) if one not in found[:n]]


def _title(graph: GraphPlan) -> str:
    if graph.pool is None:
        return f"{graph.model} over its tiers: what a request asks for decides which pool serves it."
    part = {"pool": "", "shared": f", {graph.model}"}.get(graph.role, f", its {graph.role} workers")
    return f"Pool {graph.pool}{part}: {graph.model} for tier {graph.tier}."


def _labels(cell: CellPlan, graph: GraphPlan) -> dict[str, str]:
    labels = {
        "app.kubernetes.io/part-of": "inferfab",
        "inferfab/cell": cell.name,
        "inferfab/route": graph.route,
        "inferfab/model": graph.model,
    }
    labels |= {"inferfab/pool": graph.pool} if graph.pool else {}
    return labels | ({"inferfab/tier": graph.tier} if graph.tier else {})


def _component(
    cell: CellPlan, graph: GraphPlan, part: ComponentPlan, digests: dict[str, str], live: dict[str, str] | None
) -> dict[str, Any]:
    group = cell.node_group(part.node_group) if part.node_group else None
    mine = {"inferfab/graph": graph.name, "inferfab/component": part.name}
    entry = {"inferfab/entry": graph.entry} if graph.entry and part.kind == "frontend" else {}
    replicas = str(part.replicas)
    if live is not None and part.scaled:
        replicas = f"live-replicas-of-{graph.name}-{part.name}"
        live[replicas] = _live(graph.name, part)
    return {
        "plan": part,
        "type": _TYPES.get(part.kind),
        "replicas": replicas,
        "replicas_from": replicas_from(graph, part),
        "labels": {**_labels(cell, graph), **mine, **entry},
        "spread_over": mine,
        "config_digest": digests[part.config] if part.config else "",
        "node_selector": _node_selector(cell, part, group),
        "tolerations": _any_gpu_node(cell) if part.beside_gpus else tolerations(group),
        "rack_label": RACK_LABEL if cell.racks and (group or part.beside_gpus) else "",
        "rack_rule": "DoNotSchedule"
        if graph.kv_transfer_policy and graph.kv_transfer_policy.enforcement == "required"
        else "ScheduleAnyway",
        "arguments": [
            {
                "flag": a.flag,
                # Kubernetes would put a variable of the container there.
                "value": a.value and a.value.replace("$(", "$$("),
                "comment": argument_from(graph, part, a.flag),
            }
            for a in part.arguments
        ],
        "extended": _extended(part),
        "mounts": _mounts(part),
        "host_path": host_path(group) if group else DISK_MODELS,
        "working_dir": NAMES if part.model_as else None,
        # The operator adds probes to every component that has a type.
        "probe_port": None if part.kind in _TYPES else SYSTEM_PORT,
        "kv_disk_class": part.kv_disk_class,
        "listed_as": graph.model if part.kind == "frontend" else None,
        "asks": _asks(graph) if part.kind == "frontend" else (),
    }


def _asks(graph: GraphPlan) -> tuple[str, ...]:
    """Command that fails while a pool behind the frontend cannot answer; of a router over tiers, any of its pools."""
    targets = (f"{t.ttft_ms},{t.itl_ms}" for t in graph.global_router.targets) if graph.global_router else ()
    return ("python3", f"{CONFIG_PATH}/{READY}", graph.model, *targets)


def _live(graph: str, part: ComponentPlan) -> str:
    """Helm's way to leave a number to its owner: what is there now, and at first what the plan says.

    The operator refuses an update that changes ``replicas`` of a component with a scaling adapter, and an update that
    says nothing counts as 1 (deploy/operator/internal/webhook/validation, validateReplicasChanges).
    """
    return (
        f"{{{{- $live := {part.replicas} -}}}}"
        f'{{{{- range (dig "spec" "components" (list) (lookup "nvidia.com/v1beta1" "DynamoGraphDeployment" '
        f'"{SERVING_NAMESPACE}" "{graph}")) -}}}}'
        f'{{{{- if and (eq .name "{part.name}") (hasKey . "replicas") -}}}}{{{{- $live = .replicas -}}}}{{{{- end -}}}}'
        f"{{{{- end }}}} {{{{ $live }}}}"
    )


def taints(group: NodeGroupPlan | None) -> list[dict[str, str]]:
    """What keeps other pods off a group's nodes; system nodes have nothing."""
    found = []
    for key, text in group.taints.items() if group else ():
        value, _, effect = text.rpartition(":")
        found.append({"key": key, "value": value, "effect": effect})
    return found


def tolerations(group: NodeGroupPlan | None) -> list[dict[str, str]]:
    """Of these taints exactly; of GPUs, whatever the value is: Google taints such nodes by itself, with another one."""
    return [one | ({"value": ""} if one["key"] == "nvidia.com/gpu" else {}) for one in taints(group)]


def _extended(part: ComponentPlan) -> dict[str, str]:
    """Extended resources. With a claim there are none: one owner a device."""
    found = {part.gpu_resource: str(part.gpus)} if part.gpus and not part.claim else {}
    found |= {name: str(count) for name, count in part.resources.items()}
    if part.hugepages_2mi_mib:
        found["hugepages-2Mi"] = f"{part.hugepages_2mi_mib}Mi"
    return found


def _mounts(part: ComponentPlan) -> list[Mount]:
    found = []
    if part.model_as:
        (folder,) = part.model_folders
        found.append(Mount(volume="models", path=f"{NAMES}/{part.model_as}", sub_path=folder))
    elif part.model_folders:
        found.append(Mount(volume="models", path=MODELS_PATH))
    if part.config:
        found.append(Mount(volume="config", path=CONFIG_PATH))
    found += [Mount(volume=mount.name, path=mount.path) for mount in part.host_mounts]
    if part.kv_disk_bytes:
        found.append(Mount(volume="kv-cache", path=KV_DISK_PATH, read_only=False))
    return found
