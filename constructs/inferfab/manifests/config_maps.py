"""What a pod gets from a ConfigMap of the same manifests: files here, variables in :mod:`inferfab.manifests.pods`."""

from collections.abc import Iterable

from inferfab.manifests.model import Manifests, Object, Workload
from inferfab.manifests.nodes import Node
from inferfab.manifests.pods import Container


def mounted_file(manifests: Manifests, workload: Workload, container: Container, path: str) -> Node | None:
    """The entry that stands at ``path`` in the container; None where none of the manifests gives it."""
    for mount in sorted(container.mounts, key=lambda m: -len(m.path)):
        place = mount.path.rstrip("/")
        if path != place and not path.startswith(f"{place}/"):
            continue
        volume = workload.pod.volumes.get(mount.volume)
        if volume is None or not volume.config_map:
            return None
        key = path.rsplit("/", 1)[-1] if path == place else path[len(place) + 1 :]
        for one in manifests.of_kind("ConfigMap"):
            same = one.name == volume.config_map and one.namespace in ("", workload.namespace)
            node = one.node.get("data", key)
            if same and node.exists and manifests.together(one.file, workload.file):
                return node
        return None
    return None


def give_config_maps(objects: Iterable[Object]) -> None:
    """Tell each document which ConfigMaps there are. Of several with one name only that of its own file counts."""
    every = list(objects)
    named: dict[str, list[Object]] = {}
    for one in every:
        if one.kind == "ConfigMap":
            named.setdefault(f"{one.namespace}/{one.name}", []).append(one)
    only = {key: (same[0].node.document, same[0].node.path) for key, same in named.items() if len(same) == 1}
    by_file: dict[str, dict[str, list[Object]]] = {}
    for key, same in named.items():
        for one in same if len(same) > 1 else ():
            by_file.setdefault(one.file, {}).setdefault(key, []).append(one)
    for document in {id(o.node.document): o.node.document for o in every}.values():
        here = by_file.get(document.file.name, {})
        own = {key: (same[0].node.document, same[0].node.path) for key, same in here.items() if len(same) == 1}
        document.config_maps = {**only, **own} if own else only
