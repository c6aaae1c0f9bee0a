"""GPUs that Karpenter may buy: NodePools in manifests, in kubectl's YAML, in values of a Helm release.

Karpenter decides how many nodes there are; a NodePool says which machines it may take, and with ``limits`` how many
GPUs at most (karpenter.sh/docs/concepts/nodepools). ``spec.replicas`` makes a pool of fixed size.
"""

import re
from collections.abc import Iterator
from typing import Any

import yaml

from inferfab.catalog.accelerators import accelerators
from inferfab.catalog.instances import InstanceType, instances
from inferfab.plan.quantities import Range
from inferfab.review.changes import ResourceChange
from inferfab.review.gpus.group import Buys, Machines, Part
from inferfab.review.gpus.values import Values, block, blocks, count, text, texts
from inferfab.review.span import UNKNOWN, Span

MANIFESTS = {
    "kubernetes_manifest": ("manifest",),
    "kubectl_manifest": ("yaml_body_parsed", "yaml_body"),
    "helm_release": ("values",),
}
_LONGEST_YAML = 1_000_000
_MOST_NODES = 50_000
_SELECTS = "karpenter.k8s.aws/instance-"
_TYPE = "node.kubernetes.io/instance-type"
_CAPACITY: dict[str, Buys] = {"spot": "spot", "on-demand": "on demand", "reserved": "reservation"}


def node_pools(change: ResourceChange, values: Values) -> Iterator[tuple[str, Machines]]:
    """(name, machines) of each NodePool that may take GPUs."""
    for name in MANIFESTS[change.type]:
        for document in _documents(values.get(name)):
            for found in _pools_in(document):
                machines = _machines(found)
                if machines is not None:
                    yield text(block(found.get("metadata")).get("name")) or "?", machines


def _documents(value: Any) -> Iterator[Any]:
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, dict):
            yield one
        elif isinstance(one, str) and len(one) <= _LONGEST_YAML and ("NodePool" in one or "Provisioner" in one):
            try:
                yield from yaml.load_all(one, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
            except (yaml.YAMLError, RecursionError, ValueError):
                continue


def _pools_in(document: Any) -> Iterator[Values]:
    """Objects anywhere in it that are NodePools; values files nest them as they like."""
    waiting, seen = [document], 0
    while waiting and seen < _MOST_NODES:
        one = waiting.pop()
        seen += 1
        if isinstance(one, dict):
            if one.get("kind") in ("NodePool", "Provisioner") and "karpenter" in text(one.get("apiVersion")):
                yield one
            else:
                waiting += one.values()
        elif isinstance(one, list):
            waiting += one


def _machines(pool: Values) -> Machines | None:
    spec = block(pool.get("spec"))
    template = block(block(spec.get("template")).get("spec")) or spec
    asked = list(blocks(template.get("requirements")))
    candidates = [i for i in instances("aws").values() if all(_allows(i, r) for r in asked)]
    limit = _limit(spec)
    tainted = any("gpu" in text(t.get("key")) for t in blocks(template.get("taints")))
    narrowed = any(text(r.get("key")) == _TYPE or text(r.get("key")).startswith(_SELECTS) for r in asked)
    if (narrowed and not candidates) or not (narrowed or limit or tainted):
        return None
    size = spec.get("replicas")
    fixed = count(size) if size is not None else None
    nodes = (
        Span(min=fixed, desired=fixed, max=fixed) if fixed else Span(min=Range.exact(0), desired=UNKNOWN, max=UNKNOWN)
    )
    return Machines(
        kind="Karpenter NodePool",
        cloud="aws",
        names=tuple(sorted(i.name for i in candidates)) if narrowed else (),
        parts=(Part(_buys(asked), nodes),),
        labels=_labels(spec),
        certainly_gpus=True,
        gpu_limit=limit,
        notes=() if fixed else ("Karpenter decides how many nodes there are",),
    )


def _labels(spec: Values) -> dict[str, str]:
    labels = block(block(spec.get("template")).get("metadata")).get("labels")
    return {k: v for k, v in labels.items() if isinstance(v, str)} if isinstance(labels, dict) else {}


def _limit(spec: Values) -> Range | None:
    limits = block(spec.get("limits"))
    value = (limits or {}).get("nvidia.com/gpu", block(limits.get("resources")).get("nvidia.com/gpu"))
    found = count(value) if value is not None else None
    return found if found and found.known else None


def _buys(asked: list[Values]) -> Buys:
    """Karpenter takes reserved capacity first, then spot, then on demand."""
    for requirement in asked:
        if text(requirement.get("key")) == "karpenter.sh/capacity-type" and requirement.get("operator") == "In":
            kinds = texts(requirement.get("values"))
            for kind in ("reserved", "spot", "on-demand"):
                if kind in kinds:
                    return _CAPACITY[kind]
    return "on demand"


def _allows(machine: InstanceType, requirement: Values) -> bool:
    """Whether a requirement leaves a machine in; one that the review does not know leaves all in."""
    known = _property(machine, text(requirement.get("key")))
    if known is None:
        return True
    values, operator = texts(requirement.get("values")), requirement.get("operator")
    if operator in ("Gt", "Lt"):
        try:
            bound, own = float(values[0]), float(known)
        except (IndexError, ValueError):
            return True
        return own > bound if operator == "Gt" else own < bound
    match operator:
        case "In":
            return known in values
        case "NotIn":
            return known not in values
        case "DoesNotExist":
            return False
    return True


def _property(machine: InstanceType, key: str) -> str | None:
    family, _, size = machine.name.partition(".")
    names = {gpu: name for name, gpu in accelerators().karpenter.items()}
    return {
        _TYPE: machine.name,
        f"{_SELECTS}family": family,
        f"{_SELECTS}size": size,
        f"{_SELECTS}category": re.split(r"\d", family, maxsplit=1)[0],
        f"{_SELECTS}gpu-count": str(machine.gpu_count),
        f"{_SELECTS}gpu-manufacturer": "nvidia",
        f"{_SELECTS}gpu-name": names.get(machine.gpu, machine.gpu),
        "kubernetes.io/arch": machine.arch,
    }.get(key)
