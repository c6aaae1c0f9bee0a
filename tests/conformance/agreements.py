"""What rendered files say of each other: names that stand twice, references and selectors that lead nowhere."""

import json
from collections.abc import Iterator
from typing import Any

from .workloads import Document, Files, Placed, Problems, documents, dynamo_namespace, programs


def agreement_problems(files: Files) -> Problems:
    """What the files say of each other: names that stand twice, references to what is not there."""
    placed = documents(files)
    return [*_twins(placed), *_references(placed), *_namespaces(placed), *_selectors(placed)]


def _twins(placed: list[Placed]) -> Iterator[str]:
    seen: dict[Any, str] = {}
    for one in placed:
        meta = one.document.get("metadata") or {}
        key = (one.document.get("apiVersion"), one.document.get("kind"), meta.get("namespace"), meta.get("name"))
        if key in seen:
            yield f"{one}: stands in {seen[key]} already"
        seen[key] = one.file


def _references(placed: list[Placed]) -> Iterator[str]:
    """Claims of a pod name a ResourceClaimTemplate that is rendered, in the pod's namespace."""
    templates = {
        (one.document["metadata"].get("namespace"), one.document["metadata"]["name"])
        for one in placed
        if one.document.get("kind") == "ResourceClaimTemplate"
    }
    for one in placed:
        namespace = one.document["metadata"].get("namespace")
        for component in (one.document.get("spec") or {}).get("components") or ():
            pod = (component.get("podTemplate") or {}).get("spec") or {}
            for claim in pod.get("resourceClaims") or ():
                name = claim.get("resourceClaimTemplateName")
                if name is not None and (namespace, name) not in templates:
                    yield f"{one}, component {component['name']}: no ResourceClaimTemplate {name}"


def pod_labels(one: Placed) -> Iterator[dict[str, str]]:
    """Labels of every pod that comes of a document, those that Dynamo's operator adds included.

    ai-dynamo/dynamo deploy/operator/internal/consts/consts.go and the controller's GetDGDComponentPodLabels: name of
    the graph, of the component as written, type, Dynamo namespace.
    """
    spec = one.document.get("spec") or {}
    if one.document.get("kind") == "DynamoGraphDeployment":
        for component in spec.get("components") or ():
            template = component.get("podTemplate") or {}
            yield {
                **(spec.get("labels") or {}),
                **((template.get("metadata") or {}).get("labels") or {}),
                "nvidia.com/dynamo-graph-deployment-name": one.document["metadata"]["name"],
                "nvidia.com/dynamo-component": component["name"],
                "nvidia.com/dynamo-component-type": component.get("type", ""),
                "nvidia.com/dynamo-namespace": dynamo_namespace(one.document),
            }
    elif "template" in spec:
        yield (spec["template"].get("metadata") or {}).get("labels") or {}


def selects(selector: Document, labels: dict[str, str]) -> bool:
    """Whether a LabelSelector takes a pod."""
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    for rule in selector.get("matchExpressions") or ():
        key, values = rule["key"], rule.get("values") or ()
        holds = {
            "In": labels.get(key) in values,
            "NotIn": labels.get(key) not in values,
            "Exists": key in labels,
            "DoesNotExist": key not in labels,
        }[rule["operator"]]
        if not holds:
            return False
    return True


def _selectors(placed: list[Placed]) -> Iterator[str]:
    """A budget, a Service, a network policy and a spread constraint that take no pod do nothing, without a word."""
    pods = [(one.document["metadata"].get("namespace"), labels) for one in placed for labels in pod_labels(one)]
    for one in placed:
        spec, namespace = one.document.get("spec") or {}, one.document["metadata"].get("namespace")
        selector = {
            "PodDisruptionBudget": spec.get("selector"),
            "NetworkPolicy": spec.get("podSelector"),
            "Service": {"matchLabels": spec["selector"]} if "selector" in spec else None,
        }.get(one.document.get("kind", ""))
        if selector is not None and not any(ns == namespace and selects(selector, labels) for ns, labels in pods):
            yield f"{one}: selects no pod that is rendered in {namespace}"
        for component in spec.get("components") or ():
            pod = (component.get("podTemplate") or {}).get("spec") or {}
            for constraint in pod.get("topologySpreadConstraints") or ():
                if not any(ns == namespace and selects(constraint.get("labelSelector") or {}, ls) for ns, ls in pods):
                    yield f"{one}, component {component['name']}: a spread constraint counts no pod"


def _namespaces(placed: list[Placed]) -> Iterator[str]:
    """Routers and GlobalRouters reach what is rendered.

    A GlobalRouter sends to ``POOL.router.generate`` (dynamo/global_router/handler.py, initialize), which a
    ``dynamo.router`` serves in the namespace of its own graph (dynamo/router/__main__.py); that one sends to
    ``backend`` or, of prefill workers, ``prefill`` there (dynamo/vllm/args.py, update_dynamo_config_with_engine).
    """
    running = programs(placed)
    routed = {program.dynamo_namespace for program in running if program.module == "dynamo.router"}
    for program in running:
        if program.module == "dynamo.router" and "--endpoint" in program.args:
            namespace, _, rest = program.args[program.args.index("--endpoint") + 1].partition(".")
            if namespace != program.dynamo_namespace:
                yield f"{program.where}: --endpoint in {namespace}, not in its own {program.dynamo_namespace}"
            if rest not in {"backend.generate", "prefill.generate"}:
                yield f"{program.where}: --endpoint {rest}, which no dynamo.vllm serves"
        if program.module == "dynamo.global_router" and "--config" in program.args:
            path = program.args[program.args.index("--config") + 1]
            if path not in program.mounted:
                yield f"{program.where}: --config {path} is not mounted"
                continue
            pools = json.loads(program.mounted[path])
            for key in sorted(key for key in pools if key.endswith("_pool_dynamo_namespaces")):
                for missing in sorted(set(pools[key]) - routed):
                    yield f"{program.where}: {key} names {missing}, where no dynamo.router is rendered"
