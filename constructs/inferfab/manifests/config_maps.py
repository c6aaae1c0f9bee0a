"""Files that a pod gets from a ConfigMap of the same manifests."""

from inferfab.manifests.model import Manifests, Workload
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
