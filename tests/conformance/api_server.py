"""What an API server refuses beyond the schemas: names, labels, and the agreements inside one pod.

A hand-written part of k8s.io/kubernetes@v1.36.3 pkg/apis/core/validation/validation.go and
apimachinery/pkg/util/validation; only what a renderer can get wrong.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

Json = Mapping[str, Any]

LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
QUALIFIED = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
SERVICE_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
CONFIG_KEY = re.compile(r"[-._a-zA-Z0-9]+")

CONFIG_MAP_BYTES = 1024 * 1024

SUFFIXES = {
    "": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18, "m": Decimal("0.001"),
    "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60,
}  # fmt: skip


def quantity(value: object) -> Decimal:
    """A quantity as a number: ``"500m"`` is 0.5."""
    text = str(value)
    match = re.fullmatch(r"([0-9.]+)([a-zA-Z]*)", text)
    if match and match[2] in SUFFIXES:
        return Decimal(match[1]) * SUFFIXES[match[2]]
    return Decimal(text)


def api_server_problems(document: Json) -> list[str]:
    """What is wrong with one object, one line each."""
    found = list(_metadata(document))
    spec = document.get("spec") or {}
    match document.get("kind"):
        case "ConfigMap":
            found += _config_map(document)
        case "DynamoGraphDeployment":
            for component in spec.get("components", ()):
                found += _pod(component.get("podTemplate") or {}, f"component {component.get('name')}")
        case "DaemonSet" | "Deployment" | "StatefulSet" | "Job":
            found += _pod(spec.get("template") or {}, "template")
            found += _selector(spec)
        case "CronJob":
            found += _pod(spec.get("jobTemplate", {}).get("spec", {}).get("template") or {}, "template")
        case "PodDisruptionBudget":
            if ("minAvailable" in spec) == ("maxUnavailable" in spec):
                found.append("spec: exactly one of minAvailable and maxUnavailable")
            if not spec.get("selector"):
                found.append("spec.selector: an empty one covers every pod of the namespace")
    return found


def _metadata(document: Json) -> Iterator[str]:
    meta = document.get("metadata") or {}
    name = meta.get("name", "")
    label = document.get("kind") in {"Service", "Namespace", "DynamoGraphDeployment"}
    pattern = SERVICE_LABEL if document.get("kind") == "Service" else LABEL if label else SUBDOMAIN
    if not isinstance(name, str) or len(name) > (63 if label else 253) or not pattern.fullmatch(name):
        yield f"metadata.name: {name!r} is no DNS {'label' if label else 'name'}"
    if "namespace" in meta and not (LABEL.fullmatch(str(meta["namespace"])) and len(meta["namespace"]) <= 63):
        yield f"metadata.namespace: {meta['namespace']!r}"
    yield from labels(meta, "metadata")


def labels(meta: Json, where: str) -> Iterator[str]:
    """Keys and values of labels, keys of annotations."""
    for key, value in (meta.get("labels") or {}).items():
        yield from _qualified(key, f"{where}.labels")
        if not isinstance(value, str) or len(value) > 63 or (value and not QUALIFIED.fullmatch(value)):
            yield f"{where}.labels[{key}]: {value!r} is no label value"
    for key in meta.get("annotations") or {}:
        yield from _qualified(key, f"{where}.annotations")


def _qualified(key: object, where: str) -> Iterator[str]:
    prefix, slash, name = str(key).rpartition("/")
    if len(name) > 63 or not QUALIFIED.fullmatch(name) or (slash and not SUBDOMAIN.fullmatch(prefix)):
        yield f"{where}: {key!r} is no qualified name"


def _config_map(document: Json) -> Iterator[str]:
    data = document.get("data") or {}
    for key in (*data, *(document.get("binaryData") or {})):
        if not CONFIG_KEY.fullmatch(str(key)) or len(str(key)) > 253:
            yield f"data: {key!r} is no key"
    if sum(len(str(value).encode()) for value in data.values()) > CONFIG_MAP_BYTES:
        yield f"data: more than {CONFIG_MAP_BYTES} bytes"


def _selector(spec: Json) -> Iterator[str]:
    wanted = (spec.get("selector") or {}).get("matchLabels") or {}
    has = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    if any(has.get(key) != value for key, value in wanted.items()):
        yield f"spec.selector: {wanted} does not match the template's labels {has}"


def _pod(template: Json, where: str) -> Iterator[str]:
    yield from labels(template.get("metadata") or {}, f"{where}.metadata")
    pod = template.get("spec") or {}
    volumes = Counter(volume.get("name") for volume in pod.get("volumes") or ())
    claims = {claim.get("name") for claim in pod.get("resourceClaims") or ()}
    containers = [*(pod.get("initContainers") or ()), *(pod.get("containers") or ())]
    for name, count in Counter(one.get("name") for one in containers).items():
        if count > 1:
            yield f"{where}: {count} containers {name}"
        if not LABEL.fullmatch(str(name)) or len(str(name)) > 63:
            yield f"{where}: {name!r} is no container name"
    for name, count in volumes.items():
        if count > 1 or not LABEL.fullmatch(str(name)) or len(str(name)) > 63:
            yield f"{where}: volume {name!r} stands {count} times, or is no DNS label"
    for volume in pod.get("volumes") or ():
        if len(volume) != 2:
            yield f"{where}: volume {volume.get('name')} has {len(volume) - 1} sources"
    for container in containers:
        yield from _container(container, set(volumes), claims, f"{where}, container {container.get('name')}")


def _container(container: Json, volumes: set[Any], claims: set[Any], where: str) -> Iterator[str]:
    paths: Counter[Any] = Counter()
    for mount in container.get("volumeMounts") or ():
        # The operator adds no volume by these names, and an API server refuses a mount of none.
        if mount.get("name") not in volumes:
            yield f"{where}: mounts {mount.get('name')}, which is no volume of the pod"
        paths[mount.get("mountPath")] += 1
    yield from (f"{where}: {path} is mounted twice" for path, count in paths.items() if count > 1)
    for variable in container.get("env") or ():
        if "value" in variable and "valueFrom" in variable:
            yield f"{where}: {variable['name']} has both value and valueFrom"
        if len(variable.get("valueFrom") or "x") != 1:
            yield f"{where}: {variable['name']} needs one source"
    for port in container.get("ports") or ():
        name = port.get("name", "x")
        if len(name) > 15 or not LABEL.fullmatch(name) or "--" in name or not re.search("[a-z]", name):
            yield f"{where}: {name!r} is no port name"
        if not 0 < port.get("containerPort", 1) < 65536:
            yield f"{where}: port {port['containerPort']}"
    resources = container.get("resources") or {}
    yield from _resources(resources.get("requests") or {}, resources.get("limits") or {}, where)
    for claim in resources.get("claims") or ():
        if claim.get("name") not in claims:
            yield f"{where}: uses the claim {claim.get('name')}, which the pod does not have"


def _resources(requests: Json, limits: Json, where: str) -> Iterator[str]:
    for name, value in (*requests.items(), *limits.items()):
        amount = quantity(value)
        if amount < 0 or (_whole(name) and amount != int(amount)):
            yield f"{where}: {name} of {value}"
    for name in {*requests, *limits}:
        asked, limit = requests.get(name), limits.get(name)
        if _whole(name):
            # Extended resources and huge pages are not overcommitted: a limit, and a request equal to it or none.
            if limit is None or (asked is not None and quantity(asked) != quantity(limit)):
                yield f"{where}: {name} needs a limit, and a request equal to it: {asked} and {limit}"
        elif asked is not None and limit is not None and quantity(asked) > quantity(limit):
            yield f"{where}: {name} asks for {asked}, over its limit {limit}"
    if any(name.startswith("hugepages-") for name in limits) and not {"cpu", "memory"} & {*requests, *limits}:
        yield f"{where}: huge pages need cpu or memory beside them"


def _whole(name: str) -> bool:
    extended = "/" in name and not name.partition("/")[0].endswith("kubernetes.io")
    return extended or name.startswith("hugepages-")
