"""GPUs that Karpenter may buy: NodePools in manifests, in kubectl's YAML, in values of a Helm release.

Karpenter decides how many nodes there are; a NodePool says which machines it may take, and with ``limits`` how many
GPUs at most (karpenter.sh/docs/concepts/nodepools). ``spec.replicas`` makes a pool of fixed size.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import yaml

from inferfab.catalog.accelerators import accelerators, has_gpus, other_accelerators
from inferfab.catalog.instances import InstanceType, instances
from inferfab.plan.quantities import Range
from inferfab.review.changes import ResourceChange
from inferfab.review.gpus.group import Buys, Machines, Part
from inferfab.review.gpus.values import Values, block, blocks, count, hidden, text, texts
from inferfab.review.masking import Hidden
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
    private = is_private(values)
    for name in MANIFESTS[change.type]:
        for number, document in enumerate(_documents(values.get(name))):
            for found in _pools_in(document):
                machines = _machines(found)
                if machines is not None and private:
                    yield (
                        f"NodePool {number}",
                        replace(
                            machines,
                            labels={},
                            unresolved=("its machine types are not known",) * bool(machines.unresolved),
                        ),
                    )
                elif machines is not None:
                    yield text(block(found.get("metadata")).get("name")) or "?", machines


def is_private(values: Values) -> bool:
    """Whether the text is sensitive of which ``yaml_body_parsed`` is a copy: machines are counted, no word is shown.

    The kubectl providers mark every ``yaml_body``, so without the copy no NodePool of theirs would be seen.
    """
    return hidden(values.get("yaml_body")) and values.get("yaml_body_parsed") is not None


def unreadable(change: ResourceChange, values: Values) -> Iterator[str]:
    """Why NodePools of one side may be there and cannot be seen."""
    for name in MANIFESTS[change.type]:
        value = values.get(name)
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, Hidden):
                # kubectl's other copy of the same text.
                if not (name == "yaml_body" and isinstance(values.get("yaml_body_parsed"), str)):
                    yield f"`{name}` is {one.why}: a NodePool in it cannot be seen"
            elif isinstance(one, str) and _speaks_of_machines(one) and _parsed(one) is None:
                yield f"`{name}` names Karpenter's objects or machine types and cannot be read as YAML"


def documents(type_: str, values: Values) -> Iterator[Any]:
    """Manifests and values of one side, as far as they can be read."""
    for name in MANIFESTS[type_]:
        yield from _documents(values.get(name))


def _documents(value: Any) -> Iterator[Any]:
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, dict):
            yield one
        elif isinstance(one, str) and _speaks_of_machines(one):
            yield from _parsed(one) or ()


def _speaks_of_machines(yaml_text: str) -> bool:
    return any(word in yaml_text for word in ("NodePool", "Provisioner", "nstanceType", "nstance_type"))


def _parsed(yaml_text: str) -> list[Any] | None:
    if len(yaml_text) > _LONGEST_YAML:
        return None
    try:
        return list(yaml.load_all(yaml_text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    except (yaml.YAMLError, RecursionError, ValueError):
        return None


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
    narrowed = any(_asks_for_gpus(r) for r in asked)
    strange = _strange_types(asked)
    names = ", ".join(f"`{name}`" for name in strange[:3])
    told = f"the catalog does not know its machine types ({names}), so their accelerators cannot be counted"
    unresolved = (told,) * bool(strange)
    if strange and not candidates:
        return Machines(kind="Karpenter NodePool", cloud="aws", names=(), parts=(), unresolved=unresolved)
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
        unresolved=unresolved,
    )


def _asks_for_gpus(requirement: Values) -> bool:
    """Whether a requirement chooses machines by what they are; a generation, a size or a zone asks for no GPU."""
    key, operator = text(requirement.get("key")), requirement.get("operator")
    if key.startswith(f"{_SELECTS}gpu-"):
        return operator != "DoesNotExist"
    return operator == "In" and key in (_TYPE, f"{_SELECTS}family", f"{_SELECTS}category")


def _strange_types(asked: list[Values]) -> list[str]:
    """Machine types with accelerators, by their name, that the catalog does not have."""
    named = [
        name
        for r in asked
        if r.get("operator") == "In" and text(r.get("key")) in (_TYPE, f"{_SELECTS}family")
        for name in texts(r.get("values"))
    ]
    known = instances("aws")
    return [n for n in named if n not in known and (has_gpus("aws", n) or other_accelerators("aws", n))]


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
