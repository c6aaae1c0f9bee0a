"""Pods: containers, environment, resources, volumes, as far as rules look at them."""

from collections.abc import Mapping
from dataclasses import dataclass

from inferfab.findings import YamlPath
from inferfab.manifests.nodes import Node, Ref
from inferfab.manifests.quantities import quantity

GPU_RESOURCES = ("nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915", "gpu.intel.com/xe", "nvidia.com/gpu.shared")
MIG = "nvidia.com/mig-"


@dataclass(frozen=True)
class EnvVar:
    """One environment variable."""

    name: str
    value: str | None
    """None where it comes from a field, a ConfigMap or a Secret."""
    field: str | None
    """``status.podIP`` and the like."""
    ref: Ref


@dataclass(frozen=True)
class Amount:
    """A resource of a container, in its base unit."""

    value: float
    ref: Ref


@dataclass(frozen=True)
class Mount:
    volume: str
    path: str
    ref: Ref


@dataclass(frozen=True)
class Volume:
    name: str
    kind: str
    """``emptyDir``, ``persistentVolumeClaim``, ``configMap``, …; empty where nothing is said."""
    medium: str
    size_bytes: float | None
    claim: str
    config_map: str
    ref: Ref


@dataclass(frozen=True)
class Port:
    number: int
    name: str
    ref: Ref


@dataclass(frozen=True)
class Container:
    """One container, of a pod or of a graph's component."""

    name: str
    image: str
    image_ref: Ref
    command: Node
    args: Node
    env: Mapping[str, EnvVar]
    env_node: Node
    env_from: bool
    """More variables come from ConfigMaps or Secrets that are not seen here."""
    limits: Mapping[str, Amount]
    requests: Mapping[str, Amount]
    mounts: tuple[Mount, ...]
    ports: tuple[Port, ...]
    probes: tuple[tuple[str, Node], ...]
    privileged: bool
    capabilities: tuple[str, ...]
    ref: Ref

    def amount(self, name: str) -> float | None:
        """Of the limits, or of the requests where there is no limit."""
        found = self.limits.get(name) or self.requests.get(name)
        return found.value if found else None

    @property
    def gpus(self) -> int:
        """GPUs (or MIG slices) that it asks for."""
        names = {*self.limits, *self.requests}
        return sum(int(self.amount(n) or 0) for n in names if n in GPU_RESOURCES or n.startswith(MIG))


@dataclass(frozen=True)
class Pod:
    """A pod template."""

    containers: tuple[Container, ...]
    init: tuple[Container, ...]
    volumes: Mapping[str, Volume]
    node_selector: Mapping[str, str]
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    host_network: bool
    claims: bool
    """It takes devices through resource claims (DRA)."""
    networks: tuple[str, ...]
    """Further networks that annotations ask for."""
    ref: Ref


def env_of(*lists: Node) -> dict[str, EnvVar]:
    """Variables of ``env`` lists; the last of a name wins."""
    found: dict[str, EnvVar] = {}
    for node in lists:
        for item in node.items():
            name = item.get("name").text
            if name:
                source = item.get("valueFrom")
                value = item.get("value")
                known = "" if not source.exists and not value.exists else value.text
                place = value if value.exists else item.get("name")
                key = source.get("configMapKeyRef")
                held = _config_map(key).get("data", key.get("key").text or "")
                if held.text is not None:
                    known, place = held.text, held
                found[name] = EnvVar(name, known, source.get("fieldRef", "fieldPath").text, place.ref)
    return found


def _env_from(node: Node) -> tuple[dict[str, EnvVar], bool]:
    """(variables of ConfigMaps that are seen, whether there are more)."""
    found: dict[str, EnvVar] = {}
    hidden = False
    for item in node.items():
        data = _config_map(item.get("configMapRef")).get("data")
        prefix = item.get("prefix").text or ""
        hidden |= not data.exists
        for key, value in data.entries():
            found[f"{prefix}{key}"] = EnvVar(f"{prefix}{key}", value.text, None, value.ref)
    return found, hidden


def _config_map(reference: Node) -> Node:
    """The ConfigMap that a reference of a pod names; an absent node where none of the manifests is it."""
    name, document = reference.get("name").text, reference.document
    whole = Node(document, reference.root, _at(document.tree, reference.root))
    namespace = whole.get("metadata", "namespace").text or ""
    for key in (f"{namespace}/{name}", f"/{name}"):
        if name and key in document.config_maps:
            other, path = document.config_maps[key]
            return Node(other, path, _at(other.tree, path), f"ConfigMap/{name}", path)
    return Node(document, (), None)


def _at(tree: object, path: YamlPath) -> object:
    for key in path:
        tree = tree[key] if isinstance(tree, (dict, list)) else None  # type: ignore[index]
    return tree


def amounts_of(node: Node) -> dict[str, Amount]:
    found = {}
    for name, item in node.entries():
        value = quantity(item.text)
        if value is not None:
            found[name] = Amount(value, item.ref)
    return found


_PROBES = ("startupProbe", "livenessProbe", "readinessProbe")


def container_of(node: Node) -> Container:
    """A container as Kubernetes writes it."""
    security = node.get("securityContext")
    ports = []
    from_maps, hidden = _env_from(node.get("envFrom"))
    for item in node.get("ports").items():
        number = item.get("containerPort").whole
        if number is not None:
            ports.append(Port(number, item.get("name").text or "", item.get("containerPort").ref))
    return Container(
        name=node.get("name").text or "",
        image=node.get("image").text or "",
        image_ref=node.get("image").ref,
        command=node.get("command"),
        args=node.get("args"),
        env={**from_maps, **env_of(node.get("env"))},
        env_node=node.get("env"),
        env_from=hidden,
        limits=amounts_of(node.get("resources", "limits")),
        requests=amounts_of(node.get("resources", "requests")),
        mounts=mounts_of(node.get("volumeMounts")),
        ports=tuple(ports),
        probes=tuple((p, node.get(p)) for p in _PROBES if node.get(p).value),
        privileged=security.get("privileged").value is True,
        capabilities=tuple(i.text or "" for i in security.get("capabilities", "add").items()),
        ref=node.get("name").ref if node.get("name").exists else node.ref,
    )


def mounts_of(node: Node) -> tuple[Mount, ...]:
    """Mounts; v1alpha1 of Dynamo says ``mountPoint``."""
    found = []
    for item in node.items():
        path = item.get("mountPath").text or item.get("mountPoint").text
        if path:
            found.append(Mount(item.get("name").text or "", path, item.ref))
    return tuple(found)


def volumes_of(node: Node) -> dict[str, Volume]:
    found = {}
    for item in node.items():
        name = item.get("name").text or ""
        kind = next((key for key, _ in item.entries() if key != "name"), "")
        empty = item.get("emptyDir")
        found[name] = Volume(
            name=name,
            kind=kind,
            medium=empty.get("medium").text or "",
            size_bytes=quantity(empty.get("sizeLimit").text),
            claim=item.get("persistentVolumeClaim", "claimName").text or "",
            config_map=item.get("configMap", "name").text or "",
            ref=item.ref,
        )
    return found


def labels_of(node: Node) -> dict[str, str]:
    return {key: value.text or "" for key, value in node.entries()}


_NETWORKS = ("k8s.v1.cni.cncf.io/networks", "networking.gke.io/interfaces", "v1.multus-cni.io/default-network")


def pod_of(template: Node) -> Pod:
    """A pod template (``metadata`` and ``spec``)."""
    spec = template.get("spec")
    annotations = labels_of(template.get("metadata", "annotations"))
    return Pod(
        containers=tuple(container_of(c) for c in spec.get("containers").items()),
        init=tuple(container_of(c) for c in spec.get("initContainers").items()),
        volumes=volumes_of(spec.get("volumes")),
        node_selector=node_labels(spec),
        labels=labels_of(template.get("metadata", "labels")),
        annotations=annotations,
        host_network=spec.get("hostNetwork").value is True,
        claims=bool(spec.get("resourceClaims").value),
        networks=tuple(value for key, value in annotations.items() if key in _NETWORKS),
        ref=template.ref,
    )


def node_labels(spec: Node) -> dict[str, str]:
    """Labels that a node must have: the selector, and required affinity to a single value."""
    found = labels_of(spec.get("nodeSelector"))
    required = spec.get("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    terms = list(required.get("nodeSelectorTerms").items())
    if len(terms) == 1:
        for expression in terms[0].get("matchExpressions").items():
            values = [v.text or "" for v in expression.get("values").items()]
            if expression.get("operator").text == "In" and len(values) == 1:
                found.setdefault(expression.get("key").text or "", values[0])
    return found
