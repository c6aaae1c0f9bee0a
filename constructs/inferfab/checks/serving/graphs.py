"""DynamoGraphDeployments as objects: names, shapes that admission refuses, locality of KV transfers."""

import re
from collections.abc import Iterator

import inferfab.checks.names  # noqa: F401 - enters IF-NAM-001, which judges manifests too
from inferfab.catalog.limits import limit
from inferfab.checks.registry import Problem, manifest_rule, on_manifests
from inferfab.checks.serving.manifest_views import spot
from inferfab.checks.serving.register import of_manifests
from inferfab.manifests.model import Graph, Manifests, Workload
from inferfab.plan.names import grove_length

_TYPES = ("frontend", "worker", "prefill", "decode", "planner", "epp")
_ALPHA_TYPES = (*_TYPES, "main", "default")
_MOST_COMPONENTS = 25
_ADMISSION = (
    "ai-dynamo/dynamo deploy/operator/internal/webhook/validation/dynamographdeployment.go @003d1ee5 and "
    "shared_v1beta1.go @03bd8b47"
)


@on_manifests("IF-NAM-001")
def names_fit(manifests: Manifests) -> Iterator[Problem]:
    most = limit("grove_name_budget")
    for graph in manifests.graphs:
        components = manifests.components(graph)
        lengths = {w.name: grove_length(graph.name, w.name, multinode=w.nodes > 1) for w in components}
        worst = max(lengths, key=lambda name: lengths[name], default=None)
        if worst is not None and lengths[worst] > most and "{{" not in graph.name:
            yield spot(graph.ref).problem(
                f"the Grove name `{graph.name} + {worst}` has {lengths[worst]} characters, {most} are allowed",
                f"shorten `{graph.name}` or `{worst}` by {lengths[worst] - most}",
                value=graph.name,
                # Operators since ai-dynamo/dynamo#8563 cut such names and add a hash; no manifest says which one runs.
                severity="warning",
            )
    for workload in manifests.workloads:
        longest = limit("kubernetes_label_length")
        if workload.graph is None and workload.kind == "LeaderWorkerSet" and len(workload.name) + 12 > longest:
            yield spot(workload.ref).problem(
                f"pods of `{workload.name}` get names of more than {longest} characters", "shorten it"
            )


@manifest_rule(
    "IF-POD-009",
    "a graph that admission refuses",
    joins=("pod", "cluster"),
    why="the webhook refuses the object at apply, after the roll-out has begun elsewhere; an older operator drops what "
    "it does not know without a word.",
    do="write the shape of the version that `apiVersion` names.",
    source=_ADMISSION,
)
def graphs_are_admitted(manifests: Manifests) -> Iterator[Problem]:
    for graph in manifests.graphs:
        components = manifests.components(graph)
        yield from _whole(graph, components)
        for component in components:
            yield from _component(component, graph)


def _whole(graph: Graph, components: tuple[Workload, ...]) -> Iterator[Problem]:
    spec, api = graph.node.get("spec"), graph.node.get("apiVersion")
    for field, right, wrong in (("services", "nvidia.com/v1alpha1", "v1beta1"),
                                ("components", "nvidia.com/v1beta1", "v1alpha1")):  # fmt: skip
        if spec.get(field).exists and (api.text or "").endswith(wrong):
            yield spot(spec.get(field).key_ref).problem(f"`{field}` under {api.text}", f"write `apiVersion: {right}`")
    if not components:
        yield spot(graph.ref).problem(f"graph `{graph.name}` has no component", "add its frontend and workers")
    if len(components) > _MOST_COMPONENTS:
        yield spot(graph.ref).problem(f"graph `{graph.name}` has {len(components)} components", "write at most 25")
    first: dict[str, str] = {}
    for component in components:
        before = first.setdefault(component.name.lower(), component.name)
        if before is not component.name:
            yield spot(component.ref).problem(
                f"the component `{component.name}` stands twice (letters' case does not count)", "rename one of them"
            )
    gateways = [c for c in components if c.component_type == "epp"]
    for epp in gateways[1:]:
        yield spot(epp.ref).problem("a graph has at most one epp component", "remove this one")


def _component(component: Workload, graph: Graph) -> Iterator[Problem]:
    node, kind, name = component.node, component.component_type, component.name
    service = node if graph.version == "v1beta1" else graph.node.get("spec", "services", name)
    types = _TYPES if graph.version == "v1beta1" else _ALPHA_TYPES
    if kind and kind not in types and "{{" not in kind:
        yield spot(service.get("type").ref).problem(f"`{name}` has the type `{kind}`", f"one of: {', '.join(types)}")
    count = service.get("multinode", "nodeCount")
    if count.exists and (count.whole or 0) < 2:
        yield spot(count.ref).problem(f"`{name}` spans {count.text} node", "write 2 or more, or remove `multinode`")
    if count.exists and kind in ("frontend", "planner", "epp"):
        yield spot(count.ref).problem(f"`{name}` is a {kind} and spans nodes", "remove `multinode`")
    if component.replicas is not None and component.replicas_ref is not None:
        if component.replicas < 0:
            yield spot(component.replicas_ref).problem(f"`{name}` has {component.replicas} replicas", "write 0 or more")
        if kind == "epp" and component.replicas != 1:
            yield spot(component.replicas_ref).problem(f"`{name}` is an epp with {component.replicas} replicas",
                                                       "write 1")  # fmt: skip
    if graph.version == "v1beta1":
        names = [c.name for c in component.pod.containers]
        if "main" not in names and service.get("podTemplate").exists:
            yield spot(component.ref).problem(f"`{name}` has no container called `main`", "call the engine's `main`")
        elif service.get("podTemplate").exists and not component.pod.containers[names.index("main")].image:
            yield spot(component.ref).problem(f"the container `main` of `{name}` has no image", "add its image")
        shm = service.get("sharedMemorySize")
        if (shm.text or "").startswith("-"):
            yield spot(shm.ref).problem(f"`{name}` has a negative shared memory", "write 0 or more")


@manifest_rule(
    "IF-FAB-014",
    "KV transfers kept near by a label that is not there",
    joins=("fabric", "cluster", "engine"),
    why="with `required` a prefill worker whose domain has no decode worker answers every request with an error: 9 of "
    "20 in a run of Dynamo's own processes.",
    do="name a label that nodes have, say `preferred` unless every domain has both roles, and route by KV cache.",
    source="run of ai-dynamo 1.6.1 frontend and mockers on loopback; ai-dynamo/dynamo kvTransferPolicy validation; "
    "kubernetes/cloud-provider-aws#1103 (labels that come late or never)",
)
def locality_is_there(manifests: Manifests) -> Iterator[Problem]:
    for graph in manifests.graphs:
        policy = graph.node.get("spec", "experimental", "kvTransferPolicy")
        if not policy.exists:
            continue
        where = spot(policy.key_ref)
        label, topology = policy.get("labelKey"), policy.get("clusterTopologyName")
        if label.exists == topology.exists:
            which = "both labelKey and clusterTopologyName" if label.exists else "neither labelKey nor "\
                    "clusterTopologyName"  # fmt: skip
            yield where.problem(f"kvTransferPolicy of `{graph.name}` has {which}", "write exactly one of them")
        if not policy.get("domain").exists:
            yield where.problem(f"kvTransferPolicy of `{graph.name}` has no domain", "add `domain`")
        text = label.text or ""
        if label.exists and not re.fullmatch(r"([a-z0-9.-]+/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?", text):
            yield spot(label.ref).problem(f"`{text}` is no label", "write the key of a node label", value=text)
        elif re.search(r"-N$|\bN\b", text):
            yield spot(label.ref).problem(f"`{text}` is a pattern, not a label", "write its number", value=text)
        required = (policy.get("enforcement").text or "required") == "required"
        weight = policy.get("preferredWeight")
        if weight.exists == required:
            said = "a preferredWeight with `required`" if required else "no preferredWeight with `preferred`"
            yield where.problem(f"kvTransferPolicy of `{graph.name}` has {said}", "give it with `preferred` only")
        serving = next((s for s in of_manifests(manifests) if s.spot == spot(graph.ref)), None)
        routers = serving.frontends if serving is not None else ()
        if routers and all(r.mode not in ("kv", None) for r in routers):
            yield routers[0].mode_spot.problem(
                f"`{graph.name}` keeps KV transfers near, and {routers[0].name} does not route by KV cache",
                "write `--router-mode kv`",
            )
        lone = [w for w in manifests.components(graph) if w.role in ("prefill", "decode") and w.replicas == 1]
        if required and lone:
            yield where.problem(
                f"kvTransferPolicy of `{graph.name}` is required, and `{lone[0].name}` has one replica, which stands "
                "in one domain",
                "write `enforcement: preferred`, or more replicas in every domain",
                severity="warning",
            )
