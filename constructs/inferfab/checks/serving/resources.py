"""Extended resources, as the API server takes them."""

from collections.abc import Iterator

from inferfab.checks.registry import Problem, manifest_rule
from inferfab.checks.serving.manifest_views import spot
from inferfab.manifests.model import Manifests
from inferfab.manifests.pods import Container


@manifest_rule(
    "IF-POD-008",
    "devices asked for in two ways",
    joins=("pod",),
    why="GPUs, RDMA devices and huge pages cannot be overcommitted: the API server refuses a container whose request "
    "is not its limit.",
    do="write the same number into requests and limits, or into limits only.",
    source="Kubernetes: extended resources (limit must be set, and equal to the request); huge pages",
)
def requests_are_limits(manifests: Manifests) -> Iterator[Problem]:
    for workload in manifests.workloads:
        for container in (*workload.pod.containers, *workload.pod.init):
            yield from _one(container, workload.name or container.name)


def _one(container: Container, name: str) -> Iterator[Problem]:
    for resource, asked in container.requests.items():
        if "/" not in resource and not resource.startswith("hugepages-"):
            continue
        if resource.split("/")[0].endswith("kubernetes.io"):
            continue
        limit = container.limits.get(resource)
        if limit is None:
            yield spot(asked.ref).problem(
                f"`{name}` requests {asked.value:g} of `{resource}` and has no limit", "write it into limits too"
            )
        elif limit.value != asked.value:
            yield spot(asked.ref).problem(
                f"`{name}` requests {asked.value:g} of `{resource}` and its limit is {limit.value:g}",
                f"write {limit.value:g} into both",
            )
