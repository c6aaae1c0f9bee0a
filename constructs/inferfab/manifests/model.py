"""What rules look at: workloads, the processes in them, and the objects that point at them."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath
from typing import Literal

from inferfab.findings import Finding
from inferfab.manifests.files import TextFile
from inferfab.manifests.images import Image, image_of
from inferfab.manifests.nodes import Node, Ref
from inferfab.manifests.options import Option, Options
from inferfab.manifests.pods import Container, EnvVar, Pod
from inferfab.manifests.shell_flow import ShellCommand
from inferfab.manifests.words import Word

Program = Literal["vllm", "dynamo.vllm", "dynamo.frontend", "dynamo.planner", "dynamo.router", "dynamo.mocker", "other"]
Role = Literal["prefill", "decode", "worker"]
GraphVersion = Literal["v1alpha1", "v1beta1"]


@dataclass(frozen=True)
class Process:
    """One program that a container starts, as far as its manifest says."""

    program: Program
    module: str
    """As it was named: ``dynamo.sglang`` is ``other``."""
    options: Options
    container: Container
    ref: Ref
    env_vars: Mapping[str, EnvVar]
    """Of the container, and over it what its script sets."""
    step: ShellCommand | None = None
    """When its script runs it; None where no shell does."""
    broken: tuple[Word, ...] = ()
    """Where its continuation lines break off."""

    def beside(self, other: "Process") -> bool:
        """Both run at once. ``other`` stands further down in the manifest."""
        if self is other or self.container is not other.container or self.step is None or other.step is None:
            return True
        return self.step.beside(other.step)

    @cached_property
    def image(self) -> Image:
        return image_of(self.container.image)

    def option(self, flag: str) -> Option | None:
        return self.options.last(flag)

    def value(self, flag: str) -> str | None:
        """Of a flag whose value is in the manifest."""
        found = self.options.last(flag)
        return found.value if found is not None and found.known else None

    def whole(self, flag: str, default: int | None = None) -> int | None:
        """A whole number; ``default`` where the flag is not given, None where it is and cannot be read."""
        found = self.options.last(flag)
        if found is None:
            return None if self.options.hidden else default
        return human_whole(found.value) if found.known else None

    def on(self, flag: str) -> bool | None:
        """Whether a switch is on; None where nothing is said."""
        found = self.options.last(flag)
        return None if found is None else not found.negative

    def env(self, name: str) -> EnvVar | None:
        return self.env_vars.get(name)


def human_whole(text: str | None) -> int | None:
    """A whole number as vLLM reads it: ``8192``, ``8k`` (thousands), ``8K`` (times 1024), ``1.5M``.

    Source: vLLM 0.31.0 vllm/engine/arg_utils.py human_readable_int.
    """
    if not text:
        return None
    powers = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
    try:
        return int(float(text[:-1]) * powers[text[-1]]) if text[-1] in powers else int(text)
    except (ValueError, OverflowError):
        return None


@dataclass(frozen=True)
class Workload:
    """Pods of one template: a Deployment, a StatefulSet, a LeaderWorkerSet, a component of a graph."""

    kind: str
    name: str
    """Of the object; of the component in a graph."""
    namespace: str
    file: str
    pod: Pod
    processes: tuple[Process, ...]
    replicas: int | None
    """None where nothing is said: one, or whatever an autoscaler wants."""
    replicas_ref: Ref | None
    nodes: int
    """Pods of one worker, one a node."""
    node: Node
    """The object, or the component."""
    ref: Ref
    graph: "Graph | None" = None
    role: Role | None = None
    """As the manifest states it in so many words: a component's type, a label."""
    component_type: str = ""
    shm_bytes: float | None = None
    """/dev/shm; None where nothing says so."""
    restarts_with_template: bool = True
    own_gpus: int = 0
    """GPUs of all containers of one pod."""

    @property
    def where(self) -> str:
        return f"`{self.name}`"

    @property
    def engines(self) -> tuple[Process, ...]:
        return tuple(p for p in self.processes if p.program in ("vllm", "dynamo.vllm"))


@dataclass(frozen=True)
class Graph:
    """A DynamoGraphDeployment without its components."""

    name: str
    namespace: str
    version: GraphVersion
    node: Node
    ref: Ref
    file: str


@dataclass(frozen=True)
class Object:
    """Any object of the stream."""

    kind: str
    api: str
    name: str
    namespace: str
    node: Node
    file: str


@dataclass(frozen=True)
class Manifests:
    """Everything that was read."""

    files: tuple[TextFile, ...]
    objects: tuple[Object, ...]
    workloads: tuple[Workload, ...]
    graphs: tuple[Graph, ...]
    findings: tuple[Finding, ...]
    """What was wrong with the files themselves."""
    patches: tuple[Finding, ...] = ()
    """Remarks about objects that are patches, and were not judged."""

    def of_kind(self, *kinds: str) -> tuple[Object, ...]:
        return tuple(o for o in self.objects if o.kind in kinds)

    def components(self, graph: Graph) -> tuple[Workload, ...]:
        return tuple(w for w in self.workloads if w.graph is graph)

    @cached_property
    def alternatives(self) -> bool:
        """The same object stands here more than once: files hold variants, not one whole."""
        names = Counter((o.kind, o.namespace, o.name) for o in self.objects)
        return any(count > 1 for count in names.values())

    @cached_property
    def _folders_of_variants(self) -> frozenset[PurePath]:
        """Folders in which one object stands more than once."""
        names = Counter((PurePath(o.file).parent, o.kind, o.namespace, o.name) for o in self.objects)
        return frozenset(key[0] for key, count in names.items() if count > 1)

    def together(self, one: str, other: str) -> bool:
        """Objects of these files are applied together, as far as anybody can tell."""
        if one == other or not self.alternatives:
            return True
        folder = PurePath(one).parent
        return folder == PurePath(other).parent and folder not in self._folders_of_variants
