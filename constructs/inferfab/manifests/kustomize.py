"""Patches of kustomizations: parts of objects, which say nothing before they are merged."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path, PurePath

import yaml

from inferfab.checks.manifest_file_rules import finding
from inferfab.findings import Finding
from inferfab.manifests.documents import Document
from inferfab.manifests.model import Object

_NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_MOST_BYTES = 1024 * 1024
PATCH = " patch"
"""Behind the kind of what is none."""


def without_patches(
    objects: Iterable[Object], documents: Iterable[Document]
) -> tuple[tuple[Object, ...], list[Finding]]:
    """(whole objects, a remark for each patch)."""
    every = tuple(objects)
    read = {d.file.name: d.tree for d in documents if PurePath(d.file.name).name in _NAMES}
    patches: set[str] = set()
    for folder in {PurePath(o.file).parent for o in every}:
        for name in _NAMES:
            path = str(folder / name)
            tree = read.get(path) if path in read else _on_disk(Path(path))
            patches |= {_plain(folder / p) for p in _named(tree)}
    for path, tree in read.items():
        patches |= {_plain(PurePath(path).parent / p) for p in _named(tree)}
    kept, remarks = [], []
    for one in every:
        if one.kind != "Kustomization" and (_plain(PurePath(one.file)) in patches or _directive(one.node.value)):
            at = one.node.key_ref.at
            remarks.append(finding("IF-MAN-005", one.file, f"{one.kind} `{one.name}` is a patch, and no whole object",
                                   "check the built output: `kustomize build DIR | inferfab check --manifests -`",
                                   (at.line, at.column), one.node.key_ref.path))  # fmt: skip
            # It stays as an object that is there, without anything in it.
            kept.append(replace(one, kind=f"{one.kind}{PATCH}"))
        else:
            kept.append(one)
    return tuple(kept), remarks


def _named(tree: object) -> Iterator[str]:
    """Files that a kustomization names as patches."""
    if not isinstance(tree, dict):
        return
    for key in ("patches", "patchesStrategicMerge"):
        listed = tree.get(key)
        for item in listed if isinstance(listed, list) else ():
            name = item.get("path") if isinstance(item, dict) else item
            if isinstance(name, str) and "\n" not in name:
                yield name


def _directive(value: object) -> bool:
    """It holds ``$patch: replace`` or the like somewhere."""
    waiting, seen = [value], 0
    while waiting and seen < 50_000:
        here = waiting.pop()
        seen += 1
        if isinstance(here, dict):
            if any(isinstance(k, str) and k.startswith(("$patch", "$retainKeys", "$setElementOrder")) for k in here):
                return True
            waiting += here.values()
        elif isinstance(here, list):
            waiting += here
    return False


def _on_disk(path: Path) -> object:
    """A kustomization beside a file that was named alone."""
    try:
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return None
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError, RecursionError):
        return None


def _plain(path: PurePath) -> str:
    """Without ``.`` and ``..``."""
    parts: list[str] = []
    for part in path.parts:
        if part == ".." and parts and parts[-1] not in ("..", "/"):
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)
