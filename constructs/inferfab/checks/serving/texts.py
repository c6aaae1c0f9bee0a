"""Values that Kubernetes takes as text only."""

from collections.abc import Iterator

from inferfab.checks.registry import Problem, manifest_rule
from inferfab.checks.serving.manifest_views import spot
from inferfab.manifests.model import Manifests
from inferfab.manifests.nodes import Node
from inferfab.manifests.pods import Container


@manifest_rule(
    "IF-POD-010",
    "a number or a truth value where text belongs",
    joins=("pod",),
    why="words of a command and values of variables are text: the API server refuses the whole object.",
    do="put it into quotes; in a Helm template pipe it into `quote`.",
    source="Kubernetes API reference: Container.command, Container.args ([]string), EnvVar.value (string); `cannot "
    "unmarshal number into Go struct field`",
)
def texts_are_text(manifests: Manifests) -> Iterator[Problem]:
    for workload in manifests.workloads:
        for container in (*workload.pod.containers, *workload.pod.init):
            for what, node in _texts(container):
                if isinstance(node.value, (bool, int, float)):
                    yield spot(node.ref).problem(
                        f"`{node.text}` {what} of `{workload.name}` is no text",
                        f'write `"{node.text}"`',
                        value=node.text or "",
                    )


def _texts(container: Container) -> Iterator[tuple[str, Node]]:
    for name, node in (("command", container.command), ("args", container.args)):
        for item in node.items():
            yield f"in `{name}`", item
    for item in container.env_node.items():
        yield f"as value of {item.get('name').text}", item.get("value")
