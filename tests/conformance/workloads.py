"""From rendered files to documents, and from documents to the command lines and mounted files of their containers."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .admission import main_container
from .yaml_kit import assert_same_in_yaml_1_1_and_1_2

Files = Mapping[str, str]
Document = dict[str, Any]
Problems = list[str]
"""One line each, with the place; empty if all is well."""


@dataclass(frozen=True)
class Placed:
    """A document with the file that it stands in."""

    file: str
    document: Document

    def __str__(self) -> str:
        name = (self.document.get("metadata") or {}).get("name")
        return f"{self.file}: {self.document.get('kind')} {name}"


@dataclass(frozen=True)
class Program:
    """A container that runs a Python module of Dynamo."""

    where: str
    module: str
    """``dynamo.vllm``"""
    args: list[str]
    """What stands after the module, with ``$(VARIABLE)`` filled in as the kubelet does."""
    env: dict[str, str]
    mounted: dict[str, str]
    """Text of the ConfigMap keys that are mounted, by path in the container."""
    dynamo_namespace: str = ""
    """DYN_NAMESPACE, as the operator sets it; empty outside graphs."""


def dynamo_namespace(graph: Document) -> str:
    """What the operator gives a graph's components as DYN_NAMESPACE (api/v1beta1, ComputeDynamoNamespace)."""
    meta = graph["metadata"]
    return f"{meta.get('namespace')}-{meta['name'].replace('.', '-')}"


def documents(files: Files) -> list[Placed]:
    """Every document of every file, each read alike by YAML 1.1 and 1.2."""
    found = []
    for name, text in files.items():
        for document in assert_same_in_yaml_1_1_and_1_2(text):
            if document is None:
                continue  # comments alone
            assert isinstance(document, dict), f"{name}: a document is no mapping"
            found.append(Placed(name, document))
    return found


def programs(placed: list[Placed]) -> list[Program]:
    """Every container ``main`` of a graph, and every other container, that runs ``python3 -m dynamo.…``."""
    maps = {
        (one.document["metadata"].get("namespace"), one.document["metadata"]["name"]): one.document.get("data") or {}
        for one in placed
        if one.document.get("kind") == "ConfigMap"
    }
    found = []
    for one in placed:
        for where, within, template, container in _containers(one):
            module, args = module_and_args(container)
            if module is None:
                continue
            env = _environment(container)
            namespace = one.document["metadata"].get("namespace")
            mounted = mounted_texts(
                template, container, {name: data for (ns, name), data in maps.items() if ns == namespace}
            )
            words = [expand(word, env) for word in args]
            found.append(Program(f"{one}{where}", module, words, env, mounted, within))
    return found


def unreadable(placed: list[Placed]) -> Problems:
    """Components that no proof of command lines looks into: a shell around the program hides it."""
    return [
        f"{one}{where}: no `-m dynamo.…` in {[*(container.get('command') or ()), *(container.get('args') or ())]}"
        for one in placed
        if one.document.get("kind") == "DynamoGraphDeployment"
        for where, _, _, container in _containers(one)
        if module_and_args(container)[0] is None
    ]


def _containers(one: Placed) -> Iterator[tuple[str, str, Document, Document]]:
    """Where, the Dynamo namespace, the pod's template, the container."""
    spec = one.document.get("spec") or {}
    if one.document.get("kind") == "DynamoGraphDeployment":
        for component in spec.get("components") or ():
            main = main_container(component)
            if main is not None:
                yield f", component {component['name']}", dynamo_namespace(one.document), component["podTemplate"], main
        return
    for container in ((spec.get("template") or {}).get("spec") or {}).get("containers") or ():
        yield f", container {container['name']}", "", spec["template"], container


def module_and_args(container: Document) -> tuple[str | None, list[str]]:
    """The module after ``-m`` and the words behind it, of command and args together; None if it is not Dynamo's."""
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    if "-m" in words[:4]:
        at = words.index("-m")
        if at + 1 < len(words) and str(words[at + 1]).startswith("dynamo."):
            return str(words[at + 1]), words[at + 2 :]
    return None, []


def _environment(container: Document) -> dict[str, str]:
    """Values that are known; of the others one that could be."""
    could_be = {"status.podIP": "10.0.0.1", "status.hostIP": "10.0.0.2"}
    found: dict[str, str] = {}
    for variable in container.get("env") or ():
        if "value" in variable:
            found[variable["name"]] = expand(str(variable["value"]), found)
        else:
            field = ((variable.get("valueFrom") or {}).get("fieldRef") or {}).get("fieldPath", "")
            found[variable["name"]] = could_be.get(field, "from-the-cluster")
    return found


def expand(word: Any, env: Mapping[str, str]) -> Any:
    """``$(NAME)`` of known variables; ``$$`` is a dollar; another stays as it is, as the kubelet leaves it."""
    if not isinstance(word, str):
        return word
    return re.sub(r"\$\$|\$\(([A-Za-z_.-][A-Za-z0-9_.-]*)\)", lambda m: _expanded(m, env), word)


def _expanded(match: re.Match[str], env: Mapping[str, str]) -> str:
    return "$" if match[0] == "$$" else env.get(match[1], match[0])


def mounted_texts(template: Document, container: Document, maps: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """ConfigMap keys as files: items, subPath and optional volumes as the kubelet reads them.

    :raises AssertionError: if a volume names a ConfigMap, or a key of one, that is not among the rendered files.
    """
    volumes = {volume["name"]: volume for volume in (template.get("spec") or {}).get("volumes") or ()}
    found = {}
    for mount in container.get("volumeMounts") or ():
        source = (volumes.get(mount["name"]) or {}).get("configMap")
        if source is None:
            continue
        if source.get("name") not in maps:
            assert source.get("optional"), (
                f"volume {mount['name']}: no ConfigMap {source.get('name')} in this namespace"
            )
            continue
        data = maps[source["name"]]
        items = source.get("items") or [{"key": key, "path": key} for key in data]
        for item in items:
            assert item["key"] in data, f"volume {mount['name']}: {source['name']} has no key {item['key']}"
            if "subPath" in mount:
                if item["path"] == mount["subPath"]:
                    found[mount["mountPath"]] = data[item["key"]]
            else:
                found[f"{mount['mountPath'].rstrip('/')}/{item['path']}"] = data[item["key"]]
    return found
