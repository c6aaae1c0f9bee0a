"""What Dynamo's admission webhook refuses and no CRD holds, written anew from the operator's Go source.

Sources, in ai-dynamo/dynamo deploy/operator/internal:
  [dgd]     webhook/validation/dynamographdeployment.go @003d1ee5de27986d5265b7a4bedb1e9241974034
  [shared]  webhook/validation/shared_v1beta1.go @03bd8b47330db22c5bcbee6a3eaf263f119ab287
  [helpers] webhook/validation/dynamographdeployment_helpers.go @262e16e279eb5c08ea0bf6840ab38c89af148931
  [version] runtimeversion/runtimeversion.go @373eb71634c85ccb89343c8aeb7e043e172af5d9
These are commits near 1.6.1, not its tag. Unproven here: what needs a cluster (a ClusterTopologyBinding that exists,
Grove installed), gpuMemoryService, failover, checkpoint and eppConfig, which inferfab does not render.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from .api_server import quantity

Json = Mapping[str, Any]

GROVE_NAME_BUDGET = 45
"""[helpers] maxCombinedResourceNameLength. Later operators cut a long graph name themselves and pass; 1.2 refuses."""
MOST_COMPONENTS = 25
ENGINES = {"worker", "prefill", "decode"}

IMAGE_TAG = re.compile(
    r"[vV]?(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z.-]+)?"
)
"""[version] imageTagPattern: ``1.6.1-efa`` is a semantic version with a pre-release."""

ANNOTATIONS = {
    # [dgd] validateObjectMeta
    "nvidia.com/vllm-distributed-executor-backend": {"mp", "ray"},
    "nvidia.com/grove-update-strategy": {"RollingRecreate", "OnDelete"},
    "nvidia.com/dynamo-kube-discovery-mode": {"pod", "container"},
}
GROVE_OFF = "nvidia.com/enable-grove"


def main_container(component: Json) -> Json | None:
    """[shared] The container ``main``; the operator merges its defaults into it and into no other."""
    containers = ((component.get("podTemplate") or {}).get("spec") or {}).get("containers") or ()
    return next((one for one in containers if one.get("name") == "main"), None)


def image_tag(image: str) -> str:
    """[version] imageTag: what stands after the last colon behind the last slash, without a digest."""
    reference = image.strip().partition("@")[0]
    head, colon, tag = reference.rpartition(":")
    return tag if colon and "/" not in tag and head else ""


def grove_name_length(graph: str, component: Json) -> int:
    """[helpers] dgdComponentResourceNameLength: of a multinode component, scaling group and leader count too."""
    name = str(component.get("name", "")).lower()
    multinode = (component.get("multinode") or {}).get("nodeCount", 2) > 1 if "multinode" in component else False
    return len(graph) + len(name) + (len(f"{name}-ldr") if multinode else 0)


def admission_problems(graph: Json) -> list[str]:
    """What the webhook refuses when a DynamoGraphDeployment is created, one line each."""
    meta, spec = graph.get("metadata") or {}, graph.get("spec") or {}
    components = spec.get("components") or []
    found = list(_annotations(meta.get("annotations") or {}))
    grove = str((meta.get("annotations") or {}).get(GROVE_OFF, "")).lower() != "false"
    if not components:
        found.append("spec.components: at least one")
    if len(components) > MOST_COMPONENTS:
        found.append(f"spec.components: {len(components)}, at most {MOST_COMPONENTS}")
    names = [str(one.get("name", "")).lower() for one in components]
    found += [f"component {name}: two of this name" for name in sorted({n for n in names if names.count(n) > 1})]
    if sum(one.get("type") == "epp" for one in components) > 1:
        found.append("spec.components: at most one of type epp")
    if "restart" in spec:
        found.append("spec.restart: unset on create")
    if spec.get("priorityClassName") and not grove:
        found.append("spec.priorityClassName: needs Grove")
    found += _topology(spec, components)
    found += _transfer_policy((spec.get("experimental") or {}).get("kvTransferPolicy"), grove)
    for component in components:
        found += _component(component, str(meta.get("name", "")), grove)
    return found


def _annotations(annotations: Json) -> Iterator[str]:
    for name, allowed in ANNOTATIONS.items():
        value = annotations.get(name)
        if value is not None and value not in allowed:
            yield f"metadata.annotations[{name}]: {value!r}, one of {sorted(allowed)}"


def _component(component: Json, graph: str, grove: bool) -> Iterator[str]:
    where = f"component {component.get('name')}"
    kind = component.get("type")
    if grove and (length := grove_name_length(graph, component)) > GROVE_NAME_BUDGET:
        yield f"{where}: names of {length} characters together, Grove takes {GROVE_NAME_BUDGET}"
    if "multinode" in component:
        # [shared] supportsMultinodeComponentType; the CRD has the minimum too.
        if kind not in ENGINES:
            yield f"{where}: multinode on {kind}"
        if (component["multinode"] or {}).get("nodeCount", 2) < 2:
            yield f"{where}: multinode with fewer than 2 nodes"
    if kind == "epp" and component.get("replicas", 1) != 1:
        yield f"{where}: an epp has exactly 1 replica"
    if "minAvailable" in component and not grove:
        yield f"{where}: minAvailable needs Grove"
    size = component.get("sharedMemorySize")
    if size is not None and (str(size).startswith("-") or quantity(size) < 0):
        yield f"{where}: negative sharedMemorySize"
    containers = ((component.get("podTemplate") or {}).get("spec") or {}).get("containers") or ()
    sidecar = component.get("frontendSidecar")
    if sidecar is not None and sidecar not in {one.get("name") for one in containers}:
        yield f"{where}: frontendSidecar names no container"
    yield from _dynamo_sidecar(component, where)
    main = main_container(component)
    if main is None:
        yield f"{where}: no container `main`"
    elif not main.get("image"):
        yield f"{where}: `main` has no image"
    elif "runtimeVersionOverride" not in component and not IMAGE_TAG.fullmatch(image_tag(main["image"])):
        # [shared] runtimeVersionOverrideRequired
        yield f"{where}: the tag of {main['image']} is no version, and there is no runtimeVersionOverride"


def _dynamo_sidecar(component: Json, where: str) -> Iterator[str]:
    """By the words of the Go type: a restartable init container, of an engine, on one node."""
    name = component.get("dynamoSidecar")
    if name is None:
        return
    inits = ((component.get("podTemplate") or {}).get("spec") or {}).get("initContainers") or ()
    if not any(one.get("name") == name and one.get("restartPolicy") == "Always" for one in inits):
        yield f"{where}: dynamoSidecar names no init container with restartPolicy Always"
    if component.get("type") not in ENGINES or "multinode" in component:
        yield f"{where}: dynamoSidecar is for a worker, prefill or decode on one node"


def _topology(spec: Json, components: list[Json]) -> Iterator[str]:
    # [dgd] validateDynamoGraphDeploymentSpec
    ours = [one for one in components if "topologyConstraint" in one]
    whole = spec.get("topologyConstraint")
    if ours and whole is None:
        yield "spec.topologyConstraint: required when a component has one"
    if whole is not None and not whole.get("packDomain") and not ours:
        yield "spec.topologyConstraint.packDomain: required when no component has a constraint"
    if (whole is not None or ours) and "providerOverride" in spec:
        yield "spec.providerOverride: cannot stand beside topologyConstraint"


def _transfer_policy(policy: Json | None, grove: bool) -> Iterator[str]:
    if policy is None:
        return
    where = "spec.experimental.kvTransferPolicy"
    if ("labelKey" in policy) == ("clusterTopologyName" in policy):
        yield f"{where}: exactly one of labelKey and clusterTopologyName"
    if "clusterTopologyName" in policy and not grove:
        yield f"{where}.clusterTopologyName: needs Grove"
    preferred = policy.get("enforcement", "required") == "preferred"
    weight = policy.get("preferredWeight")
    if preferred != (weight is not None):
        yield f"{where}: preferredWeight exactly when enforcement is preferred"
    if weight is not None and not 0 <= weight <= 1:
        yield f"{where}: preferredWeight between 0 and 1"


def update_problems(old: Json, new: Json) -> list[str]:
    """What the webhook refuses when one graph is changed into another of the same name."""
    found = []
    before, after = ({one["name"]: one for one in g["spec"]["components"]} for g in (old, new))
    if set(before) != set(after):
        found.append(f"spec.components: the set is immutable: {sorted(set(before) ^ set(after))}")
    for name in sorted(set(before) & set(after)):
        found += _component_update(before[name], after[name], f"component {name}")
    for path in (("backendFramework",), ("topologyConstraint",), ("experimental", "kvTransferPolicy")):
        if _at(old["spec"], path) != _at(new["spec"], path):
            found.append(f"spec.{'.'.join(path)}: immutable")
    return found


def _component_update(old: Json, new: Json, where: str) -> Iterator[str]:
    for field in ("type", "topologyConstraint", "minAvailable"):
        # type and minAvailable: CEL rules of the type, not the webhook.
        if old.get(field) != new.get(field) and not (field == "type" and old.get(field) is None):
            yield f"{where}.{field}: immutable"
    if ("multinode" in old) != ("multinode" in new):
        yield f"{where}.multinode: single-node and multi-node do not change into each other"
    adapted = "scalingAdapter" in old or "scalingAdapter" in new
    if adapted and old.get("replicas", 1) != new.get("replicas", 1):
        yield f"{where}.replicas: belongs to the scaling adapter"


def _at(node: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        node = (node or {}).get(step)
    return node
