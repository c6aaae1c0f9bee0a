"""All proofs over a folder of rendered files. Each gives the problems that it found, one line each, with the place."""

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from .admission import admission_problems
from .api_server import api_server_problems
from .dynamo_tool import Question, ask
from .kinds import schema_problems
from .worker_args import class_problems, worker_problems, written_problems
from .workloads import Document, Files, Placed, Program, documents, programs

PARSERS = {
    "dynamo.frontend": "frontend",
    "dynamo.router": "router",
    "dynamo.global_router": "global_router",
    "dynamo.planner": "planner",
    "dynamo.vllm": "vllm",
}
"""The module that a container runs and the parser that reads its arguments."""

Problems = list[str]


def object_problems(files: Files) -> Problems:
    """Each object by the closed schema of its kind, by the API server's own rules, by Dynamo's admission."""
    found = []
    for one in documents(files):
        wrong = schema_problems(one.document)
        if not wrong:
            # The rules take the shape as given.
            wrong = api_server_problems(one.document)
            if one.document["kind"] == "DynamoGraphDeployment":
                wrong += admission_problems(one.document)
        found += [f"{one}: {line}" for line in wrong]
    return found


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


def dynamo_namespace(graph: Document) -> str:
    """What the operator gives a graph's components as DYN_NAMESPACE (api/v1beta1, ComputeDynamoNamespace)."""
    meta = graph["metadata"]
    return f"{meta.get('namespace')}-{meta['name'].replace('.', '-')}"


def _namespaces(placed: list[Placed]) -> Iterator[str]:
    """A GlobalRouter's pools are graphs that are rendered."""
    graphs = {dynamo_namespace(one.document) for one in placed if one.document.get("kind") == "DynamoGraphDeployment"}
    for program in programs(placed):
        if program.module == "dynamo.global_router" and "--config" in program.args:
            path = program.args[program.args.index("--config") + 1]
            if path not in program.mounted:
                yield f"{program.where}: --config {path} is not mounted"
                continue
            pools = json.loads(program.mounted[path])
            for key in sorted(key for key in pools if key.endswith("_pool_dynamo_namespaces")):
                for missing in sorted(set(pools[key]) - graphs):
                    yield f"{program.where}: {key} names {missing}, which is no graph here"


def engine_problems(files: Files) -> Problems:
    """Each dynamo.vllm worker's flags, choices and types against the pair's lists, and how every program is written."""
    found = []
    for program in programs(documents(files)):
        wrong = worker_problems(program.args) if program.module == "dynamo.vllm" else written_problems(program.args)
        found += [f"{program.where}: {line}" for line in wrong]
    return found


def config_class_problems(files: Files) -> Problems:
    """The keys and values of each worker's JSON flags against vLLM's config classes."""
    return [
        f"{program.where}: {line}"
        for program in programs(documents(files))
        if program.module == "dynamo.vllm"
        for line in class_problems(program.args)
    ]


def parser_problems(files: Files) -> Problems:
    """Every program's arguments and mounted files through Dynamo's own parser; deprecated ones are problems too."""
    asked = [program for program in programs(documents(files)) if program.module in PARSERS]
    unknown = [p for p in programs(documents(files)) if p.module not in PARSERS]
    found = [f"{program.where}: no parser for {program.module}" for program in unknown]
    questions = [Question(PARSERS[p.module], p.args, p.mounted, _dynamo_environment(p)) for p in asked]
    for program, answer in zip(asked, ask(questions), strict=True):
        if answer.error is not None:
            found.append(f"{program.where}: {answer.error}")
        found += [f"{program.where}: {line}" for line in answer.deprecations]
    return found


def _dynamo_environment(program: Program) -> dict[str, str]:
    """What the container sets and Dynamo's parsers read."""
    return {name: value for name, value in program.env.items() if name.startswith(("DYN_", "VLLM_", "PROMETHEUS_"))}


PROOFS = {
    "objects": object_problems,
    "agreement": agreement_problems,
    "engine": engine_problems,
    "config classes": config_class_problems,
    "parsers": parser_problems,
}
"""By the name that a test shows. "objects" and "config classes" need ../shared, "parsers" needs Dynamo."""


def check_files(files: Files, proofs: tuple[str, ...] = tuple(PROOFS)) -> None:
    """Fails with everything that the proofs find; a proof whose tool is absent skips the test.

    :raises AssertionError: if anything is wrong, and if there is nothing to look at.
    """
    assert documents(files), "no document in any file"
    found = {name: problems for name in proofs if (problems := PROOFS[name](files))}
    assert not found, "\n".join(f"[{name}] {line}" for name, lines in found.items() for line in lines)


def modules(files: Files) -> dict[str, int]:
    """How many containers run which module of Dynamo: a proof over none of them proves nothing."""
    count: dict[str, int] = defaultdict(int)
    for program in programs(documents(files)):
        count[program.module] += 1
    return dict(count)
